import { QueueClosedError } from "../errors.js";
import { checkInteger, checkOptions } from "../support/check.js";
import type { Awaitable } from "../support/and-then.js";
import { toMs } from "../support/duration.js";
import { uuidOf } from "../support/uuid.js";
import { outsideRuns } from "../task/chain.js";
import { configuration } from "../task/configuration.js";
import type { InputOf, ResultOf, TaskClass } from "../task/contract.js";
import { heard } from "../telemetry/emitter.js";
import { announceJob } from "./announce.js";
import { answerOf, readAnswer } from "./answer.js";
import type { BatchEntry, EnqueueArguments } from "./arguments.js";
import { EngineCalls } from "./engine-calls.js";
import { JobHandle, type CancelAnswer, type ResultOptions } from "./handle.js";
import { TaskHandler } from "./handler.js";
import { answerText, jobOf, type Job } from "./job.js";
import { Mismatches } from "./mismatch.js";
import { JOB_SETTINGS, type EnqueueOptions } from "./options.js";
import type { Origin } from "../task/origin.js";
import { originHere } from "./origin-here.js";
import { Outlines } from "./outline.js";
import type { Engine, EngineJob, EngineWorker, JobRecord, Receipt } from "./port.js";
import { Preparation, type Prepared } from "./prepare.js";
import { resolveQueueOptions, type QueueOptions } from "./queue-options.js";
import { checkScheduleName, parseTimes, scheduleOf, type Schedule, type ScheduleOptions } from "./schedule.js";
import { graceOf, tasksByName, Worker, type StopOptions, type WorkOptions } from "./worker.js";
import type { Wire } from "./wire.js";

const CALL_OPTIONS = ["uniqueKey", "idempotencyKey", "idempotent", ...JOB_SETTINGS];

/**
 * Tasks that run later, or elsewhere: `await queue.enqueue(ChargeCustomer, input, { uniqueKey })`, and in a worker
 * `await queue.work([ChargeCustomer])`. Calls with one key are one job for as long as that job is pending or running.
 */
export class Queue {
  readonly #engine: Engine;
  readonly #calls: EngineCalls;
  readonly #wire: Wire;
  readonly #outlines: Outlines;
  readonly #preparation: Preparation;
  readonly #mismatches: Mismatches;
  readonly #onError: (error: Error) => void;
  readonly #workers = new Set<Worker>();
  /** The tasks that this queue has heard of, by name. */
  readonly #known = new Map<string, TaskClass>();
  #closing: Promise<void> | undefined;

  /** @throws {DefinitionError} when an option is unknown or has the wrong shape. */
  constructor(options: QueueOptions = {}) {
    const { engine, namespace, wire, timeoutMs, defaults, onError } = resolveQueueOptions(options);
    this.#engine = outsideRuns(() => engine(namespace)); // its timers and connections belong to no run
    this.#calls = new EngineCalls(this.#engine, timeoutMs);
    this.#wire = wire;
    this.#outlines = new Outlines(defaults);
    this.#preparation = new Preparation(wire);
    this.#mismatches = new Mismatches(this.#calls, wire);
    this.#onError = onError;
    this.#engine.runsWith?.(new TaskHandler((name) => this.#known.get(name), wire, onError));
  }

  /**
   * Enqueues one job. A call whose key is held by a job that is pending or running resolves to that job, and changes nothing about it.
   *
   * @throws {InvalidInputError} when the input does not fit the task's schema.
   * @throws {UnserializableError} when the serializer cannot carry it.
   * @throws {KeyMismatchError} when the key is held by a job with another payload, and `onMismatch` is "reject".
   * @throws {QueueUnavailableError} when the engine could not be asked.
   * @throws {DefinitionError} for a programmer's mistake.
   */
  async enqueue<C extends TaskClass>(task: C, ...args: EnqueueArguments<C>): Promise<JobHandle<C>> {
    const [input, options = {}] = args;
    const owner = `enqueue(${this.#nameOf(task)})`;
    checkOptions(owner, options, ["id", ...CALL_OPTIONS]);
    const prepared = await this.#prepare(owner, task, input, options, originHere());
    const [receipt] = await this.#hand([prepared]);
    return this.#handle(task, receipt ?? { id: prepared.job.id, coalesced: false }); // one job, one receipt
  }

  /**
   * Enqueues many jobs of one task by one call of the engine, and answers in their order. Entries with one key are one job.
   *
   * @throws as `enqueue`. Nothing is enqueued when an entry is wrong; a mismatch with a job that is already there is found only afterwards.
   */
  async enqueueMany<C extends TaskClass>(task: C, entries: readonly BatchEntry<C>[]): Promise<readonly JobHandle<C>[]> {
    const owner = `enqueueMany(${this.#nameOf(task)})`;
    const origin = originHere();
    if (!Array.isArray(entries)) checkOptions(`${owner}: the entries`, [], []); // says what it takes
    const batch = await Promise.all(
      entries.map(async (entry: { readonly input?: InputOf<C> } & EnqueueOptions, at) => {
        checkOptions(`${owner}: entry ${at}`, entry, ["input", "id", ...CALL_OPTIONS]);
        const { input, ...options } = entry;
        return this.#prepare(`${owner}: entry ${at}`, task, input, options, origin);
      }),
    );
    const receipts = await this.#hand(batch);
    return receipts.map((receipt) => this.#handle(task, receipt));
  }

  /** Takes jobs of these tasks and runs them. */
  async work(tasks: readonly TaskClass[], options: WorkOptions = {}): Promise<Worker> {
    checkOptions("queue.work()", options, ["concurrency"]);
    const concurrency = checkInteger("queue.work(): concurrency", options.concurrency ?? 1, 1);
    const byName = tasksByName(tasks);
    this.#checkOpen();
    for (const [name, type] of byName) this.#known.set(name, type);
    const handler = new TaskHandler((name) => byName.get(name), this.#wire, this.#onError);
    const call = (engine: Engine): Promise<EngineWorker> => outsideRuns(() => engine.work(handler, { concurrency }));
    // Nobody would have a worker that comes too late.
    const late = (started: EngineWorker): void => void started.stop({ graceMs: 0 }).catch(this.#onError);
    const started = await this.#calls.ask({ what: "start a worker", late }, call).catch((thrown: unknown) => {
      this.#checkOpen(); // if the queue was closed meanwhile, that is why
      throw thrown;
    });
    const worker = new Worker(started, (stopped) => this.#workers.delete(stopped));
    if (this.#closing !== undefined) await worker.stop({ grace: 0 });
    this.#checkOpen();
    this.#workers.add(worker);
    return worker;
  }

  /** The job as it is now; undefined when there is none (any more). */
  async job(id: string): Promise<Job | undefined> {
    const record = await this.#record(id);
    return record === undefined ? undefined : jobOf(record, this.#wire);
  }

  /**
   * Waits for the end of a job of this task, and answers with the result of its run: the same that `execute` gives.
   *
   * @throws {NoResultError} when there is none, with the reason in `why`.
   */
  async result<C extends TaskClass>(task: C, id: string, options: ResultOptions = {}): Promise<ResultOf<C>> {
    checkOptions("result()", options, ["timeout"]);
    const timeoutMs = toMs("result(): timeout", options.timeout ?? 30);
    const what = { what: "wait for a job", patienceMs: timeoutMs };
    const record = (await this.#calls.ask(what, (engine) => engine.settled(id, { timeoutMs }))) ?? (await this.#record(id));
    const answer = answerOf(this.#nameOf(task), id, record);
    return (await readAnswer(task, () => answerText(answer, this.#wire))) as ResultOf<C>; // its output went through this task's schema
  }

  /** Calls a job off: at once while it is pending; by its signal while it is running. */
  async cancel(id: string): Promise<CancelAnswer> {
    const record = heard([configuration.telemetry], "job_cancelled") || this.#known.size > 0 ? await this.#record(id) : undefined;
    const answer = await this.#calls.ask({ what: "cancel a job" }, (engine) => engine.cancel(id));
    if (answer === "cancelled" && record !== undefined)
      announceJob({ id, task: record.task, type: this.#known.get(record.task), origin: undefined }, "job_cancelled")?.({});
    return answer;
  }

  /** Jobs that have failed for good, the latest first. */
  async dead(options: { readonly limit?: number; readonly offset?: number } = {}): Promise<readonly Job[]> {
    checkOptions("dead()", options, ["limit", "offset"]);
    const limit = checkInteger("dead(): limit", options.limit ?? 100, 1);
    const offset = checkInteger("dead(): offset", options.offset ?? 0, 0);
    const records = await this.#calls.ask({ what: "list dead jobs" }, (engine) => engine.dead({ limit, offset }));
    return Promise.all(records.map((record) => jobOf(record, this.#wire)));
  }

  /**
   * Enqueues a dead job anew, with its input, key and options, and forgets the dead one. So the key is taken again; or the call resolves to
   * the job that holds it now, and the dead one stays. Undefined when there is no such dead job. May be repeated: the new job's id
   * comes from that of the dead one.
   */
  async replay(id: string): Promise<Receipt | undefined> {
    const record = await this.#record(id);
    if (record?.state !== "dead") return undefined;
    const { task, payload, key, options } = record;
    const job = { id: uuidOf(`replay:${id}`), task, payload, key, options: { ...options, delayMs: 0 } };
    const [receipt] = await this.#calls.ask({ what: "enqueue a job", ids: [job.id] }, (engine) => engine.enqueue([job]));
    if (receipt?.coalesced === false) await this.#calls.ask({ what: "forget a job" }, (engine) => engine.forget(id));
    return receipt === undefined ? undefined : this.#announced(receipt, { task, key }, originHere());
  }

  /**
   * Enqueues a job again and again: `queue.schedule("nightly", CloseBooks, {}, { cron: "0 3 * * *", timeZone: "Europe/Paris" })`. A schedule of
   * that name that is already there is replaced.
   *
   * @throws as `enqueue`.
   */
  async schedule<C extends TaskClass>(name: string, task: C, input: InputOf<C>, options: ScheduleOptions): Promise<void> {
    const owner = `schedule(${this.#nameOf(task)})`;
    checkOptions(owner, options, ["cron", "every", "timeZone", ...CALL_OPTIONS]);
    const every = parseTimes(options);
    const { job } = await this.#prepare(owner, task, input, options, undefined); // its ticks are nobody's children
    const schedule = { name: checkScheduleName(name), every, task: job.task, payload: job.payload, key: job.key, options: job.options };
    await this.#calls.ask({ what: "keep a schedule" }, (engine) => engine.schedule(schedule));
  }

  /** Ends a schedule, and tells whether there was one. What it has enqueued stays. */
  unschedule(name: string): Promise<boolean> {
    return this.#calls.ask({ what: "end a schedule" }, (engine) => engine.unschedule(name));
  }

  async schedules(): Promise<readonly Schedule[]> {
    const schedules = await this.#calls.ask({ what: "list schedules" }, (engine) => engine.schedules());
    return schedules.map(scheduleOf);
  }

  /**
   * Stops all workers of this queue and lets go of the engine. Jobs that are running may end; those that do not in time are handed back.
   * Jobs that are pending stay where the engine keeps them.
   */
  async close(options: StopOptions = {}): Promise<void> {
    checkOptions("close()", options, ["grace"]);
    graceOf(options);
    return (this.#closing ??= this.#close(options));
  }

  /** Until its workers have stopped, the queue still takes what their jobs enqueue. */
  async #close(options: StopOptions): Promise<void> {
    await Promise.all([...this.#workers].map((worker) => worker.stop(options)));
    this.#calls.close();
    await this.#engine.close();
  }

  /** @throws {QueueClosedError} */
  #checkOpen(): void {
    if (this.#closing !== undefined) throw new QueueClosedError("The queue is closed: it starts no worker any more.");
  }

  #nameOf(task: TaskClass): string {
    return this.#outlines.of(task).name;
  }

  #prepare(owner: string, task: TaskClass, input: unknown, options: EnqueueOptions, origin: Origin | undefined): Awaitable<Prepared> {
    const outline = this.#outlines.of(task);
    this.#known.set(outline.name, task);
    return this.#preparation.prepare(owner, outline, input, options, origin);
  }

  async #hand(batch: readonly Prepared[]): Promise<readonly Receipt[]> {
    if (batch.length === 0) return [];
    this.#mismatches.checkBatch(batch);
    const jobs = batch.map(({ job }) => job);
    const what = batch.length === 1 ? "enqueue a job" : `enqueue ${batch.length} jobs`;
    const receipts = await this.#calls.ask({ what, ids: jobs.map(({ id }) => id) }, (engine) => engine.enqueue(jobs));
    const settled: Receipt[] = [];
    const mismatches: unknown[] = [];
    for (const [at, entry] of batch.entries()) {
      const receipt = receipts[at] ?? { id: entry.job.id, coalesced: false }; // the port promises one for each
      try {
        const stands = entry.settings.onMismatch === "reject" ? await this.#mismatches.settle(entry, receipt) : receipt;
        settled.push(this.#announced(stands, entry.job, entry.origin));
      } catch (thrown) {
        mismatches.push(thrown); // the others stand all the same, and are announced
      }
    }
    if (mismatches.length > 0) throw mismatches[0];
    return settled;
  }

  #announced(receipt: Receipt, { task, key }: Pick<EngineJob, "task" | "key">, origin: Origin | undefined): Receipt {
    const about = { id: receipt.id, task, type: this.#known.get(task), origin };
    announceJob(about, "job_enqueued")?.({ coalesced: receipt.coalesced, key });
    return receipt;
  }

  #handle<C extends TaskClass>(task: C, { id, coalesced }: Receipt): JobHandle<C> {
    return new JobHandle(this, task, id, coalesced);
  }

  #record(id: string): Promise<JobRecord | undefined> {
    return this.#calls.ask({ what: "look at a job" }, (engine) => engine.get(id));
  }
}
