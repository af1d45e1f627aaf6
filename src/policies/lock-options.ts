import { checkNamespace, checkScope, keyedMerge, type KeyedChange, type KeyedMerged } from "../claims/keyed-policy.js";
import { describeResolver, type Resolver } from "../claims/resolver.js";
import { DefinitionError } from "../errors.js";
import { checkOptions, checkWord } from "../support/check.js";
import { toMs, type Duration } from "../support/duration.js";
import { checkGates, type Gates } from "../task/gates.js";
import type { LayerFeature } from "../task/layer.js";
import type { Json } from "../task/result-json.js";
import type { Task } from "../task/task.js";

export interface LockOptions<T extends Task = Task> extends Gates<T> {
  /** How long a lock lives without being renewed: after a crash, the key is free again after it. @default 30 (seconds) */
  readonly ttl?: Duration;
  /** How long a run waits for a lock that another holds; 0 does not wait. @default 0 */
  readonly wait?: Duration;
  /** Renewals end after this, so that a run that hangs does not hold its lock for ever. @default the larger of `ttl` and 3600 (seconds) */
  readonly maxHold?: Duration;
  /** The first piece of the key. @default "cmdx:lock" */
  readonly namespace?: string;
  /** Classes with the same scope share their locks. `null` gives the class locks of its own again. @default the task's name */
  readonly scope?: string | null;
  /** What becomes of a run without a key. @default "run": it goes on without a lock */
  readonly onMissingKey?: "run" | "fail";
  /** What becomes of a run whose lock could not be asked for. @default "fail": its work does not run */
  readonly onStoreError?: "fail" | "run";
}

/** The options as the code reads them: times in milliseconds, `undefined` where the default depends on others. */
interface Declared {
  readonly ttlMs: number;
  readonly waitMs: number;
  readonly maxHoldMs: number | undefined;
  readonly namespace: string;
  readonly scope: string | undefined;
  readonly onMissingKey: "run" | "fail";
  readonly onStoreError: "fail" | "run";
  readonly if: Gates["if"];
  readonly unless: Gates["unless"];
}
/** The effective options of a class. */
export interface Lock extends Declared {
  readonly resolver: Resolver | undefined;
  readonly maxHoldMs: number;
}

export type LockChange = KeyedChange<Declared>;
export type LockMerged = KeyedMerged<Declared>;

const DEFAULTS: Declared = {
  ttlMs: 30_000,
  waitMs: 0,
  maxHoldMs: undefined,
  namespace: "cmdx:lock",
  scope: undefined,
  onMissingKey: "run",
  onStoreError: "fail",
  if: undefined,
  unless: undefined,
};

export const mergeLock: LayerFeature<LockChange, LockMerged>["merge"] = keyedMerge(DEFAULTS);

/** @throws {DefinitionError} when options that came from several classes do not go together. */
export function resolveLock({ resolver, options }: LockMerged): Lock {
  const maxHoldMs = options.maxHoldMs ?? Math.max(options.ttlMs, 3_600_000);
  checkTimes({ ttlMs: options.ttlMs, maxHoldMs });
  return Object.freeze({ ...options, resolver, maxHoldMs });
}

function checkTimes({ ttlMs, maxHoldMs }: Partial<Pick<Lock, "ttlMs" | "maxHoldMs">>): void {
  if (ttlMs === undefined || maxHoldMs === undefined || maxHoldMs >= ttlMs) return;
  throw new DefinitionError(`@lockWith(): maxHold (${maxHoldMs} ms) is shorter than ttl (${ttlMs} ms). Lengthen maxHold.`);
}

const ALLOWED = "ttl wait maxHold namespace scope onMissingKey onStoreError if unless".split(" ");

/** @throws {DefinitionError} when an option is unknown or has the wrong shape. */
export function parseLock(given: LockOptions<never>): Partial<Declared> {
  checkOptions("@lockWith()", given, ALLOWED);
  checkGates("@lockWith()", given);
  const { ttl, wait, maxHold, namespace, scope, onMissingKey, onStoreError } = given;
  const option = (name: string): string => `@lockWith(): ${name}`;
  const times = {
    ...(ttl !== undefined && { ttlMs: toMs(option("ttl"), ttl) }),
    ...(maxHold !== undefined && { maxHoldMs: toMs(option("maxHold"), maxHold) }),
  };
  checkTimes(times);
  return {
    ...times,
    ...(wait !== undefined && { waitMs: toMs(option("wait"), wait, { zero: true }) }),
    ...(namespace !== undefined && { namespace: checkNamespace("@lockWith()", namespace) }),
    ...(scope !== undefined && { scope: scope === null ? undefined : checkScope("@lockWith()", scope) }),
    ...(onMissingKey !== undefined && { onMissingKey: checkWord(option("onMissingKey"), onMissingKey, ["run", "fail"]) }),
    ...(onStoreError !== undefined && { onStoreError: checkWord(option("onStoreError"), onStoreError, ["fail", "run"]) }),
    // A gate gets tasks of the class it stands on only; `null` clears an inherited one.
    ...(given.if !== undefined && { if: given.if as Gates["if"] }),
    ...(given.unless !== undefined && { unless: given.unless as Gates["unless"] }), // likewise
  };
}

/** The effective options as plain data: what they are, not the functions among them. */
export function describeLock({ resolver, if: _if, unless: _unless, scope, ...rest }: Lock): Json {
  return { ...rest, key: resolver === undefined ? null : describeResolver(resolver), ...(scope !== undefined && { scope }) };
}
