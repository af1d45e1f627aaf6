import type { Clock } from "../../../support/clock.js";
import type { EngineJob, JobOptions, JobRecord, JobState } from "../../port.js";
import type { Hold } from "./pool.js";
import type { Mark } from "./timeline.js";

/** A job as the engine keeps it. */
export class MemoryJob {
  readonly id: string;
  readonly task: string;
  readonly payload: string;
  readonly key: string | undefined;
  readonly options: JobOptions;
  readonly enqueuedAt: number;
  state: JobState = "pending";
  /** Attempts that were started. One whose worker stopped without an answer does not count against those that are allowed. */
  attempts = 0;
  failures = 0;
  progress = 0;
  answer: string | undefined;
  reason: string | undefined;
  endedAt: number | undefined;
  /** While running: the attempt that has the job. */
  hold: Hold | undefined;
  /** While it waits for its time, or, once ended, to be forgotten. */
  mark: Mark<MemoryJob> | undefined;
  /** Those who wait for its end. */
  readonly waiters: Set<(record: JobRecord) => void> = new Set();

  constructor(job: EngineJob, clock: Clock) {
    this.id = job.id;
    this.task = job.task;
    this.payload = job.payload;
    this.key = job.key;
    this.options = Object.freeze({ ...job.options, backoff: { ...job.options.backoff }, keepMs: { ...job.options.keepMs } });
    this.enqueuedAt = clock.epoch();
  }

  get hasEnded(): boolean {
    return this.state !== "pending" && this.state !== "running";
  }

  /** How long to wait before the attempt after this one. */
  get backoffMs(): number {
    const { type, delayMs } = this.options.backoff;
    return type === "fixed" ? delayMs : delayMs * 2 ** (this.failures - 1);
  }

  get record(): JobRecord {
    const { id, task, state, payload, key, options, attempts, progress, answer, reason, enqueuedAt, endedAt } = this;
    return Object.freeze({ id, task, state, payload, key, options, attempts, progress, answer, reason, enqueuedAt, endedAt });
  }
}
