import { AsyncResource } from "node:async_hooks";
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
} from "../queue/port.js";
import { toError } from "../support/thrown.js";
import { Calls } from "./calls.js";
import { cancelJob } from "./cancel.js";
import { enqueueJobs } from "./enqueue.js";
import { checkForWorkers, settingsOf, type BullmqOptions, type Settings } from "./options.js";
import { readDead, readRecord, waitForEnd } from "./read.js";
import { Retention } from "./retention.js";
import { endSchedule, listSchedules, putSchedule } from "./schedules.js";
import { letGo, openQueue, queueNameOf, within, type BullQueue } from "./storage.js";
import { hasEnded } from "./stored-job.js";
import { BullmqWorker } from "./worker.js";

/**
 * Jobs that outlive the process and are shared by many, on BullMQ, in Redis or PostgreSQL. Each namespace is one queue of BullMQ.
 *
 * ```ts
 * const queue = new Queue({ engine: bullmqEngine({ connection: "redis://127.0.0.1:6379" }), namespace: "billing" });
 * ```
 *
 * @throws {DefinitionError} for options that cannot be meant.
 */
export function bullmqEngine(options: BullmqOptions): EngineSource {
  const settings = settingsOf(options);
  return (namespace) => new BullmqEngine(queueNameOf(namespace), settings);
}

class BullmqEngine implements Engine {
  readonly name = "bullmq";
  readonly capabilities: EngineCapabilities;
  readonly #queueName: string;
  readonly #settings: Settings;
  readonly #calls: Calls;
  readonly #retention = new Retention();
  readonly #workers = new Set<BullmqWorker>();
  /** As the engine was made, and not as its first call is: a connection belongs to nobody's run. */
  readonly #open = AsyncResource.bind(() => openQueue(this.#queueName, this.#settings));
  #opened: BullQueue | undefined;

  constructor(queueName: string, settings: Settings) {
    const { backend, timeLimitMs } = settings;
    this.#queueName = queueName;
    this.#settings = settings;
    this.#calls = new Calls(backend === "redis" ? "Redis" : "PostgreSQL", timeLimitMs);
    this.capabilities = Object.freeze({ durable: true, multiProcess: true, atomicBatch: backend === "postgres", holdsKeys: true });
  }

  enqueue(jobs: readonly EngineJob[]): Promise<readonly Receipt[]> {
    if (jobs.length === 0) return Promise.resolve([]);
    const what = jobs.length === 1 ? `To enqueue ${jobs[0]?.task}` : `To enqueue ${jobs.length} jobs`;
    const call = async (): Promise<readonly Receipt[]> => {
      await this.#retention.announce(() => this.#queue.getBackend(), jobs);
      return enqueueJobs(this.#queue, jobs, { heal: this.#settings.backend === "postgres" });
    };
    return this.#calls.make(what, "enqueue", call, idsOf(jobs));
  }

  get(id: string): Promise<JobRecord | undefined> {
    return this.#calls.make(`To read job ${id}`, "read", () => readRecord(this.#queue, id));
  }

  holder(key: string): Promise<string | undefined> {
    return this.#calls.make("To ask who holds a key", "read", async () => {
      const id = await this.#queue.getDeduplicationJobId(key);
      const record = id === null ? undefined : await readRecord(this.#queue, id);
      return record === undefined || hasEnded(record.state) ? undefined : record.id;
    });
  }

  settled(id: string, { timeoutMs }: { readonly timeoutMs: number }): Promise<JobRecord | undefined> {
    return waitForEnd((read) => this.#calls.make(`To read job ${id}`, "read", () => read(this.#queue, id)), timeoutMs);
  }

  cancel(id: string): Promise<"cancelled" | "requested" | "finished" | "unknown"> {
    const tell = (): void => {
      for (const worker of this.#workers) worker.cancel(id);
    };
    return this.#calls.make(`To cancel job ${id}`, "write", () => cancelJob(this.#queue, id, tell));
  }

  dead({ limit, offset }: { readonly limit: number; readonly offset: number }): Promise<readonly JobRecord[]> {
    return this.#calls.make("To list dead jobs", "read", () => readDead(this.#queue, limit, offset));
  }

  forget(id: string): Promise<boolean> {
    return this.#calls.make(`To forget job ${id}`, "write", async () => {
      const record = await readRecord(this.#queue, id);
      if (record === undefined || !hasEnded(record.state)) return false;
      return (await this.#queue.remove(id)) === 1;
    });
  }

  schedule(schedule: EngineSchedule): Promise<void> {
    return this.#calls.make(`To keep the schedule ${schedule.name}`, "write", async () => {
      await this.#retention.announce(() => this.#queue.getBackend(), [schedule]);
      await putSchedule(this.#queue, schedule);
    });
  }

  unschedule(name: string): Promise<boolean> {
    return this.#calls.make(`To end the schedule ${name}`, "write", () => endSchedule(this.#queue, name));
  }

  schedules(): Promise<readonly EngineSchedule[]> {
    return this.#calls.make("To list schedules", "read", () => listSchedules(this.#queue));
  }

  async work(handler: Handler, { concurrency }: { readonly concurrency: number }): Promise<EngineWorker> {
    checkForWorkers(this.#settings);
    const worker = new BullmqWorker({
      queueName: this.#queueName,
      settings: this.#settings,
      calls: this.#calls,
      retention: this.#retention,
      handler,
      concurrency,
      enqueue: (job) => this.enqueue([job]),
      onStopped: () => this.#workers.delete(worker),
    });
    this.#workers.add(worker);
    await worker.start();
    return worker;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#workers].map((worker) => worker.stop({ graceMs: 0 })));
    const queue = this.#opened;
    if (queue === undefined) return;
    if (!(await within(queue.close(), this.#calls.limitMs))) await letGo(queue, this.#calls.limitMs);
  }

  /** Opened at first use: it begins to connect at once. */
  get #queue(): BullQueue {
    if (this.#opened === undefined) {
      this.#opened = this.#open();
      this.#opened.on("error", (error) => this.#calls.complained(toError(error)));
      if (this.#settings.backend === "postgres") void this.#replaceUnready(this.#opened);
    }
    return this.#opened;
  }

  /** A queue on PostgreSQL that could not be made ready at first never will be: the next call opens another. */
  async #replaceUnready(queue: BullQueue): Promise<void> {
    try {
      await queue.waitUntilReady();
    } catch {
      if (this.#opened === queue) this.#opened = undefined;
      await letGo(queue, this.#calls.limitMs);
    }
  }
}

function idsOf(jobs: readonly EngineJob[]): readonly string[] {
  return jobs.map(({ id }) => id);
}
