/** How near to now a time must be to be taken for the time of the call, in milliseconds. */
const NEAR_MS = 5_000;
/** Beyond this nobody looks for them. */
const MAX_TEXT = 4_096;
const MAX_VALUES = 100;
const UUID_V4 = /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/gi;
const UUID_V7 = /^([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;

/**
 * Looks for values in inputs that are new in each call, so that a key derived from them never meets another. For development: it warns
 * once for each task, and misses more than it finds.
 */
export class MovingValues {
  readonly #warned = new Set<string>();
  /** The last payload of each task, and the same without its random ids. */
  readonly #last = new Map<string, { readonly text: string; readonly masked: string }>();

  look(task: string, input: unknown, payload: Uint8Array, now: number): void {
    if (this.#warned.has(task)) return;
    const found = timeIfAny(input, now) ?? this.#randomId(task, payload);
    if (found === undefined) return;
    this.#warned.add(task);
    this.#last.delete(task);
    process.emitWarning(
      `${task}: its key is derived from an input with ${found}, so no two calls ever have the same key. ` +
        `Leave that out of the input, or give an idempotencyKey.`,
      "TaskwrightWarning",
    );
  }

  /** Two calls in a row that differ in nothing but random ids. */
  #randomId(task: string, payload: Uint8Array): string | undefined {
    if (payload.byteLength > MAX_TEXT) return undefined;
    const text = Buffer.from(payload).toString("latin1");
    const masked = text.replace(UUID_V4, "");
    const last = this.#last.get(task);
    this.#last.set(task, { text, masked });
    return last !== undefined && last.masked === masked && last.text !== text ? "a random UUID" : undefined;
  }
}

/** A getter of the input, which the serializer had no reason to touch, may throw. No enqueue fails for a warning. */
function timeIfAny(input: unknown, now: number): string | undefined {
  try {
    return timeOfCall(input, now);
  } catch {
    return undefined;
  }
}

function timeOfCall(input: unknown, now: number): string | undefined {
  const values: unknown[] = [input];
  for (let at = 0; at < Math.min(values.length, MAX_VALUES); at += 1) {
    const value = values[at];
    const time = timeIn(value);
    if (time !== undefined && Math.abs(now - time.ms) < NEAR_MS) return time.what;
    if (typeof value === "object" && value !== null && !ArrayBuffer.isView(value)) addFields(values, value);
  }
  return undefined;
}

function timeIn(value: unknown): { readonly ms: number; readonly what: string } | undefined {
  if (value instanceof Date) return { ms: value.getTime(), what: "the time of the call" };
  if (typeof value === "number") return { ms: value, what: "the time of the call" };
  if (typeof value !== "string" || value.length > 40) return undefined;
  const [, high, low] = UUID_V7.exec(value) ?? [];
  if (high !== undefined && low !== undefined) return { ms: Number.parseInt(high + low, 16), what: "a UUID of the time of the call" };
  return /^\d{4}-\d\d-\d\dT/.test(value) ? { ms: Date.parse(value), what: "the time of the call" } : undefined;
}

function addFields(values: unknown[], of: object): void {
  for (const key of Object.keys(of)) values.push(Reflect.get(of, key));
}
