import { configuration } from "../../task/configuration.js";
import type {
  Engine,
  EngineCapabilities,
  EngineJob,
  EngineSchedule,
  EngineSource,
  EngineWorker,
  Handler,
  JobRecord,
  Receipt,
  Verdict,
} from "../port.js";

/** How many ended jobs it remembers, for those who ask for a result. */
const REMEMBERED = 1_000;

/**
 * For tests of code that enqueues: a job runs within the enqueue itself, once, whatever its delay and attempts, and the enqueue answers
 * when it has ended. There is no storage, so keys hold nothing: no two calls are ever one job. Schedules never tick.
 */
export function inlineEngine(): EngineSource {
  return () => new InlineEngine();
}

class InlineEngine implements Engine {
  readonly name = "inline";
  readonly capabilities: EngineCapabilities = Object.freeze({ durable: false, multiProcess: false, atomicBatch: false, holdsKeys: false });
  readonly #ended = new Map<string, JobRecord>();
  readonly #running = new Map<string, AbortController>();
  readonly #schedules = new Map<string, EngineSchedule>();
  #handler: Handler | undefined;

  readonly runsWith = (handler: Handler): void => {
    this.#handler = handler;
  };

  async enqueue(jobs: readonly EngineJob[]): Promise<readonly Receipt[]> {
    for (const job of jobs) {
      if (!this.#ended.has(job.id) && !this.#running.has(job.id)) await this.#runJob(job);
    }
    return jobs.map(({ id }) => ({ id, coalesced: false }));
  }

  async get(id: string): Promise<JobRecord | undefined> {
    return this.#ended.get(id);
  }

  async holder(): Promise<undefined> {
    return undefined;
  }

  settled(id: string): Promise<JobRecord | undefined> {
    return this.get(id);
  }

  async cancel(id: string): Promise<"requested" | "finished" | "unknown"> {
    this.#running.get(id)?.abort("cancelled");
    if (this.#running.has(id)) return "requested";
    return this.#ended.has(id) ? "finished" : "unknown";
  }

  async dead({ limit, offset }: { readonly limit: number; readonly offset: number }): Promise<readonly JobRecord[]> {
    return [...this.#ended.values()]
      .filter(({ state }) => state === "dead")
      .toReversed()
      .slice(offset, offset + limit);
  }

  async forget(id: string): Promise<boolean> {
    return this.#ended.delete(id);
  }

  async schedule(schedule: EngineSchedule): Promise<void> {
    this.#schedules.set(schedule.name, schedule);
  }

  async unschedule(name: string): Promise<boolean> {
    return this.#schedules.delete(name);
  }

  async schedules(): Promise<readonly EngineSchedule[]> {
    return [...this.#schedules.values()];
  }

  /** Nothing waits here for a worker. */
  async work(): Promise<EngineWorker> {
    return { stop: async () => undefined };
  }

  async close(): Promise<void> {
    this.#ended.clear();
    this.#schedules.clear();
  }

  async #runJob(job: EngineJob): Promise<void> {
    const { id, task, payload, key, options } = job;
    if (this.#handler === undefined) throw new Error("The inline engine was not told who runs its jobs");
    const controller = new AbortController();
    const enqueuedAt = configuration.clock.epoch();
    let progress = 0;
    const tell = async (percent: number): Promise<void> => void (progress = percent);
    this.#running.set(id, controller);
    const attempt = { id, task, payload, key, options, attempt: 1, signal: controller.signal, progress: tell };
    const verdict = await this.#handler.run(attempt);
    this.#running.delete(id);
    const end = endOf(verdict);
    this.#remember({
      ...{ id, task, payload, key, options, attempts: 1, progress, enqueuedAt },
      ...end,
      endedAt: configuration.clock.epoch(),
    });
    const { state, reason = "" } = end;
    this.#handler.became({ id, task, attempt: 1 }, state === "dead" ? { state, reason } : { state });
  }

  #remember(record: JobRecord): void {
    this.#ended.set(record.id, Object.freeze(record));
    const [oldest] = this.#ended.keys();
    if (this.#ended.size > REMEMBERED && oldest !== undefined) this.#ended.delete(oldest);
  }
}

/** There is no later here: what was handed back, or is to be tried again, has failed. */
function endOf(verdict: Verdict): Pick<JobRecord, "answer" | "reason"> & { readonly state: "completed" | "dead" | "cancelled" } {
  switch (verdict.kind) {
    case "completed":
      return { state: "completed", answer: verdict.answer, reason: undefined };
    case "cancelled":
      return { state: "cancelled", answer: verdict.answer, reason: undefined };
    case "failed":
      return { state: "dead", answer: verdict.answer, reason: verdict.reason };
    case "handed_back":
      return {
        state: "dead",
        answer: undefined,
        reason: "It was to be tried later, and the inline engine runs jobs at once or not at all",
      };
  }
}
