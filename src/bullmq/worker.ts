import type { EngineJob, EngineWorker, Handler, Verdict } from "../queue/port.js";
import { systemClock } from "../support/clock.js";
import { messageOf, toError } from "../support/thrown.js";
import type { Calls } from "./calls.js";
import { DelayedError, UnrecoverableError, WaitingError } from "./driver.js";
import type { Settings } from "./options.js";
import { Hold } from "./hold.js";
import { REFRESH_MS, type Retention } from "./retention.js";
import { jobOfTick } from "./schedules.js";
import { letGo, openWorker, within, type BullWorker } from "./storage.js";
import {
  attemptsOf,
  cancelledAtOf,
  isInternal,
  optionsOf,
  readFailure,
  stateOf,
  TICK,
  writeFailure,
  type Failure,
  type JobAnswer,
  type StoredJob,
} from "./stored-job.js";
import { moveBack } from "./tries.js";

interface Surroundings {
  readonly queueName: string;
  readonly settings: Settings;
  readonly calls: Calls;
  readonly retention: Retention;
  readonly handler: Handler;
  readonly concurrency: number;
  readonly enqueue: (job: EngineJob) => Promise<unknown>;
  readonly onStopped: () => void;
}

/** How long work that was told to stop has to answer. */
const ANSWER_MS = 1_000;

/** One worker of BullMQ, which hands its jobs to the handler and tells BullMQ what came of them. */
export class BullmqWorker implements EngineWorker {
  readonly #around: Surroundings;
  readonly #holds = new Set<Hold>();
  readonly #worker: BullWorker;
  readonly #timers = new Set<() => void>();
  #stopped: Promise<void> | undefined;
  #isOver = false;

  constructor(around: Surroundings) {
    const { queueName, settings, concurrency, handler } = around;
    this.#around = around;
    this.#worker = openWorker(queueName, settings, concurrency, (job, token) => this.#process(job, token));
    // That a job is left to itself is how it is meant, and no trouble.
    this.#worker.on("error", (error) => error instanceof DelayedError || this.#trouble(error));
    this.#worker.on("active", (job) => this.#setRetention(job));
    this.#worker.on("completed", (job) => isInternal(job) || handler.became(this.#nameOf(job), { state: "completed" }));
    this.#worker.on("failed", (job) => job === undefined || this.#tellFailure(job));
    // Another worker has the job by now, or will have it: what this one still says of it counts no more.
    this.#worker.on("lockRenewalFailed", (ids) => this.#holdsOf(ids).forEach((hold) => hold.lose()));
  }

  async start(): Promise<void> {
    const { calls, retention, settings } = this.#around;
    try {
      await calls.make("To start a worker", "read", async () => {
        await this.#worker.waitUntilReady();
        await retention.refresh(this.#worker.getBackend());
      });
    } catch (error) {
      await this.stop({ graceMs: 0 });
      throw error;
    }
    this.#repeat(REFRESH_MS, () => retention.refresh(this.#worker.getBackend()));
    this.#repeat(settings.cancelCheckMs, () => this.#askForMarks());
  }

  /** Tells a job that runs here that it is cancelled. */
  cancel(id: string): void {
    for (const hold of this.#holdsOf([id])) hold.cancel();
  }

  stop({ graceMs }: { readonly graceMs: number }): Promise<void> {
    this.#stopped ??= this.#stop(graceMs).finally(() => {
      this.#isOver = true;
      this.#around.onStopped();
    });
    return this.#stopped;
  }

  async #stop(graceMs: number): Promise<void> {
    const closed = this.#worker.close();
    if (this.#holds.size > 0 && !(await within(closed, graceMs))) {
      for (const hold of this.#holds) hold.stop();
      if (!(await within(closed, ANSWER_MS))) for (const hold of this.#holds) hold.lose();
    }
    for (const off of this.#timers) off();
    if (!(await within(closed, this.#around.calls.limitMs))) await letGo(this.#worker, this.#around.calls.limitMs);
  }

  async #process(job: StoredJob, token: string): Promise<JobAnswer> {
    if (job.name === TICK) {
      await this.#around.enqueue(jobOfTick(job));
      return { answer: "" };
    }
    // It was on its way when the worker was stopped.
    if (this.#stopped !== undefined) return this.#putBack(job, token);
    if (job.data.cancel === true)
      throw ended({
        kind: "cancelled",
        reason: "cancelled before it was started",
        started: false,
        answer: readFailure(job.failedReason)?.answer,
      });
    if (!(await this.#stillHolds(job, token))) throw new DelayedError();
    const hold = new Hold(job, token);
    this.#holds.add(hold);
    try {
      if (job.progress !== 0) await job.updateProgress(0).catch((thrown: unknown) => this.#trouble(toError(thrown)));
      return await this.#conclude(hold, await Promise.race([this.#run(hold), hold.lost]));
    } finally {
      this.#holds.delete(hold);
    }
  }

  /**
   * The answer that brings a job may have been so long on its way that the hold is over, and the job done by another:
   *
   *     worker 1  |- takes the job ~~~~~~~~~~~~~~~~~~~~~~~~ hears of it -|
   *     worker 2         the lease is over |- takes the job, completes it -|
   */
  async #stillHolds(job: StoredJob, token: string): Promise<boolean> {
    const { leaseMs } = this.#around.settings;
    if (systemClock.epoch() - (job.processedOn ?? 0) < leaseMs / 2) return true;
    return job.extendLock(token, leaseMs).then(
      (renewed) => renewed === 1,
      () => false, // not known: then nothing is done with the job, as with one whose hold is lost
    );
  }

  async #run(hold: Hold): Promise<Verdict> {
    try {
      return await this.#around.handler.run(hold.attempt);
    } catch (thrown) {
      return { kind: "failed", answer: "", reason: messageOf(toError(thrown)), retry: true }; // a handler that breaks its word
    }
  }

  /** Says to BullMQ what a verdict means: by what it returns, and by what it throws. */
  async #conclude(hold: Hold, verdict: Verdict | undefined): Promise<JobAnswer> {
    // Nothing is done with the job: its hold runs out, and another worker finds it.
    if (verdict === undefined) throw new DelayedError();
    if (verdict.kind === "completed") return { answer: verdict.answer };
    const answer = verdict.kind === "handed_back" ? undefined : verdict.answer;
    const again = verdict.kind === "handed_back" || (verdict.kind === "failed" && verdict.retry && hold.mayBeTriedAgain);
    if (verdict.kind === "cancelled" || (again && hold.isCancelled)) {
      throw ended({ kind: "cancelled", reason: "cancelled while it was running", answer, started: true });
    }
    if (verdict.kind === "handed_back") return this.#handBack(hold, verdict.delayMs);
    const failure: Failure = { kind: "failed", reason: verdict.reason, answer, started: true };
    throw again ? withoutStack(new Error(writeFailure(failure))) : ended(failure);
  }

  async #putBack(job: StoredJob, token: string): Promise<never> {
    await this.#moveBack(() => job.moveToWait(token));
    throw new WaitingError();
  }

  async #handBack({ job, token }: Hold, delayMs: number): Promise<never> {
    const dueAt = systemClock.epoch() + delayMs;
    await this.#moveBack(() => job.moveToDelayed(dueAt, token));
    throw new DelayedError();
  }

  /** Has a job wait again, unless its connection is given up meanwhile. */
  #moveBack(move: () => Promise<unknown>): Promise<void> {
    const { leaseMs } = this.#around.settings;
    return moveBack(
      async () => this.#isOver || move(),
      leaseMs,
      (error) => this.#trouble(error),
    );
  }

  #tellFailure(job: StoredJob): void {
    const { handler } = this.#around;
    if (isInternal(job)) return this.#tellTick(job);
    const failure = readFailure(job.failedReason);
    if (cancelledAtOf(job) !== undefined) return; // told by whoever cancelled it
    if (job.finishedOn === undefined) return handler.became(this.#nameOf(job), { state: "pending", delayMs: backoffOf(job) });
    if (failure?.kind === "cancelled") return handler.became(this.#nameOf(job), { state: "cancelled" });
    handler.became(this.#nameOf(job), { state: "dead", reason: failure?.reason ?? "" });
  }

  #tellTick(job: StoredJob): void {
    if (job.finishedOn === undefined) return; // it is tried again
    this.#trouble(new Error(`A tick of the schedule ${job.repeatJobKey ?? ""} could not be enqueued: ${job.failedReason}`));
  }

  #nameOf(job: StoredJob): { id: string; task: string; attempt: number } {
    const state = stateOf(job, job.finishedOn === undefined ? "delayed" : job.failedReason === undefined ? "completed" : "failed");
    return { id: job.id ?? "", task: job.name, attempt: attemptsOf(job, state) };
  }

  /** BullMQ asks the job how long finished jobs are to be kept. */
  #setRetention(job: StoredJob): void {
    if (isInternal(job)) return;
    const { completed, failed } = this.#around.retention.agesWith(optionsOf(job));
    job.opts.removeOnComplete = { age: completed };
    job.opts.removeOnFail = { age: failed };
  }

  async #askForMarks(): Promise<void> {
    const asked = [...this.#holds].filter((hold) => !hold.isCancelled);
    await Promise.all(asked.map((hold) => hold.askForMark((id) => this.#worker.getBackend().getJobData(id))));
  }

  #holdsOf(ids: readonly string[]): readonly Hold[] {
    return [...this.#holds].filter(({ job }) => ids.includes(job.id ?? ""));
  }

  #repeat(ms: number, action: () => Promise<void>): void {
    let off: () => void;
    const arm = (): void => {
      off = systemClock.timer(ms, () => void fire(), { background: true });
      this.#timers.add(off);
    };
    const fire = async (): Promise<void> => {
      this.#timers.delete(off);
      await action().catch((error: unknown) => this.#trouble(toError(error)));
      if (this.#stopped === undefined) arm();
    };
    arm();
  }

  /** What a connection says when it is gone already is no trouble to anybody. */
  #trouble(error: Error): void {
    if (this.#isOver) return;
    this.#around.calls.complained(error);
    this.#around.handler.trouble(error);
  }
}

/** An end without another attempt. */
function ended(failure: Failure): Error {
  return withoutStack(new UnrecoverableError(writeFailure(failure)));
}

/** BullMQ stores stacks, and this one would say nothing. */
function withoutStack(error: Error): Error {
  error.stack = "";
  return error;
}

/** How long BullMQ lets the job wait before its next attempt. */
function backoffOf(job: StoredJob): number {
  const { type, delayMs } = optionsOf(job).backoff;
  return type === "fixed" ? delayMs : delayMs * 2 ** (job.attemptsMade - 1);
}
