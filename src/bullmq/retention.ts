import { systemClock } from "../support/clock.js";
import type { JobOptions, JobRecord } from "../queue/port.js";
import type { IQueueBackend } from "./driver.js";
import { hasEnded } from "./stored-job.js";

/** No finished job goes sooner, so that who waits for it finds it, and so that no worker acts on what it has not heard of yet. */
const LEAST_S = 60;
/** Shorter than the above by far. */
export const REFRESH_MS = 20_000;
const FIELD = /^taskwright:keep:(completed|failed):(\d+)$/;

type Kept = "completed" | "failed";

/**
 * How long finished jobs are stored. BullMQ removes, whenever a job finishes, all that finished longer ago than that one job wants
 * to be kept: a job with a short memory would take those with a long one along. So every worker goes by the longest time in use,
 * which is noted with the queue, and who asks for a job is told nothing of one whose own time is up.
 */
export class Retention {
  readonly #longest: Record<Kept, number> = { completed: LEAST_S, failed: LEAST_S };

  /** Notes the times of jobs that are about to be enqueued; nearly always they are known. */
  async announce(backend: () => IQueueBackend, jobs: readonly { readonly options: JobOptions }[]): Promise<void> {
    const before = { ...this.#longest };
    for (const { options } of jobs) this.#learn(options);
    const { completed, failed } = this.#longest;
    const news: Record<string, number> = {};
    if (completed > before.completed) news[`taskwright:keep:completed:${completed}`] = 1;
    if (failed > before.failed) news[`taskwright:keep:failed:${failed}`] = 1;
    if (Object.keys(news).length === 0) return;
    try {
      await backend().setQueueMeta(news);
    } catch (error) {
      Object.assign(this.#longest, before);
      throw error;
    }
  }

  /** Learns what others have noted. */
  async refresh(backend: IQueueBackend): Promise<void> {
    for (const field of Object.keys(await backend.getQueueMeta())) {
      const [, kept, seconds] = FIELD.exec(field) ?? [];
      if (kept === "completed" || kept === "failed") this.#longest[kept] = Math.max(this.#longest[kept], Number(seconds));
    }
  }

  /** How long, in seconds, finished jobs are to be stored from now on. The job that is about to finish is among them. */
  agesWith(options: JobOptions): Readonly<Record<Kept, number>> {
    this.#learn(options);
    return this.#longest;
  }

  #learn({ keepMs }: JobOptions): void {
    const completed = Math.ceil(keepMs.completed / 1_000);
    this.#longest.completed = Math.max(this.#longest.completed, completed);
    // Cancelled jobs stand among the failed ones, and are remembered like completed ones.
    this.#longest.failed = Math.max(this.#longest.failed, completed, Math.ceil(keepMs.dead / 1_000));
  }
}

/** How long a job is to be remembered after its end. */
export function keepMsOf({ state, options }: JobRecord): number {
  return state === "dead" ? options.keepMs.dead : options.keepMs.completed;
}

/** Is its time up? */
export function isForgotten(record: JobRecord): boolean {
  return hasEnded(record.state) && (record.endedAt ?? 0) + keepMsOf(record) <= systemClock.epoch();
}

/** How long the record of a cancelled job is stored. */
export function storedMsOf(record: JobRecord): number {
  return Math.max(LEAST_S * 1_000, keepMsOf(record));
}
