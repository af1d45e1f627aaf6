import type { Clock } from "../../../support/clock.js";
import { messageOf, toError } from "../../../support/thrown.js";
import { uuidv7 } from "../../../support/uuid.js";
import { configuration } from "../../../task/configuration.js";
import type {
  Attempt,
  Ending,
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
} from "../../port.js";
import { MemoryJob } from "./job.js";
import { Pool, type Hold } from "./pool.js";
import { Schedules } from "./schedules.js";
import { Timeline } from "./timeline.js";

/**
 * Jobs in this process alone, on `p-queue`: for development, for tests, and for work that may be lost with the process. Queues that are
 * given the same engine and namespace share their jobs. Time comes from `config.clock`.
 *
 * Nothing of it keeps a process alive, but for jobs and schedules that a worker is there for.
 */
export function memoryEngine(): EngineSource {
  const engines = new Map<string, MemoryEngine>();
  return (namespace) => {
    const known = engines.get(namespace);
    const engine = known ?? new MemoryEngine(configuration.clock, () => engines.delete(namespace));
    engines.set(namespace, engine);
    return engine.share();
  };
}

class MemoryEngine implements Engine {
  readonly name = "memory";
  readonly capabilities: EngineCapabilities = Object.freeze({ durable: false, multiProcess: false, atomicBatch: true, holdsKeys: true });
  readonly #clock: Clock;
  readonly #onClosed: () => void;
  readonly #jobs = new Map<string, MemoryJob>();
  /** Which job holds a key. */
  readonly #holders = new Map<string, MemoryJob>();
  readonly #dead = new Set<MemoryJob>();
  readonly #delayed: Timeline<MemoryJob>;
  readonly #ended: Timeline<MemoryJob>;
  readonly #schedules: Schedules;
  readonly #pool: Pool;
  #users = 0;

  constructor(clock: Clock, onClosed: () => void) {
    this.#clock = clock;
    this.#onClosed = onClosed;
    this.#delayed = new Timeline<MemoryJob>(clock, (job) => this.#makeReady(job));
    this.#ended = new Timeline<MemoryJob>(clock, (job) => this.#drop(job));
    this.#schedules = new Schedules(clock, (schedule) => this.#tick(schedule));
    this.#pool = new Pool(clock, (job, hold) => this.#perform(job, hold));
  }

  /** One more queue uses the engine; it ends with the last of them. */
  share(): this {
    this.#users += 1;
    return this;
  }

  // The promise interface stands for storage that is far away. In here each method is one step, and so atomic.

  async enqueue(jobs: readonly EngineJob[]): Promise<readonly Receipt[]> {
    return jobs.map((job) => this.#keep(job));
  }

  async get(id: string): Promise<JobRecord | undefined> {
    return this.#jobs.get(id)?.record;
  }

  async holder(key: string): Promise<string | undefined> {
    return this.#holders.get(key)?.id;
  }

  async settled(id: string, { timeoutMs }: { readonly timeoutMs: number }): Promise<JobRecord | undefined> {
    const job = this.#jobs.get(id);
    if (job === undefined || job.hasEnded) return job?.record;
    return new Promise((resolve) => {
      const answer = (record?: JobRecord): void => {
        job.waiters.delete(answer);
        off();
        resolve(record);
      };
      job.waiters.add(answer);
      const off = this.#clock.timer(timeoutMs, () => answer());
    });
  }

  async cancel(id: string): Promise<"cancelled" | "requested" | "finished" | "unknown"> {
    const job = this.#jobs.get(id);
    if (job === undefined) return "unknown";
    if (job.hold !== undefined) {
      job.hold.cancelRequested = true;
      job.hold.controller.abort("cancelled");
      return "requested";
    }
    if (job.hasEnded) return "finished";
    this.#end(job, "cancelled");
    return "cancelled";
  }

  async dead({ limit, offset }: { readonly limit: number; readonly offset: number }): Promise<readonly JobRecord[]> {
    const latestFirst = [...this.#dead].toReversed();
    return latestFirst.slice(offset, offset + limit).map(({ record }) => record);
  }

  async forget(id: string): Promise<boolean> {
    const job = this.#jobs.get(id);
    if (job === undefined || !job.hasEnded) return false;
    this.#drop(job);
    return true;
  }

  async schedule(schedule: EngineSchedule): Promise<void> {
    this.#schedules.set(schedule);
  }

  async unschedule(name: string): Promise<boolean> {
    return this.#schedules.delete(name);
  }

  async schedules(): Promise<readonly EngineSchedule[]> {
    return this.#schedules.all();
  }

  async work(handler: Handler, { concurrency }: { readonly concurrency: number }): Promise<EngineWorker> {
    const worker = this.#pool.open(handler, concurrency, () => this.#keepAlive());
    this.#keepAlive();
    return worker;
  }

  async close(): Promise<void> {
    this.#users -= 1;
    if (this.#users > 0) return;
    await this.#pool.stopAll();
    this.#delayed.clear();
    this.#ended.clear();
    this.#schedules.clear();
    this.#onClosed();
  }

  #keep(job: EngineJob): Receipt {
    if (this.#jobs.has(job.id)) return { id: job.id, coalesced: false };
    const holder = job.key === undefined ? undefined : this.#holders.get(job.key);
    if (holder !== undefined) return { id: holder.id, coalesced: true };
    const kept = new MemoryJob(job, this.#clock);
    this.#jobs.set(kept.id, kept);
    if (kept.key !== undefined) this.#holders.set(kept.key, kept);
    this.#makePending(kept, job.options.delayMs);
    return { id: kept.id, coalesced: false };
  }

  #makePending(job: MemoryJob, delayMs: number): void {
    job.state = "pending";
    if (delayMs > 0) job.mark = this.#delayed.add(this.#clock.now() + delayMs, job);
    else this.#makeReady(job);
  }

  #makeReady(job: MemoryJob): void {
    job.mark = undefined;
    this.#pool.add(job);
  }

  async #perform(job: MemoryJob, hold: Hold): Promise<void> {
    job.state = "running";
    job.hold = hold;
    job.attempts += 1;
    job.progress = 0;
    const verdict = await Promise.race([this.#attempt(job, hold), hold.abandoned]);
    // From here on, what this attempt still does or says is not the job's any more.
    job.hold = undefined;
    if (verdict !== undefined) this.#conclude(job, hold, verdict);
    else if (hold.cancelRequested) this.#end(job, "cancelled");
    else this.#makePending(job, 0);
  }

  async #attempt(job: MemoryJob, hold: Hold): Promise<Verdict> {
    const { id, task, payload, key, options, attempts } = job;
    const progress = async (percent: number): Promise<void> => {
      if (job.hold === hold) job.progress = percent;
    };
    const attempt: Attempt = { id, task, payload, key, options, attempt: attempts, signal: hold.controller.signal, progress };
    try {
      return await hold.handler.run(attempt);
    } catch (thrown) {
      return { kind: "failed", answer: "", reason: messageOf(toError(thrown)), retry: true }; // a handler that breaks its word
    }
  }

  #conclude(job: MemoryJob, hold: Hold, verdict: Verdict): void {
    const { id, task, attempts: attempt } = job;
    if (verdict.kind !== "handed_back") job.answer = verdict.answer;
    const ending = this.#follow(job, hold, verdict);
    if (ending !== undefined) hold.handler.became({ id, task, attempt }, ending);
  }

  /** Does what the verdict says, and tells what the job became; nothing of one that was handed back. */
  #follow(job: MemoryJob, hold: Hold, verdict: Verdict): Ending | undefined {
    switch (verdict.kind) {
      case "completed":
      case "cancelled":
        return this.#end(job, verdict.kind);
      case "handed_back":
        if (hold.cancelRequested) return this.#end(job, "cancelled");
        job.attempts -= 1;
        this.#makePending(job, verdict.delayMs);
        return undefined;
      case "failed": {
        const { reason, retry } = verdict;
        job.failures += 1;
        if (!retry || job.failures >= job.options.attempts) return this.#die(job, reason);
        if (hold.cancelRequested) return this.#end(job, "cancelled");
        const delayMs = job.backoffMs;
        this.#makePending(job, delayMs);
        return { state: "pending", delayMs };
      }
    }
  }

  #die(job: MemoryJob, reason: string): Ending {
    job.reason = reason;
    this.#dead.add(job);
    this.#end(job, "dead");
    return { state: "dead", reason };
  }

  /** In one step: the job has ended, and its key is free. */
  #end<State extends "completed" | "dead" | "cancelled">(job: MemoryJob, state: State): { readonly state: State } {
    if (job.mark !== undefined) this.#delayed.remove(job.mark);
    job.state = state;
    job.endedAt = this.#clock.epoch();
    if (job.key !== undefined) this.#holders.delete(job.key);
    const { record } = job;
    for (const answer of [...job.waiters]) answer(record);
    const keepMs = job.options.keepMs[state === "dead" ? "dead" : "completed"];
    if (keepMs > 0) job.mark = this.#ended.add(this.#clock.now() + keepMs, job);
    else this.#drop(job);
    return { state };
  }

  #drop(job: MemoryJob): void {
    if (job.mark !== undefined) this.#ended.remove(job.mark);
    this.#jobs.delete(job.id);
    this.#dead.delete(job);
  }

  #tick({ task, payload, key, options }: EngineSchedule): void {
    this.#keep({ id: uuidv7(this.#clock.epoch()), task, payload, key, options });
  }

  #keepAlive(): void {
    this.#delayed.keepAlive(this.#pool.hasWorkers);
    this.#schedules.keepAlive(this.#pool.hasWorkers);
  }
}
