import { AsyncResource } from "node:async_hooks";
import type { Result, Task } from "taskwright";
import { Asked } from "./asked.js";
import type { Process } from "./process.js";
import { keysOf, type CallerPlan, type Ending, type TaskName } from "./scenario.js";
import { Declined, type Program } from "./program.js";

/** The attempt that is under way, and the ways to end it. */
interface Attempt {
  succeed(output: { by: string }): void;
  fail(error: unknown): void;
  readonly task: Task;
  /** Does something as code of this attempt's work. */
  within(action: () => void): void;
}

const HERE = (action: () => void): void => action();

/** One call of `execute`, from before it is made until its answer. */
export class Caller {
  readonly name: string;
  readonly process: Process;
  readonly plan: CallerPlan;
  readonly task: TaskName;
  /** The keys that its run needs. */
  readonly keys: readonly string[];
  /** The caller in whose work this one is made, if it is. */
  readonly outer: Caller | undefined;
  /** The caller that is made in the work of this one. */
  readonly inner: Caller | undefined;
  readonly asked = new Asked();
  readonly #program: Program;
  runId: string | undefined;
  state: "waiting" | "running" | "ended" = "waiting";
  result: Result | undefined;
  /** What `execute` rejected with, which it must not. */
  rejection: unknown;
  startedAt = 0;
  endedAt = 0;
  attempts = 0;
  attempt: Attempt | undefined;
  /** Keys that the last attempt says it works without. */
  bare: readonly string[] = [];
  /** Did the last attempt fail with another one to come? */
  resting = false;
  /** The last attempt's ending. */
  ending: Ending | undefined;
  signal: AbortSignal | undefined;
  /** Somebody else has freed its slot in its name. It cannot know before it asks the store again. */
  robbed = false;
  /** Did that ever happen to it? */
  wasRobbed = false;
  /** The store's failures that it was told of, by operation. */
  readonly storeErrors = new Set<string>();

  constructor(name: string, process: Process, plan: CallerPlan, program: Program, outer?: Caller) {
    this.name = name;
    this.process = process;
    this.plan = plan;
    this.task = plan.task ?? "Charge";
    this.keys = keysOf(process.world.scenario, this.task);
    this.outer = outer;
    this.#program = program;
    this.inner = plan.inner === undefined ? undefined : new Caller(name.toLowerCase(), process, plan.inner, program, this);
  }

  /** Is `work` under way, or bound to go on after a pause, without having been told to stop? */
  get atWork(): boolean {
    return (this.attempt !== undefined || this.resting) && this.signal?.aborted !== true && this.state === "running";
  }

  /** Is `execute` still to be called, and can it be? One that is made in another's work comes with that. */
  get canStart(): boolean {
    return this.state === "waiting" && (this.outer === undefined || this.outer.attempt !== undefined);
  }

  /** The endings that may be chosen for the attempt that is under way. */
  get endings(): readonly Ending[] {
    if (this.inner !== undefined && this.inner.state !== "ended") return [];
    const { attempts = [["success"]] } = this.plan;
    return attempts[Math.min(this.attempts, attempts.length) - 1] ?? [];
  }

  start(): void {
    this.state = "running";
    this.startedAt = this.process.world.now;
    this.process.note(`start ${this.name}`);
    const execute = (): void => {
      this.#program.execute(this).then(
        (result) => this.#end(result, undefined),
        (rejection: unknown) => this.#end(undefined, rejection),
      );
    };
    if (this.outer === undefined) execute();
    else this.outer.attempt?.within(execute);
  }

  /** `work` of the task. Every attempt stops here until it is told how to end. */
  work(task: Task): Promise<{ by: string }> {
    this.attempts += 1;
    this.signal = task.signal;
    this.resting = false;
    this.bare = this.keys.filter((key) => key !== task.claim?.key && key !== task.lock?.key);
    this.process.world.onAttempt(this);
    const within = this.inner === undefined ? HERE : AsyncResource.bind(HERE);
    return new Promise((resolve, reject) => {
      this.attempt = { succeed: resolve, fail: reject, task, within };
      if (this.plan.listens === true) task.signal.addEventListener("abort", () => this.#stop(task.signal.reason), { once: true });
    });
  }

  endAttempt(ending: Ending): void {
    const { attempt } = this;
    if (attempt === undefined) return;
    this.process.note(`${this.name} ${ending}`);
    this.attempt = undefined;
    this.ending = ending;
    this.resting = ending === "failure" && this.attempts <= (this.process.world.scenario.retries?.limit ?? 0);
    if (ending === "success") attempt.succeed({ by: this.name });
    else attempt.fail(ending === "failure" ? new Declined() : haltOf(attempt.task));
  }

  #stop(reason: unknown): void {
    if (this.attempt === undefined) return;
    this.attempt.fail(reason);
    this.attempt = undefined;
    this.ending = "failure";
  }

  #end(result: Result | undefined, rejection: unknown): void {
    this.state = "ended";
    this.endedAt = this.process.world.now;
    this.resting = false;
    this.result = result;
    this.rejection = rejection;
  }
}

function haltOf(task: Task): unknown {
  try {
    return task.skip("nothing to do");
  } catch (halt) {
    return halt;
  }
}
