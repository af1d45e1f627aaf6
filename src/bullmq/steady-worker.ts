import { DelayedError, WaitingError, Worker } from "./driver.js";
import type { JobAnswer, JobData, StoredJob } from "./stored-job.js";
import { isRefusal, Tries } from "./tries.js";

/**
 * A worker of BullMQ that does not take a broken connection for a failure of the work. BullMQ writes the end of a job once; when that
 * fails, it writes on the next connection that the job has failed, of a broken connection, though its work is done:
 *
 *     work    |- succeeds -|
 *     storage              |- completed: connection broken -|- failed, "Connection terminated" -|
 *
 * Here the end is written again: see `Tries`.
 */
export class SteadyWorker extends Worker<JobData, JobAnswer> {
  /** What cannot be written at last is nobody's failure: the hold runs out, and another worker finds the job. */
  protected override async handleCompleted(
    answer: JobAnswer,
    job: StoredJob,
    token: string,
    fetchNext?: () => boolean,
  ): Promise<StoredJob> {
    const tries = this.#tries();
    for (;;) {
      try {
        return await super.handleCompleted(answer, job, token, fetchNext);
      } catch (thrown) {
        if (isRefusal(thrown) && tries.hasFailed && (await job.isCompleted())) return this.#tellCompleted(job, answer);
        if (isRefusal(thrown)) throw thrown;
        if (!(await tries.maybeAgain(thrown))) throw new DelayedError();
      }
    }
  }

  protected override async handleFailed(error: Error, job: StoredJob, token: string, fetchNext?: () => boolean): Promise<StoredJob> {
    if (error instanceof DelayedError || error instanceof WaitingError) return super.handleFailed(error, job, token, fetchNext);
    const tries = this.#tries();
    for (;;) {
      try {
        return await super.handleFailed(error, job, token, fetchNext);
      } catch (thrown) {
        if (isRefusal(thrown) || !(await tries.maybeAgain(thrown))) throw thrown;
      }
    }
  }

  #tries(): Tries {
    return new Tries(this.opts.lockDuration ?? 30_000, (error) => this.emit("error", error));
  }

  /** It was written the first time, and only the answer was lost. No next job came with it. */
  #tellCompleted(job: StoredJob, answer: JobAnswer): StoredJob {
    this.emit("completed", job, answer, "active");
    const nextJob: unknown = undefined;
    return nextJob as StoredJob; // the type that BullMQ has for it, where it means this as well
  }
}
