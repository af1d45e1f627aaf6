import type { Result } from "../task/result.js";

/** Everything that is announced, with what each event carries beside the common fields. One union, on one page. */
export interface EventPayloads extends JobPayloads {
  /** A run begins: inside the middlewares, before anything of the task. */
  task_started: Readonly<Record<never, never>>;
  /** The task is marked as deprecated, and its gates let the mark through. */
  task_deprecated: { readonly message: string };
  /** An attempt failed and another will follow after the wait. `attempt` is the number of the coming one: 2 for the first retry. */
  retry_scheduled: { readonly attempt: number; readonly delayMs: number; readonly error: Error };
  /** A further attempt begins now; `attempt` is its number, 2 for the first retry. */
  task_retried: { readonly attempt: number };
  /** The last attempt that was allowed has failed. `retries` is how many there were. */
  retries_exhausted: { readonly retries: number; readonly error: Error };
  /** `rollback` has ended; with `error` when it threw. */
  task_rolled_back: { readonly error?: Error };
  /** The attempt did not end in its time. Its signal has aborted; its work may still go on. */
  attempt_timed_out: { readonly attempt: number; readonly timeoutMs: number };
  /** The lock is held; what it protects follows. */
  lock_acquired: { readonly lockKey: string; readonly waitedMs: number };
  /** The lock was freed. */
  lock_released: { readonly lockKey: string };
  /** Another run holds the lock. Comes before the outcome that says so. */
  lock_refused: { readonly code: "locked"; readonly lockKey: string; readonly retryAfterMs?: number };
  /** The lock is known, or must be assumed, to be lost. */
  lock_lost: { readonly lockKey: string; readonly why: "refused" | "expired" | "max_hold" };
  /** The run goes on without the lock. */
  lock_bypassed: { readonly why: "gate" | "missing_key" | "store_error" };
  /** A call of the store for a lock failed or ran out of time. */
  lock_store_error: { readonly operation: "claim" | "renew" | "release"; readonly lockKey: string; readonly error: Error };
  /** The key has used up its runs for now. Comes before the outcome that says so. */
  rate_limited: { readonly code: "rate_limited"; readonly rateLimitKey: string; readonly limit: number; readonly retryAfterMs: number };
  /** The run is not counted. */
  rate_limit_bypassed: { readonly why: "gate" | "missing_key" | "store_error" };
  /** The count could not be kept: the store failed or ran out of time. */
  rate_limit_store_error: { readonly rateLimitKey: string; readonly error: Error };
  /** Failures have opened the circuit: runs are refused until `coolOffMs` have passed. `error` is the last of them. */
  circuit_opened: { readonly circuit: string; readonly coolOffMs: number; readonly error: Error };
  /** The time is up: this run is let through to see whether things are well again. */
  circuit_half_opened: { readonly circuit: string };
  /** A run got through: all others may again. */
  circuit_closed: { readonly circuit: string };
  /** The circuit is open. Comes before the outcome that says so. */
  circuit_refused: { readonly code: "circuit_open"; readonly circuit: string; readonly retryAfterMs: number };
  /** The run is not watched by the breaker. */
  circuit_bypassed: { readonly why: "gate" };
  /** The slot was claimed; `work` follows. */
  idempotency_claimed: { readonly idempotencyKey: string };
  /** The slot was marked as completed, after the output was verified. */
  idempotency_completed: { readonly idempotencyKey: string };
  /** The key is already held, or was completed. Comes before the outcome that says so. */
  idempotency_duplicate: { readonly code: "duplicate"; readonly idempotencyKey: string; readonly state: "processing" | "completed" };
  /** The slot was freed, since the run did not succeed. */
  idempotency_released: { readonly idempotencyKey: string; readonly reason: "failed" | "skipped" | "shutdown" };
  /** The claim is known, or must be assumed, to be lost. */
  idempotency_lost: { readonly idempotencyKey: string; readonly why: "refused" | "expired" | "max_hold" };
  /** The run goes on without protection. */
  idempotency_bypassed: { readonly why: "gate" | "missing_key" | "store_error" };
  /** The key was used before for another request. Comes before the failure that says so. */
  idempotency_mismatch: { readonly idempotencyKey: string; readonly state: "processing" | "completed" };
  /** The run answers with the output of the first run. */
  idempotency_replayed: { readonly idempotencyKey: string };
  /** The output of the first run is not there for replay: it could not be stored, or not be read back. */
  idempotency_output_lost: {
    readonly idempotencyKey: string;
    readonly why: "unstorable" | "too_large" | "unreadable";
    readonly error: Error;
  };
  /** A call of the store failed or ran out of time. */
  idempotency_store_error: {
    readonly operation: "claim" | "renew" | "complete" | "release";
    readonly idempotencyKey: string;
    readonly error: Error;
  };
  /** The run has answered. */
  task_executed: { readonly result: Result };
  /** Something that only watches (callback, middleware, subscriber, logger) failed. The outcome is what it was. */
  observer_error: { readonly observer: string; readonly error: Error };
}

/** What is announced of a job. It is no run: a job may wait, and is tried by a run for each attempt. */
interface JobPayloads {
  /** A job was enqueued, or, `coalesced`, the call resolved to one that is pending or running. */
  job_enqueued: { readonly coalesced: boolean; readonly key: string | undefined };
  /** An attempt begins; its run follows. */
  job_started: { readonly attempt: number };
  /** The job is completed: its run succeeded, or was skipped. */
  job_completed: { readonly attempt: number };
  /** An attempt failed, and another follows after the wait. `attempt` is the number of the failed one. */
  job_retried: { readonly attempt: number; readonly delayMs: number };
  /** The job has failed for good. */
  job_dead: { readonly attempt: number; readonly reason: string };
  /** The job was cancelled: before it ran, or while it did. */
  job_cancelled: Readonly<Record<never, never>>;
}

export type EventName = keyof EventPayloads;
export type JobEventName = keyof JobPayloads;

/** What a listener gets. Of several events, `name` tells which payload it is. */
export type TelemetryEvent<Name extends EventName = EventName> = {
  [N in Name]: N extends JobEventName ? JobEvent<N> : RunEvent<N>;
}[Name];

interface RunEvent<Name extends EventName> {
  readonly name: Name;
  /** The task's name. */
  readonly task: string;
  readonly runId: string;
  readonly chainId: string;
  readonly parentId: string | undefined;
  /** How many runs this one is nested in. */
  readonly depth: number;
  /** The place in the chain by order of starting. */
  readonly index: number;
  readonly correlationId: string | undefined;
  /** Milliseconds since 1970. */
  readonly timestamp: number;
  readonly payload: EventPayloads[Name];
}

interface JobEvent<Name extends JobEventName> {
  readonly name: Name;
  /** The task's name. */
  readonly task: string;
  readonly jobId: string;
  /** None: a job is not one run. */
  readonly runId?: undefined;
  /** The chain that the job was enqueued in, as far as it is known where this happens. */
  readonly chainId: string | undefined;
  readonly correlationId: string | undefined;
  /** Milliseconds since 1970. */
  readonly timestamp: number;
  readonly payload: EventPayloads[Name];
}

/** The names that can be subscribed to. Written as a record so that one left out does not compile. */
const NAMES: Readonly<Record<EventName, true>> = {
  task_started: true,
  task_deprecated: true,
  retry_scheduled: true,
  task_retried: true,
  retries_exhausted: true,
  task_rolled_back: true,
  attempt_timed_out: true,
  lock_acquired: true,
  lock_released: true,
  lock_refused: true,
  lock_lost: true,
  lock_bypassed: true,
  lock_store_error: true,
  rate_limited: true,
  rate_limit_bypassed: true,
  rate_limit_store_error: true,
  circuit_opened: true,
  circuit_half_opened: true,
  circuit_closed: true,
  circuit_refused: true,
  circuit_bypassed: true,
  idempotency_claimed: true,
  idempotency_completed: true,
  idempotency_duplicate: true,
  idempotency_released: true,
  idempotency_lost: true,
  idempotency_bypassed: true,
  idempotency_mismatch: true,
  idempotency_replayed: true,
  idempotency_output_lost: true,
  idempotency_store_error: true,
  job_enqueued: true,
  job_started: true,
  job_completed: true,
  job_retried: true,
  job_dead: true,
  job_cancelled: true,
  task_executed: true,
  observer_error: true,
};

export const eventNames: readonly EventName[] = Object.keys(NAMES) as EventName[]; // the record's keys are exactly these

export function isEventName(name: unknown): name is EventName {
  return typeof name === "string" && Object.hasOwn(NAMES, name);
}
