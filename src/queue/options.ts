import { DefinitionError } from "../errors.js";
import { checkInteger, checkOptions, checkWord, describe } from "../support/check.js";
import { toMs, type Duration } from "../support/duration.js";
import type { KeyOptions } from "./keys.js";
import type { JobOptions } from "./port.js";

/** How a job is handled. Given for a queue, a class (`@queued`) and a call; the nearest counts. Times in seconds, or "250ms", "5m", "24h". */
export interface JobSettings {
  /** The wait before the job may run. @default 0 */
  readonly delay?: Duration;
  /** From 0 to 2097151; jobs with a higher one go first. @default 0 */
  readonly priority?: number;
  /** How often the job may be tried. @default 1 */
  readonly attempts?: number;
  /** The wait before the next attempt: the same each time, or, `exponential`, twice as long each time. @default exponential, from 1 second */
  readonly backoff?: Duration | { readonly type: "fixed" | "exponential"; readonly delay: Duration };
  /** How long one attempt may take; then its signal aborts and the attempt has failed. `null` clears an inherited one. @default none */
  readonly timeout?: Duration | null;
  /** How long an ended job is remembered. @default an hour when completed, seven days when dead */
  readonly keep?: { readonly completed?: Duration; readonly dead?: Duration };
  /** What a call gets whose key is held by a job with another payload: that job, or a {@link KeyMismatchError}. @default "coalesce" */
  readonly onMismatch?: "coalesce" | "reject";
  /** Is the input held against the task's schema before it is enqueued? The worker does so in any case. @default true */
  readonly checkInput?: boolean;
}

/** What a class says of its jobs: `@queued({ idempotent: true, attempts: 5 })`. */
export interface QueuedOptions extends JobSettings {
  /** Derives a key from the task's name and the input of each call, so that equal calls are one job. @default false */
  readonly idempotent?: boolean | undefined;
}

/** What one call says of its job. */
export interface EnqueueOptions extends JobSettings, KeyOptions {
  /**
   * The job's own id, when you make it yourself: a call that is repeated with the same id enqueues nothing twice. Letters, digits, `-`
   * and `_`, at least one of them no digit. @default a new UUID
   */
  readonly id?: string;
}

/** The settings with their times in milliseconds. */
export interface Effective extends JobOptions {
  readonly timeoutMs: number | undefined;
  readonly onMismatch: "coalesce" | "reject";
  readonly checkInput: boolean;
  readonly idempotent: boolean;
}

export const DEFAULTS: Effective = {
  delayMs: 0,
  priority: 0,
  attempts: 1,
  backoff: { type: "exponential", delayMs: 1_000 },
  keepMs: { completed: 3_600_000, dead: 7 * 86_400_000 },
  timeoutMs: undefined,
  onMismatch: "coalesce",
  checkInput: true,
  idempotent: false,
};

export const JOB_SETTINGS: readonly string[] = "delay priority attempts backoff timeout keep onMismatch checkInput".split(" ");
const MAX_PRIORITY = 2_097_151;

/** What some options set. `keepMs` may be set in part. */
export type Change = Partial<Omit<Effective, "keepMs">> & { readonly keepMs?: Partial<JobOptions["keepMs"]> };

/** The nearer options over the further ones. */
export function withChange(base: Effective, change: Change | undefined): Effective {
  return change === undefined ? base : { ...base, ...change, keepMs: { ...base.keepMs, ...change.keepMs } };
}

/**
 * Reads the settings among some options.
 *
 * @throws {DefinitionError} when one has the wrong shape.
 */
export function parseSettings(owner: string, options: QueuedOptions): Change {
  const { delay, priority, attempts, backoff, timeout, keep, onMismatch, checkInput, idempotent } = options;
  const option = (name: string): string => `${owner}: ${name}`;
  return {
    ...(delay !== undefined && { delayMs: toMs(option("delay"), delay, { zero: true }) }),
    ...(priority !== undefined && { priority: checkInteger(option("priority"), priority, 0, MAX_PRIORITY) }),
    ...(attempts !== undefined && { attempts: checkInteger(option("attempts"), attempts, 1) }),
    ...(backoff !== undefined && { backoff: parseBackoff(option("backoff"), backoff) }),
    ...(timeout !== undefined && { timeoutMs: timeout === null ? undefined : toMs(option("timeout"), timeout) }),
    ...(keep !== undefined && { keepMs: parseKeep(option("keep"), keep) }),
    ...(onMismatch !== undefined && { onMismatch: checkWord(option("onMismatch"), onMismatch, ["coalesce", "reject"]) }),
    ...(checkInput !== undefined && { checkInput: checkFlag(option("checkInput"), checkInput) }),
    ...(idempotent !== undefined && { idempotent: checkFlag(option("idempotent"), idempotent) }),
  };
}

function parseBackoff(option: string, backoff: NonNullable<JobSettings["backoff"]>): JobOptions["backoff"] {
  if (typeof backoff !== "object") return { type: "fixed", delayMs: toMs(option, backoff, { zero: true }) };
  checkOptions(option, backoff, ["type", "delay"]);
  return {
    type: checkWord(`${option}.type`, backoff.type, ["fixed", "exponential"]),
    delayMs: toMs(`${option}.delay`, backoff.delay, { zero: true }),
  };
}

function parseKeep(option: string, keep: NonNullable<JobSettings["keep"]>): Partial<JobOptions["keepMs"]> {
  checkOptions(option, keep, ["completed", "dead"]);
  return {
    ...(keep.completed !== undefined && { completed: toMs(`${option}.completed`, keep.completed, { zero: true }) }),
    ...(keep.dead !== undefined && { dead: toMs(`${option}.dead`, keep.dead, { zero: true }) }),
  };
}

function checkFlag(option: string, flag: unknown): boolean {
  if (typeof flag === "boolean") return flag;
  throw new DefinitionError(`${option} must be true or false, got ${describe(flag)}.`);
}

/** Only what engines need to know. */
export function jobOptionsOf({ delayMs, priority, attempts, backoff, keepMs }: Effective): JobOptions {
  return { delayMs, priority, attempts, backoff, keepMs };
}

/** Names that BullMQ has for its own keys, beside which it keeps each job under its id. */
const TAKEN: ReadonlySet<string> = new Set(
  (
    "active completed de delayed events failed id limiter marker meta paused pc prioritized repeat stalled stalled-check wait " +
    "waiting-children"
  ).split(" "),
);

/** @throws {DefinitionError} when it is none that every engine can keep. */
export function checkId(id: unknown): string {
  if (typeof id === "string" && TAKEN.has(id))
    throw new DefinitionError(`id must be none of the names that engines use themselves: ${id}.`);
  if (typeof id === "string" && /^[\w-]{1,128}$/.test(id) && /[^\d]/.test(id)) return id;
  throw new DefinitionError(
    `id must be a text of letters, digits, "-" and "_", up to 128 of them and not digits alone, got ${describe(id)}. A UUID is one.`,
  );
}
