import { systemClock } from "../support/clock.js";
import { toError } from "../support/thrown.js";
import { DelayedError, WaitingError, Worker } from "./driver.js";
import type { JobAnswer, JobData, StoredJob } from "./stored-job.js";

/** How long to wait before a job's end is written once more. */
const PAUSE_MS = 200;

/**
 * A worker of BullMQ that does not take a broken connection for a failure of the work. BullMQ writes the end of a job once; when that
 * fails, it writes on the next connection that the job has failed, of a broken connection, though its work is done:
 *
 *     work    |- succeeds -|
 *     storage              |- completed: connection broken -|- failed, "Connection terminated" -|
 *
 * Here the end is written again, for as long as a lease. A second one does no harm: only who holds the job can end it.
 */
export class SteadyWorker extends Worker<JobData, JobAnswer> {
  /** What cannot be written at last is nobody's failure: the hold runs out, and another worker finds the job. */
  protected override async handleCompleted(
    answer: JobAnswer,
    job: StoredJob,
    token: string,
    fetchNext?: () => boolean,
  ): Promise<StoredJob> {
    const ending = new Ending(this.opts.lockDuration, (error) => this.emit("error", error));
    for (;;) {
      try {
        return await super.handleCompleted(answer, job, token, fetchNext);
      } catch (thrown) {
        if (isRefusal(thrown) && ending.wasTried && (await job.isCompleted())) return this.#tellCompleted(job, answer);
        if (isRefusal(thrown)) throw thrown;
        if (!(await ending.maybeAgain(thrown))) throw new DelayedError();
      }
    }
  }

  protected override async handleFailed(error: Error, job: StoredJob, token: string, fetchNext?: () => boolean): Promise<StoredJob> {
    if (error instanceof DelayedError || error instanceof WaitingError) return super.handleFailed(error, job, token, fetchNext);
    const ending = new Ending(this.opts.lockDuration, (trouble) => this.emit("error", trouble));
    for (;;) {
      try {
        return await super.handleFailed(error, job, token, fetchNext);
      } catch (thrown) {
        if (isRefusal(thrown) || !(await ending.maybeAgain(thrown))) throw thrown;
      }
    }
  }

  /** It was written the first time, and only the answer was lost. No next job came with it. */
  #tellCompleted(job: StoredJob, answer: JobAnswer): StoredJob {
    this.emit("completed", job, answer, "active");
    const nextJob: unknown = undefined;
    return nextJob as StoredJob; // the type that BullMQ has for it, where it means this as well
  }
}

/** The tries to write one job's end. */
class Ending {
  readonly #deadline: number;
  readonly #tell: (error: Error) => void;
  #wasTried = false;

  constructor(leaseMs: number = 30_000, tell: (error: Error) => void) {
    this.#deadline = systemClock.now() + leaseMs;
    this.#tell = tell;
  }

  /** Has one failed, so that it may have taken effect all the same? */
  get wasTried(): boolean {
    return this.#wasTried;
  }

  /** Waits a little, and tells whether there is time for one more. */
  async maybeAgain(thrown: unknown): Promise<boolean> {
    if (!this.#wasTried) this.#tell(toError(thrown));
    this.#wasTried = true;
    if (systemClock.now() >= this.#deadline) return false;
    await new Promise<void>((resolve) => systemClock.timer(PAUSE_MS, resolve));
    return true;
  }
}

/** The storage was asked and has said no: BullMQ's own errors have a number below 0. */
function isRefusal(thrown: unknown): boolean {
  const code: unknown = typeof thrown === "object" && thrown !== null && "code" in thrown ? thrown.code : undefined;
  return typeof code === "number" && code < 0;
}
