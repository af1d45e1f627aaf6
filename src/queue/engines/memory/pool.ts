import { AsyncResource } from "node:async_hooks";
import PQueue from "p-queue";
import type { Clock } from "../../../support/clock.js";
import type { EngineWorker, Handler } from "../../port.js";
import type { MemoryJob } from "./job.js";

/** One attempt that has a job. What it says counts only as long as the job names it. */
export interface Hold {
  readonly controller: AbortController;
  readonly handler: Handler;
  /** Was the job cancelled while it ran? */
  cancelRequested: boolean;
  /** Resolves when nobody waits for its verdict any more. */
  readonly abandoned: Promise<void>;
}

/** Makes the attempt, and does with the job what follows from it. Never rejects. */
type Perform = (job: MemoryJob, hold: Hold) => Promise<void>;

/** How long work that was told to stop may take to say so, in milliseconds. */
const ANSWER_MS = 1_000;

/** The workers of an engine, and the jobs that wait for one: by priority, then in order of coming. */
export class Pool {
  readonly #clock: Clock;
  readonly #perform: Perform;
  readonly #ready = new PQueue({ concurrency: 1, autoStart: false });
  readonly #workers = new Set<MemoryWorker>();
  /** A job belongs to nobody's run, also when one has enqueued it. */
  readonly #nobody = new AsyncResource("TaskwrightWorker", { requireManualDestroy: true });

  constructor(clock: Clock, perform: Perform) {
    this.#clock = clock;
    this.#perform = perform;
  }

  get hasWorkers(): boolean {
    return this.#workers.size > 0;
  }

  /** Hands the job to a worker as soon as one is free. */
  add(job: MemoryJob): void {
    const { priority } = job.options;
    void this.#ready.add(() => this.#nobody.runInAsyncScope(() => this.#take(job)), { priority });
  }

  open(handler: Handler, concurrency: number, onStopped: () => void): MemoryWorker {
    const worker = new MemoryWorker(this.#clock, handler, concurrency, {
      resize: () => this.#resize(),
      stopped: () => {
        this.#workers.delete(worker);
        this.#resize();
        onStopped();
      },
    });
    this.#workers.add(worker);
    this.#resize();
    return worker;
  }

  async stopAll(): Promise<void> {
    await Promise.all([...this.#workers].map((worker) => worker.stop({ graceMs: 0 })));
  }

  async #take(job: MemoryJob): Promise<void> {
    await Promise.resolve(); // whoever enqueued the job hears of that first
    if (job.state !== "pending") return; // cancelled while it was waiting
    const worker = [...this.#workers].find((candidate) => candidate.isFree);
    if (worker === undefined) return this.add(job); // the worker stopped just now
    // To the end of the line: a job that this one hands back goes to another next time.
    this.#workers.delete(worker);
    this.#workers.add(worker);
    await worker.run((hold) => this.#perform(job, hold));
  }

  /** As many at once as all workers allow, those included that a stopping worker still has under way. */
  #resize(): void {
    const capacity = [...this.#workers].reduce((sum, worker) => sum + worker.capacity, 0);
    if (capacity === 0) return this.#ready.pause();
    this.#ready.concurrency = capacity;
    this.#ready.start();
  }
}

class MemoryWorker implements EngineWorker {
  readonly #clock: Clock;
  readonly #handler: Handler;
  readonly #concurrency: number;
  readonly #pool: { resize(): void; stopped(): void };
  readonly #running = new Map<Promise<void>, { readonly hold: Hold; readonly abandon: () => void }>();
  #stopping: Promise<void> | undefined;

  constructor(clock: Clock, handler: Handler, concurrency: number, pool: { resize(): void; stopped(): void }) {
    this.#clock = clock;
    this.#handler = handler;
    this.#concurrency = concurrency;
    this.#pool = pool;
  }

  get isFree(): boolean {
    return this.#stopping === undefined && this.#running.size < this.#concurrency;
  }

  get capacity(): number {
    return this.#stopping === undefined ? this.#concurrency : this.#running.size;
  }

  async run(perform: (hold: Hold) => Promise<void>): Promise<void> {
    let abandon = (): void => undefined;
    const abandoned = new Promise<void>((resolve) => (abandon = resolve));
    const hold: Hold = { controller: new AbortController(), handler: this.#handler, cancelRequested: false, abandoned };
    const attempt = perform(hold);
    this.#running.set(attempt, { hold, abandon });
    await attempt;
    this.#running.delete(attempt);
    if (this.#stopping !== undefined) this.#pool.resize();
  }

  stop({ graceMs }: { readonly graceMs: number }): Promise<void> {
    return (this.#stopping ??= this.#stop(graceMs));
  }

  async #stop(graceMs: number): Promise<void> {
    await Promise.resolve(); // from here on it counts as stopping
    this.#pool.resize();
    await this.#atRest(graceMs);
    for (const { hold } of this.#running.values()) hold.controller.abort("stopped");
    await this.#atRest(ANSWER_MS);
    for (const { abandon } of this.#running.values()) abandon();
    await Promise.all(this.#running.keys());
    this.#pool.stopped();
  }

  /** Resolves when nothing runs any more, but no later than that. */
  #atRest(ms: number): Promise<void> {
    if (this.#running.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const off = this.#clock.timer(ms, resolve);
      void Promise.all(this.#running.keys()).then(() => {
        off();
        resolve();
      });
    });
  }
}
