import { isDeepStrictEqual } from "node:util";
import { andThen, tryThen, type Awaitable } from "../support/and-then.js";
import { UnstorableOutputError } from "../errors.js";
import { readTagged, writeTagged } from "../support/tagged.js";
import { toError, messageOf } from "../support/thrown.js";
import type { SuccessOutcome } from "../task/outcome.js";
import type { Run } from "../task/run.js";
import { issuesText, type Parsed, type Schema } from "../task/schema.js";

export type Encoded = { readonly text: string } | { readonly why: "unstorable" | "too_large"; readonly error: UnstorableOutputError };

/**
 * The output as text that keeps its types: in devalue's tagged JSON, either as zod takes it back through the schema's codecs, or as
 * `work` returned it. It is held against what a replay would give, so that the first answer and every later one are the same.
 */
export function encodeOutput(run: Run, outcome: SuccessOutcome, maxBytes: number): Awaitable<Encoded> {
  return tryThen(
    () => faithfulText(run, outcome, [...new Set([encodedSide(run, outcome), outcome.returned])], maxBytes),
    (encoded) => encoded,
    (thrown) => unstorable(run, toError(thrown)),
  );
}

/** The text of the first of the values that a replay would make the output of. */
function faithfulText(run: Run, outcome: SuccessOutcome, values: readonly unknown[], maxBytes: number): Awaitable<Encoded> {
  if (values.length === 0) throw new TypeError("its schema gives another output each time it parses");
  const text = writeTagged(values[0]);
  const bytes = Buffer.byteLength(text);
  if (bytes > maxBytes) return tooLarge(run, bytes, maxBytes);
  return andThen(isFaithful(run, text, outcome.output), (faithful) =>
    faithful ? { text } : faithfulText(run, outcome, values.slice(1), maxBytes),
  );
}

function unstorable({ plan }: Run, error: Error): Encoded {
  const path: unknown = Reflect.get(error, "path"); // where devalue met what it cannot write
  const where = typeof path === "string" && path !== "" ? ` at output${path}` : "";
  const message = `The output of ${plan.name} cannot be stored${where}: ${messageOf(error)}`;
  return { why: "unstorable", error: new UnstorableOutputError(message, { cause: error }) };
}

function tooLarge({ plan }: Run, bytes: number, maxBytes: number): Encoded {
  return {
    why: "too_large",
    error: new UnstorableOutputError(`The output of ${plan.name} takes ${bytes} bytes, and maxOutputBytes is ${maxBytes}`),
  };
}

/** Is what a replay would read from the text the output again? Not if the schema does not take it back. */
function isFaithful(run: Run, text: string, output: unknown): Awaitable<boolean> {
  return tryThen(
    () => andThen(decodeOutput(run, text), (replayed) => isSame(replayed, output)),
    (same) => same,
    () => false,
  );
}

/** Equal all the way down; what can be written is equal when it is written alike, an invalid date say. */
function isSame(replayed: unknown, output: unknown): boolean {
  return isDeepStrictEqual(replayed, output) || writeTagged(replayed) === writeTagged(output);
}

/** @throws when the text is not ours, or does not fit the schema any more. */
export function decodeOutput(run: Run, text: string): Awaitable<unknown> {
  const value = readTagged(text);
  const { parseOutput } = run.plan;
  return parseOutput === undefined ? value : andThen(parseOutput(value), (answer) => fitting(run, answer));
}

function fitting(run: Run, answer: Parsed): unknown {
  if (answer.issues === undefined) return answer.value;
  throw new UnstorableOutputError(`The stored output of ${run.plan.name} does not fit its schema any more: ${issuesText(answer.issues)}`);
}

/** zod can go back through codecs, from the output to what was parsed; a schema that cannot has what `work` returned. */
function encodedSide({ plan }: Run, { output, returned }: SuccessOutcome): unknown {
  const schema = plan.contract.output;
  if (schema === undefined || !canEncode(schema)) return returned;
  try {
    const encoded = schema.safeEncode(output);
    return encoded.success ? encoded.data : returned;
  } catch {
    return returned; // a transform that goes one way only
  }
}

interface Encodes {
  safeEncode(output: unknown): { readonly success: true; readonly data: unknown } | { readonly success: false };
}

function canEncode(schema: Schema): schema is Schema & Encodes {
  return "safeEncode" in schema && typeof schema.safeEncode === "function";
}
