import type { Duration } from "../support/duration.js";
import type { ResultOf, TaskClass } from "../task/contract.js";
import type { Job } from "./job.js";

/** How long to wait for a result. */
export interface ResultOptions {
  /** @default 30 (seconds) */
  readonly timeout?: Duration;
}

/** What a handle needs of its queue. */
export interface HandleQueue {
  result<C extends TaskClass>(type: C, id: string, options?: ResultOptions): Promise<ResultOf<C>>;
  job(id: string): Promise<Job | undefined>;
  cancel(id: string): Promise<CancelAnswer>;
}

/**
 * - `cancelled`: it was pending, and is cancelled now.
 * - `requested`: it is running, and its signal aborts.
 * - `finished`: it had already ended.
 * - `unknown`: there is no such job (any more).
 */
export type CancelAnswer = "cancelled" | "requested" | "finished" | "unknown";

/** A job that was enqueued, or the one that the call resolved to. */
export class JobHandle<C extends TaskClass = TaskClass> {
  readonly id: string;
  /** Did the call resolve to a job that was already pending or running? Then that job's input and options stand, and not the call's. */
  readonly coalesced: boolean;
  readonly #type: C;
  readonly #queue: HandleQueue;

  constructor(queue: HandleQueue, type: C, id: string, coalesced: boolean) {
    this.id = id;
    this.coalesced = coalesced;
    this.#type = type;
    this.#queue = queue;
  }

  /**
   * Waits for the job's end, and answers with the result of its run: the same that `execute` gives.
   *
   * @throws {NoResultError} when there is none, with the reason in `why`.
   */
  result(options?: ResultOptions): Promise<ResultOf<C>> {
    return this.#queue.result(this.#type, this.id, options);
  }

  /** The job as it is now. */
  look(): Promise<Job | undefined> {
    return this.#queue.job(this.id);
  }

  cancel(): Promise<CancelAnswer> {
    return this.#queue.cancel(this.id);
  }
}
