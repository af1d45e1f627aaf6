import { TimeoutError } from "../errors.js";
import { messageOf, toError } from "../support/thrown.js";
import { arriving } from "../task/chain.js";
import { configuration } from "../task/configuration.js";
import type { TaskClass } from "../task/contract.js";
import { Arrival, type Origin } from "../task/origin.js";
import type { Result } from "../task/result.js";
import { announceJob, warnOnce, type JobOfEvent } from "./announce.js";
import { writeAnswer } from "./answer.js";
import type { Attempt, Ending, Handler, Verdict } from "./port.js";
import { Progress } from "./progress.js";
import { verdictOf } from "./verdict.js";
import { DamagedPayloadError, UnknownFormatError, type Headers, type Wire } from "./wire.js";

/** How long a job waits that this worker cannot run, while another might, in milliseconds. */
const NOT_MINE_MS = 1_000;

type JobAttempt = Parameters<Handler["became"]>[0];

/** Runs a queue's jobs: each attempt is one `execute` of its task. */
export class TaskHandler implements Handler {
  readonly #taskOf: (name: string) => TaskClass | undefined;
  readonly #wire: Wire;
  readonly #onTrouble: (error: Error) => void;
  /** Where the jobs come from that are being tried, for the events that follow. */
  readonly #origins = new Map<string, Origin | undefined>();

  constructor(taskOf: (name: string) => TaskClass | undefined, wire: Wire, onTrouble: (error: Error) => void) {
    this.#taskOf = taskOf;
    this.#wire = wire;
    this.#onTrouble = onTrouble;
  }

  async run(attempt: Attempt): Promise<Verdict> {
    const type = this.#taskOf(attempt.task);
    if (type === undefined) return this.#notMine(`A worker got a job of ${attempt.task}, which it was not told of in queue.work()`);
    try {
      const verdict = await this.#attempt(type, attempt);
      if (verdict.kind === "handed_back") this.#origins.delete(attempt.id);
      return verdict;
    } catch (thrown) {
      if (thrown instanceof UnknownFormatError) return this.#notMine(`A worker cannot read a job of ${attempt.task}`, thrown);
      if (thrown instanceof DamagedPayloadError) this.#onTrouble(thrown); // the job's reason does not tell its cause
      // That, or a programmer's mistake: trying again would change nothing.
      return { kind: "failed", answer: "", reason: messageOf(toError(thrown)), retry: false };
    }
  }

  became(job: JobAttempt, ending: Ending): void {
    const about = this.#about(job);
    const { attempt } = job;
    this.#origins.delete(job.id);
    switch (ending.state) {
      case "completed":
        return announceJob(about, "job_completed")?.({ attempt });
      case "pending":
        return announceJob(about, "job_retried")?.({ attempt, delayMs: ending.delayMs });
      case "dead":
        return announceJob(about, "job_dead")?.({ attempt, reason: ending.reason });
      case "cancelled":
        return announceJob(about, "job_cancelled")?.({});
    }
  }

  trouble(error: Error): void {
    this.#onTrouble(error);
  }

  async #attempt(type: TaskClass, attempt: Attempt): Promise<Verdict> {
    const unpacked = await this.#wire.unpack(attempt.payload);
    const input = this.#wire.deserialize(unpacked);
    this.#origins.set(attempt.id, unpacked.origin);
    announceJob(this.#about(attempt), "job_started")?.({ attempt: attempt.attempt });
    const result = await runJob(type, input, attempt, unpacked, (thrown) => this.#onTrouble(toError(thrown)));
    return verdictOf(result, await this.#answerOf(type, result), attempt.signal);
  }

  /** The work is done by now, and its end does not depend on whether somebody can be told of it. */
  async #answerOf(type: TaskClass, result: Result): Promise<string> {
    try {
      return await this.#wire.pack(Buffer.from(await writeAnswer(type, result)), {});
    } catch (thrown) {
      this.#onTrouble(toError(thrown));
      return "";
    }
  }

  #about({ id, task }: { readonly id: string; readonly task: string }): JobOfEvent {
    return { id, task, type: this.#taskOf(task), origin: this.#origins.get(id) };
  }

  /** Given back unharmed: another worker, or a later release, will know what to do. */
  #notMine(what: string, thrown: unknown = "it is handed back"): Verdict {
    warnOnce(what, thrown);
    return { kind: "handed_back", delayMs: NOT_MINE_MS };
  }
}

async function runJob(
  type: TaskClass,
  input: unknown,
  job: Attempt,
  { origin = {}, timeoutMs }: Headers,
  onError: (thrown: unknown) => void,
): Promise<Result> {
  const { id, key, attempt, signal } = job;
  const reporter = new Progress((percent) => job.progress(percent), onError);
  const deadline = new Deadline(timeoutMs, signal);
  try {
    return await arriving(new Arrival(Object.freeze({ id, key, attempt }), origin, reporter.tell), () =>
      executeOf(type)(input, { signal: deadline.signal }),
    );
  } finally {
    deadline.off();
    await reporter.settled();
  }
}

/** The class's own `execute`, which a base class may have extended. */
function executeOf(type: TaskClass): (input: unknown, options: { readonly signal: AbortSignal }) => Promise<Result> {
  const execute = Reflect.get(type, "execute") as (...args: unknown[]) => Promise<Result>; // every task class has it
  return (...args) => Reflect.apply(execute, type, args);
}

/** The job's signal, and the end of its time. */
class Deadline {
  readonly signal: AbortSignal;
  readonly off: () => void;

  constructor(timeoutMs: number | undefined, signal: AbortSignal) {
    if (timeoutMs === undefined) {
      this.signal = signal;
      this.off = () => undefined;
      return;
    }
    const overdue = new AbortController();
    const message = `The attempt did not end in the ${timeoutMs} ms that its job gives it`;
    this.off = configuration.clock.timer(timeoutMs, () => overdue.abort(new TimeoutError(message)));
    this.signal = AbortSignal.any([signal, overdue.signal]);
  }
}
