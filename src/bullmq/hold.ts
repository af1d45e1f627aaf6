import type { Attempt } from "../queue/port.js";
import { attemptsOf, optionsOf, payloadOf, type JobData, type StoredJob } from "./stored-job.js";

/** A worker's hold on a job, for one attempt. */
export class Hold {
  readonly job: StoredJob;
  readonly token: string;
  readonly attempt: Attempt;
  /** Resolves when the job is not this worker's any more. */
  readonly lost: Promise<undefined>;
  readonly lose: () => void;
  readonly #controller = new AbortController();
  #cancelled = false;

  constructor(job: StoredJob, token: string) {
    this.job = job;
    this.token = token;
    let resolve: (nothing: undefined) => void;
    this.lost = new Promise((settle) => (resolve = settle));
    this.lose = () => {
      this.stop();
      resolve(undefined);
    };
    this.attempt = {
      id: job.id ?? "",
      task: job.name,
      payload: payloadOf(job),
      key: job.opts.deduplication?.id,
      options: optionsOf(job),
      attempt: attemptsOf(job, "running"),
      signal: this.#controller.signal,
      progress: (percent) => job.updateProgress(percent),
    };
  }

  get isCancelled(): boolean {
    return this.#cancelled;
  }

  get mayBeTriedAgain(): boolean {
    return this.job.attemptsMade + 1 < (this.job.opts.attempts ?? 1);
  }

  cancel(): void {
    this.#cancelled = true;
    this.#controller.abort("cancelled");
  }

  stop(): void {
    this.#controller.abort("stopped");
  }

  /** Looks whether the stored job was marked for cancellation meanwhile. */
  async askForMark(read: (id: string) => Promise<{ readonly data: string } | undefined>): Promise<void> {
    const stored = await read(this.attempt.id);
    if (stored === undefined) return;
    const data = JSON.parse(stored.data) as JobData; // written by `entryOf` and `cancelJob`
    if (data.cancel === true) this.cancel();
  }
}
