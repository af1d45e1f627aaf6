import type { EngineJob, JobOptions, JobRecord, JobState } from "../queue/port.js";
import type { Job, JobsOptions } from "./driver.js";

/** What is stored with a job of BullMQ. The payload is wrapped, since PostgreSQL keeps data as `jsonb` and would change it. */
export interface JobData {
  readonly payload: string;
  /** Of the job's options. BullMQ's own options for it are the worker's to set: see Retention. */
  readonly keepMs: JobOptions["keepMs"];
  /** The job is to be cancelled. It stands with the job, so that no worker can take the job without seeing it. */
  readonly cancel?: true;
  /** When it was cancelled while it was pending. It still stands in a list of BullMQ's, and is never run. */
  readonly cancelledAt?: number;
}

/** What a completed job returns. */
export interface JobAnswer {
  readonly answer: string;
}

export type StoredJob = Job<JobData, JobAnswer>;

/** What kind of job this is is told by its name; no task has a colon in its name. */
export const TICK = "taskwright:tick";

/** The data of such a job. */
export function internalData(payload: string): JobData {
  return { payload, keepMs: { completed: 0, dead: 0 } };
}

export function isInternal({ name }: { readonly name: string }): boolean {
  return name === TICK;
}

/** BullMQ takes the lowest number first, and 0 before all: so the highest that there is becomes 0. */
const HIGHEST_PRIORITY = 2_097_151;

export function entryOf({ id, task, payload, key, options }: EngineJob): { name: string; data: JobData; opts: JobsOptions } {
  const { delayMs, priority, attempts, backoff, keepMs } = options;
  const opts: JobsOptions = {
    jobId: id,
    ...(key !== undefined && { deduplication: { id: key } }),
    delay: delayMs,
    priority: HIGHEST_PRIORITY - priority,
    attempts,
    backoff: { type: backoff.type, delay: backoff.delayMs },
  };
  return { name: task, data: { payload, keepMs }, opts };
}

/** The job's options, as they were handed over. */
export function optionsOf({ opts, data }: StoredJob): JobOptions {
  const { delay = 0, priority = 0, attempts = 1, backoff } = opts;
  const wait = typeof backoff === "object" ? backoff : { type: "fixed", delay: backoff };
  return {
    delayMs: delay,
    priority: HIGHEST_PRIORITY - priority,
    attempts,
    backoff: { type: wait.type === "exponential" ? "exponential" : "fixed", delayMs: wait.delay ?? 0 },
    keepMs: isOurs(data) ? data.keepMs : FOREIGN_KEEP_MS,
  };
}

/** A job that somebody else has put into the queue, or a dashboard: its data may be anything. No queue can read it, and each may list it. */
function isOurs(data: unknown): data is JobData {
  return typeof data === "object" && data !== null && "keepMs" in data && "payload" in data && typeof data.payload === "string";
}

const FOREIGN_KEEP_MS: JobOptions["keepMs"] = { completed: 3_600_000, dead: 604_800_000 };

/** When it was cancelled, if it was pending then. */
export function cancelledAtOf({ data }: StoredJob): number | undefined {
  return isOurs(data) ? data.cancelledAt : undefined;
}

export function payloadOf({ data }: StoredJob): string {
  return isOurs(data) ? data.payload : "";
}

/** What stands as `failedReason`, where BullMQ keeps one text only: it is written in the step that ends the attempt. */
export interface Failure {
  readonly kind: "failed" | "cancelled";
  readonly reason: string;
  readonly answer?: string | undefined;
  /** Was the work entered? Not when the job was cancelled before. */
  readonly started: boolean;
}

export function writeFailure(failure: Failure): string {
  return JSON.stringify({ taskwright: 1, ...failure });
}

/** What BullMQ itself writes, for a job whose workers died say, is a sentence. */
export function readFailure(failedReason: string | undefined): Failure | undefined {
  if (failedReason === undefined) return undefined;
  if (failedReason.startsWith('{"taskwright":1,')) return JSON.parse(failedReason) as Failure; // written above
  return { kind: "failed", reason: failedReason, started: false };
}

/** Attempts that were started. A worker that died does not count as an attempt for BullMQ, but was one. */
export function attemptsOf({ attemptsMade, stalledCounter, failedReason }: StoredJob, state: JobState): number {
  const ended = attemptsMade + stalledCounter;
  if (state === "running") return ended + 1;
  const neverStarted = (state === "dead" || state === "cancelled") && readFailure(failedReason)?.started === false;
  return neverStarted ? ended - 1 : ended;
}

/** What BullMQ calls the states. */
export function stateOf(job: StoredJob, bullState: string): JobState {
  if (bullState === "completed") return "completed";
  if (bullState === "failed") return readFailure(job.failedReason)?.kind === "cancelled" ? "cancelled" : "dead";
  if (cancelledAtOf(job) !== undefined) return "cancelled";
  return bullState === "active" ? "running" : "pending";
}

export function recordOf(job: StoredJob, state: JobState): JobRecord {
  const failure = readFailure(job.failedReason);
  return {
    id: job.id ?? "",
    task: job.name,
    state,
    payload: payloadOf(job),
    key: job.opts.deduplication?.id,
    options: optionsOf(job),
    attempts: attemptsOf(job, state),
    progress: typeof job.progress === "number" ? job.progress : 0,
    answer: state === "completed" ? job.returnvalue?.answer : failure?.answer,
    reason: state === "dead" ? failure?.reason : undefined,
    enqueuedAt: job.timestamp,
    endedAt: hasEnded(state) ? (cancelledAtOf(job) ?? job.finishedOn) : undefined,
  };
}

export function hasEnded(state: JobState): boolean {
  return state === "completed" || state === "dead" || state === "cancelled";
}
