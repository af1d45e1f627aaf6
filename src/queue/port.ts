/**
 * What the queue asks of an engine. The queue decides everything that belongs to tasks (keys, payloads, what an outcome means);
 * an engine keeps jobs, holds their keys and hands them to workers. The shipped conformance suite (`taskwright/testing`) holds
 * every engine to these words.
 *
 * - A key is held by a job that is pending (delay and the waits between attempts included) or running, and is free from the very
 *   step that makes it completed, dead or cancelled. Holding is atomic, also between processes.
 * - A job runs at least once: after the death of a worker it is handed to another, with the same id.
 * - A method that cannot reach its storage rejects within the time limit of the engine. It never answers as if it had.
 */
export interface Engine {
  /** For messages: `"memory"`, `"bullmq"`. */
  readonly name: string;
  readonly capabilities: EngineCapabilities;

  /**
   * Keeps the jobs, in one storage call, and answers in their order. A job whose key is held resolves to the holder, whose payload
   * and options stay as they are; so does a key that comes twice in one call. A job whose id is known is not kept again: a call whose
   * outcome is not known may be repeated with the same ids.
   */
  enqueue(jobs: readonly EngineJob[]): Promise<readonly Receipt[]>;

  /** The job as it is now, or undefined when there is none (any more). */
  get(id: string): Promise<JobRecord | undefined>;

  /** The id of the job that holds the key now. */
  holder(key: string): Promise<string | undefined>;

  /** Waits until the job is completed, dead or cancelled, but no longer than that; undefined when the time is up or there is no such job. */
  settled(id: string, options: { readonly timeoutMs: number }): Promise<JobRecord | undefined>;

  /**
   * - `cancelled`: it was pending, and is cancelled now.
   * - `requested`: it is running; its worker has been told, and will answer with the verdict `cancelled` or with another, if it is too late.
   * - `finished`: it had already ended.
   * - `unknown`: there is no such job.
   */
  cancel(id: string): Promise<"cancelled" | "requested" | "finished" | "unknown">;

  /** Dead jobs, the latest first. */
  dead(options: { readonly limit: number; readonly offset: number }): Promise<readonly JobRecord[]>;

  /** Forgets a job that has ended, and tells whether it did. */
  forget(id: string): Promise<boolean>;

  /** Keeps a schedule under its name, in place of an earlier one of that name. Each tick enqueues the job anew, with the schedule's key. */
  schedule(schedule: EngineSchedule): Promise<void>;
  /** Ends a schedule, and tells whether there was one. What it has enqueued stays. */
  unschedule(name: string): Promise<boolean>;
  schedules(): Promise<readonly EngineSchedule[]>;

  /** Takes jobs and hands them to the handler, until it is stopped. */
  work(handler: Handler, options: { readonly concurrency: number }): Promise<EngineWorker>;

  /** Lets go of every connection and timer that is the engine's own. Workers are stopped first. */
  close(): Promise<void>;

  /** Only of an engine that runs jobs within the enqueue itself: tells it, once, by whom. */
  readonly runsWith?: (handler: Handler) => void;
}

/** What `new Queue({ engine })` takes: opens the engine for one namespace. Jobs, keys, schedules and workers of two namespaces never meet. */
export type EngineSource = (namespace: string) => Engine;

export interface EngineCapabilities {
  /** Do jobs outlive the process? */
  readonly durable: boolean;
  /** Do several processes share the jobs? */
  readonly multiProcess: boolean;
  /** Is a batch kept whole or not at all? Where not, repeating it with the same ids completes it. */
  readonly atomicBatch: boolean;
  /** Are keys held at all? Not by the inline engine, which runs jobs at once. */
  readonly holdsKeys: boolean;
}

/** A job as the queue hands it over. */
export interface EngineJob {
  /** Made by the queue, never used twice. */
  readonly id: string;
  /** The task's name. */
  readonly task: string;
  /** One opaque text, to be given back as it was: no engine looks into it. Well-formed Unicode without NUL. */
  readonly payload: string;
  /** From 1 to 512 bytes of well-formed Unicode without NUL. */
  readonly key?: string | undefined;
  readonly options: JobOptions;
}

/** Times in milliseconds. */
export interface JobOptions {
  readonly delayMs: number;
  /** From 0 to 2097151; a higher number goes first. */
  readonly priority: number;
  /** How often the job may be tried; at least 1. */
  readonly attempts: number;
  /** The wait before the next attempt: always `delayMs`, or twice as long each time. */
  readonly backoff: { readonly type: "fixed" | "exponential"; readonly delayMs: number };
  /** How long a job is remembered after it has ended. */
  readonly keepMs: { readonly completed: number; readonly dead: number };
}

export interface EngineSchedule {
  readonly name: string;
  /** Five or six fields (seconds first), or a fixed interval. */
  readonly every: { readonly cron: string; readonly timeZone: string | undefined } | { readonly intervalMs: number };
  readonly task: string;
  readonly payload: string;
  /** A tick whose key is held coalesces; later ticks still come. */
  readonly key?: string | undefined;
  readonly options: JobOptions;
}

/** What became of a job that was handed over. */
export interface Receipt {
  /** The job's own id, or the id of the job it resolved to. */
  readonly id: string;
  /** Did it resolve to another job? */
  readonly coalesced: boolean;
}

export type JobState = "pending" | "running" | "completed" | "dead" | "cancelled";

export interface JobRecord {
  readonly id: string;
  readonly task: string;
  readonly state: JobState;
  readonly payload: string;
  readonly key: string | undefined;
  readonly options: JobOptions;
  /** Attempts that were started. */
  readonly attempts: number;
  /** From 0 to 100, as the work told it. */
  readonly progress: number;
  /** What the verdict of the last attempt carried. */
  readonly answer: string | undefined;
  /** Why a dead job died, in words. */
  readonly reason: string | undefined;
  /** Milliseconds since 1970. */
  readonly enqueuedAt: number;
  readonly endedAt: number | undefined;
}

/** One attempt, as a worker gets it. */
export interface Attempt {
  readonly id: string;
  readonly task: string;
  readonly payload: string;
  readonly key: string | undefined;
  readonly options: JobOptions;
  /** From 1. */
  readonly attempt: number;
  /** Aborts when the job is cancelled, or when the worker is to hand back. Its reason is `"cancelled"` or `"stopped"`. */
  readonly signal: AbortSignal;
  progress(percent: number): Promise<void>;
}

/** What an attempt came to. `answer` is an opaque text like the payload, and is kept with the job. */
export type Verdict =
  | { readonly kind: "completed"; readonly answer: string }
  /** Tried again while attempts are left, if `retry`; else the job is dead. */
  | { readonly kind: "failed"; readonly answer: string; readonly reason: string; readonly retry: boolean }
  | { readonly kind: "cancelled"; readonly answer?: string }
  /** Not done, and not to be counted: pending again, after the delay. */
  | { readonly kind: "handed_back"; readonly delayMs: number };

export interface Handler {
  /** Never rejects. May be called twice for one job, though not within one live hold on it. */
  run(attempt: Attempt): Promise<Verdict>;
  /**
   * Tells what the engine made of it: `pending` is a further attempt, `dead` may also come without a verdict (a job whose workers died).
   * Not told of what was handed back.
   */
  became(job: { readonly id: string; readonly task: string; readonly attempt: number }, state: Ending): void;
  /** Something went wrong outside any job: the connection, say. The worker goes on. */
  trouble(error: Error): void;
}

export type Ending =
  | { readonly state: "completed" }
  | { readonly state: "pending"; readonly delayMs: number }
  | { readonly state: "dead"; readonly reason: string }
  | { readonly state: "cancelled" };

export interface EngineWorker {
  /**
   * Takes no further jobs, and waits for those that are running, but no longer than `graceMs`; then tells them to stop. What does
   * not answer is left to be found again by another worker.
   */
  stop(options: { readonly graceMs: number }): Promise<void>;
}
