import { ok } from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { Attempt, Engine, EngineJob, JobOptions, JobRecord, JobState, Receipt, Verdict } from "../../queue/port.js";
import { systemClock } from "../../support/clock.js";
import type { ManualClock } from "../manual-clock.js";
import { BenchWorker } from "./bench-worker.js";

/** One promise of an engine, and how it is put to the test. */
export interface EngineCase {
  readonly name: string;
  /** Only for engines whose storage is shared. */
  readonly needs?: "peer";
  run(bench: EngineBench): Promise<void>;
}

/** How time is let pass while something is waited for. */
const STEP_MS = 5;

export const DEFAULTS: JobOptions = {
  delayMs: 0,
  priority: 0,
  attempts: 1,
  backoff: { type: "fixed", delayMs: 0 },
  keepMs: { completed: 600_000, dead: 600_000 },
};

interface JobParts {
  readonly id?: string;
  readonly task?: string;
  readonly payload?: string;
  readonly key?: string;
  readonly options?: Partial<JobOptions>;
}

interface BenchParts {
  readonly open: (namespace: string) => Engine;
  readonly openPeer: (namespace: string) => Engine;
  readonly clock: ManualClock | undefined;
  readonly patienceMs: number;
  readonly equal: (actual: unknown, expected: unknown) => void;
}

/** What a case works with: an engine in an empty namespace, jobs, workers, and time. */
export class EngineBench {
  readonly engine: Engine;
  readonly #parts: BenchParts;
  readonly #namespace = `contract-${randomUUID()}`;
  readonly #workers: BenchWorker[] = [];
  #peer: Engine | undefined;
  #jobs = 0;

  constructor(parts: BenchParts) {
    this.#parts = parts;
    this.engine = parts.open(this.#namespace);
  }

  /** Another engine on the same jobs. */
  get peer(): Engine {
    return (this.#peer ??= this.#parts.openPeer(this.#namespace));
  }

  /** An engine of another namespace. */
  elsewhere(): Engine {
    return this.#parts.open(`contract-${randomUUID()}`);
  }

  /** A job with an id of its own. */
  job({ id = randomUUID(), task = "Task", payload = `payload ${(this.#jobs += 1)}`, key, options }: JobParts = {}): EngineJob {
    return { id, task, payload, ...(key !== undefined && { key }), options: { ...DEFAULTS, ...options } };
  }

  async enqueue(job: EngineJob, engine: Engine = this.engine): Promise<Receipt> {
    const [receipt, ...more] = await engine.enqueue([job]);
    ok(receipt !== undefined && more.length === 0, "an enqueue of one job has one receipt");
    return receipt;
  }

  /** Enqueues a job that nothing stands in the way of. */
  async enqueued(parts: JobParts = {}, engine: Engine = this.engine): Promise<EngineJob> {
    const job = this.job(parts);
    this.fresh(await this.enqueue(job, engine), job);
    return job;
  }

  /** A worker that answers each attempt as it is told; it completes them unless told otherwise. */
  async work(
    answer: (attempt: Attempt) => Verdict | Promise<Verdict> = completed,
    { concurrency = 10, engine = this.engine }: { concurrency?: number; engine?: Engine } = {},
  ): Promise<BenchWorker> {
    const worker = new BenchWorker(answer, () => this.now());
    await worker.open(engine, concurrency);
    this.#workers.push(worker);
    return worker;
  }

  /** A worker and a job that runs on it until `finish` is called. */
  async running(parts: JobParts = {}): Promise<{ job: EngineJob; worker: BenchWorker; finish: (verdict?: Verdict) => void }> {
    let finish: (verdict?: Verdict) => void = () => {};
    const verdict = new Promise<Verdict>((resolve) => (finish = (verdict = completed()) => resolve(verdict)));
    const job = await this.enqueued(parts);
    const worker = await this.work((attempt) => (attempt.id === job.id ? verdict : completed()));
    await this.eventually("the job to run", () => worker.attemptsOf(job.id).length === 1);
    return { job, worker, finish };
  }

  /** The job was kept, under its own id. */
  fresh(receipt: Receipt | undefined, { id }: EngineJob): void {
    this.equal(receipt, { id, coalesced: false });
  }

  /** The job resolved to another. */
  coalesced(receipt: Receipt | undefined, holder: { readonly id: string }): void {
    this.equal(receipt, { id: holder.id, coalesced: true });
  }

  /** The job comes to that state. */
  async becomes(id: string, state: JobState, engine: Engine = this.engine): Promise<JobRecord> {
    return this.eventually(`job ${id} to be ${state}`, async () => {
      const record = await engine.get(id);
      return record?.state === state ? record : undefined;
    });
  }

  /** Waits for what must come, and gives it. */
  async eventually<T>(what: string, look: () => T | Promise<T>): Promise<NonNullable<Exclude<T, false>>> {
    const deadline = this.now() + this.#parts.patienceMs;
    for (;;) {
      const found = await look();
      // What is neither absent nor false is what was waited for.
      if (found !== undefined && found !== null && found !== false) return found as NonNullable<Exclude<T, false>>;
      ok(this.now() < deadline, `waited in vain for ${what}`);
      await this.pass(STEP_MS);
    }
  }

  /** Lets time pass. */
  pass(ms: number): Promise<void> {
    const { clock } = this.#parts;
    return clock === undefined ? new Promise((resolve) => systemClock.timer(ms, resolve)) : clock.advance(ms);
  }

  /** Lets time pass until the promise has settled. */
  async passingTime<T>(promise: Promise<T>): Promise<T> {
    let settled = false;
    const watched = promise.finally(() => (settled = true));
    watched.catch(() => {}); // it is awaited below
    while (!settled && this.#parts.clock !== undefined) await this.pass(STEP_MS);
    return watched;
  }

  now(): number {
    return (this.#parts.clock ?? systemClock).now();
  }

  epoch(): number {
    return (this.#parts.clock ?? systemClock).epoch();
  }

  equal(actual: unknown, expected: unknown): void {
    this.#parts.equal(actual, expected);
  }

  holds(condition: boolean, promise: string): void {
    ok(condition, promise);
  }

  /** The end of the case: no worker is left. */
  async end(): Promise<void> {
    for (const worker of this.#workers) await this.passingTime(worker.stop());
  }
}

export function completed(): Verdict {
  return { kind: "completed", answer: "done" };
}

export function failed({ retry = true }: { retry?: boolean } = {}): Verdict {
  return { kind: "failed", answer: "why not", reason: "it did not work", retry };
}

/** A point in the work of a job at which it stands until it is let go on. */
export function gate(): { readonly passed: Promise<void>; readonly open: () => void } {
  let open = (): void => {};
  const passed = new Promise<void>((resolve) => (open = resolve));
  return { passed, open: () => open() };
}
