import { DefinitionError } from "../errors.js";
import { checkNamespace, keyedMerge, type KeyedChange, type KeyedMerged } from "../claims/keyed-policy.js";
import { describeResolver, type Resolver } from "../claims/resolver.js";
import { checkFunction, checkInteger, checkOptions, checkWord } from "../support/check.js";
import { toMs, type Duration } from "../support/duration.js";
import { checkGates, type Gates } from "../task/gates.js";
import type { LayerFeature } from "../task/layer.js";
import type { Json } from "../task/result-json.js";
import type { Task } from "../task/task.js";

/** What a duplicate gets while the first run is at work, and after it has succeeded. */
export interface DuplicateRules {
  /** `wait`: until the first run has ended, and then by its end. @default "skip" */
  readonly processing?: "skip" | "fail" | "wait";
  /** `replay`: the output of the first run. @default "skip" */
  readonly completed?: "skip" | "fail" | "replay";
}

export interface IdempotencyOptions<T extends Task = Task> extends Gates<T> {
  /** How long a success is remembered, counted from its completion. @default 300 (seconds) */
  readonly ttl?: Duration;
  /** How long a claim lives without being renewed: after a crash, the key is free again after it. @default the smaller of `ttl` and 300 (seconds) */
  readonly lease?: Duration;
  /** Renewals end after this, so that a run that hangs does not hold its key for ever. @default the larger of `ttl` and 3600 (seconds) */
  readonly maxHold?: Duration;
  /** The first piece of the key. @default "cmdx:idem" */
  readonly namespace?: string;
  /** What a duplicate gets. `"replay"` is short for waiting for the first run and then answering with its output. @default "skip" */
  readonly onDuplicate?: "skip" | "fail" | "replay" | DuplicateRules;
  /** How long `wait` waits before the run fails as a duplicate. @default 30 (seconds) */
  readonly waitFor?: Duration;
  /** Notices one key used for two requests: `true` compares the parsed input, a function picks what to compare. @default false */
  readonly fingerprint?: boolean | ((this: T, task: T) => unknown);
  /** What becomes of a success whose output cannot be stored for replay. @default "forget": completed without output */
  readonly onUnstorable?: "forget" | "fail";
  /** The largest output that is stored, in bytes of its encoded text. @default 65536 */
  readonly maxOutputBytes?: number;
  /** What becomes of a run without a key. @default "run": it steps aside */
  readonly onMissingKey?: "run" | "fail";
  /** What becomes of a run whose claim could not be made. @default "fail": its work does not run */
  readonly onStoreError?: "fail" | "run";
}

/** The options as the code reads them: times in milliseconds, `undefined` where the default depends on others. */
interface Declared {
  readonly ttlMs: number;
  readonly leaseMs: number | undefined;
  readonly maxHoldMs: number | undefined;
  readonly namespace: string;
  readonly onDuplicate: Required<DuplicateRules>;
  readonly waitForMs: number;
  readonly fingerprint: boolean | ((this: never, task: never) => unknown);
  readonly onUnstorable: "forget" | "fail";
  readonly maxOutputBytes: number;
  readonly onMissingKey: "run" | "fail";
  readonly onStoreError: "fail" | "run";
  readonly if: Gates["if"];
  readonly unless: Gates["unless"];
}

/** The effective configuration of a class: what `ChargeCustomer.idempotency` shows. */
export interface Idempotency extends Omit<Declared, "leaseMs" | "maxHoldMs"> {
  readonly resolver: Resolver | undefined;
  readonly leaseMs: number;
  readonly maxHoldMs: number;
}

export type Change = KeyedChange<Declared>;
export type Merged = KeyedMerged<Declared>;

const DEFAULTS: Declared = {
  ttlMs: 300_000,
  leaseMs: undefined,
  maxHoldMs: undefined,
  namespace: "cmdx:idem",
  onDuplicate: Object.freeze({ processing: "skip", completed: "skip" }),
  waitForMs: 30_000,
  fingerprint: false,
  onUnstorable: "forget",
  maxOutputBytes: 65_536,
  onMissingKey: "run",
  onStoreError: "fail",
  if: undefined,
  unless: undefined,
};

export const mergeChange: LayerFeature<Change, Merged>["merge"] = keyedMerge(DEFAULTS);

/** @throws {DefinitionError} when options that came from several classes do not go together. */
export function resolveOptions({ resolver, options }: Merged): Idempotency {
  const { ttlMs } = options;
  const leaseMs = options.leaseMs ?? Math.min(ttlMs, 300_000);
  const maxHoldMs = options.maxHoldMs ?? Math.max(ttlMs, 3_600_000);
  checkTimes({ ttlMs, leaseMs, maxHoldMs });
  return Object.freeze({ ...options, resolver, leaseMs, maxHoldMs });
}

function checkTimes({ ttlMs, leaseMs, maxHoldMs }: Partial<Pick<Idempotency, "ttlMs" | "leaseMs" | "maxHoldMs">>): void {
  if (leaseMs !== undefined && ttlMs !== undefined && leaseMs > ttlMs) {
    throw new DefinitionError(
      `@idempotentBy(): lease (${leaseMs} ms) is longer than ttl (${ttlMs} ms), so a crash would block the key for longer than a success. Shorten lease: it is renewed while the run is at work.`,
    );
  }
  if (leaseMs !== undefined && maxHoldMs !== undefined && maxHoldMs < leaseMs) {
    throw new DefinitionError(`@idempotentBy(): maxHold (${maxHoldMs} ms) is shorter than lease (${leaseMs} ms). Lengthen maxHold.`);
  }
}

const ALLOWED =
  "ttl lease maxHold namespace onDuplicate waitFor fingerprint onUnstorable maxOutputBytes onMissingKey onStoreError if unless".split(" ");

/** @throws {DefinitionError} when an option is unknown or has the wrong shape. */
export function parseOptions(given: IdempotencyOptions<never>): Partial<Declared> {
  checkOptions("@idempotentBy()", given, ALLOWED);
  checkGates("@idempotentBy()", given);
  const { ttl, lease, maxHold, namespace, onDuplicate, waitFor, fingerprint, onUnstorable, maxOutputBytes, onMissingKey, onStoreError } =
    given;
  const option = (name: string): string => `@idempotentBy(): ${name}`;
  const times = {
    ...(ttl !== undefined && { ttlMs: toMs(option("ttl"), ttl) }),
    ...(lease !== undefined && { leaseMs: toMs(option("lease"), lease) }),
    ...(maxHold !== undefined && { maxHoldMs: toMs(option("maxHold"), maxHold) }),
  };
  checkTimes(times);
  return {
    ...times,
    ...(namespace !== undefined && { namespace: checkNamespace("@idempotentBy()", namespace) }),
    ...(onDuplicate !== undefined && { onDuplicate: parseRules(onDuplicate) }),
    ...(waitFor !== undefined && { waitForMs: toMs(option("waitFor"), waitFor) }),
    ...(fingerprint !== undefined && { fingerprint: checkFingerprint(fingerprint) }),
    ...(onUnstorable !== undefined && { onUnstorable: checkWord(option("onUnstorable"), onUnstorable, ["forget", "fail"]) }),
    ...(maxOutputBytes !== undefined && { maxOutputBytes: checkInteger(option("maxOutputBytes"), maxOutputBytes, 1) }),
    ...(onMissingKey !== undefined && { onMissingKey: checkWord(option("onMissingKey"), onMissingKey, ["run", "fail"]) }),
    ...(onStoreError !== undefined && { onStoreError: checkWord(option("onStoreError"), onStoreError, ["fail", "run"]) }),
    // A gate gets tasks of the class it stands on only; `null` clears an inherited one.
    ...(given.if !== undefined && { if: given.if as Gates["if"] }),
    ...(given.unless !== undefined && { unless: given.unless as Gates["unless"] }), // likewise
  };
}

function parseRules(rules: NonNullable<IdempotencyOptions["onDuplicate"]>): Required<DuplicateRules> {
  if (typeof rules === "string") {
    const rule = checkWord("@idempotentBy(): onDuplicate", rules, ["skip", "fail", "replay"]);
    return Object.freeze(rule === "replay" ? { processing: "wait", completed: "replay" } : { processing: rule, completed: rule });
  }
  checkOptions("@idempotentBy(): onDuplicate", rules, ["processing", "completed"]);
  return Object.freeze({
    processing: checkWord("@idempotentBy(): onDuplicate.processing", rules.processing ?? "skip", ["skip", "fail", "wait"]),
    completed: checkWord("@idempotentBy(): onDuplicate.completed", rules.completed ?? "skip", ["skip", "fail", "replay"]),
  });
}

function checkFingerprint(fingerprint: unknown): Declared["fingerprint"] {
  if (typeof fingerprint === "boolean") return fingerprint;
  checkFunction("@idempotentBy(): fingerprint", fingerprint);
  return fingerprint as (this: never, task: never) => unknown; // checked to be a function just now
}

/** The effective options as plain data: what they are, not the functions among them. */
export function describeOptions({ resolver, if: _if, unless: _unless, fingerprint, onDuplicate, ...rest }: Idempotency): Json {
  return {
    ...rest,
    onDuplicate: { ...onDuplicate },
    key: resolver === undefined ? null : describeResolver(resolver),
    fingerprint: fingerprint !== false,
  };
}
