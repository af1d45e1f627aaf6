import { DefinitionError, FailError, FinishedTaskError } from "../errors.js";
import { describe } from "../support/check.js";
import type { Telemetry } from "../telemetry/emitter.js";
import { currentPlace, type TaskContext } from "./chain.js";
import { telemetryOf } from "./class-telemetry.js";
import type { Bound, ExecuteArguments, ResultOf, TaskClass, TypesOf } from "./contract.js";
import { checkContract, contractFeature, type Contract } from "./contract-feature.js";
import { execute } from "./execution.js";
import { Fault } from "./fault.js";
import { Halt } from "./halt.js";
import { silentLogger, type Logger } from "./log.js";
import { declare, TASK_MARK } from "./metadata.js";
import { BINDING, taskNameOf } from "./name.js";
import type { JobRef } from "./origin.js";
import type { Outcome } from "./outcome.js";
import type { Failed, Result } from "./result.js";
import type { Claim, Run } from "./run.js";
import type { ObjectSchema } from "./schema.js";
import { describeTask, type TaskSchema } from "./task-schema.js";
import { checkReceiver, NO_OPTIONS } from "./start.js";
import { outcomeOfFailure } from "./thrown-outcome.js";

/** Options of `this.fail()`. */
export interface FailOptions {
  /** The error behind the failure. */
  readonly cause?: unknown;
  /** May a worker try the same run again? @default true */
  readonly retryable?: boolean;
}

/** What the functions below may do with a task's private run. Set by the class itself. */
export let attachRun: (task: Task, run: Run) => void;
let runOf: (task: Task) => Run;

/**
 * The base of all tasks. Extend what `Task.with({ input, output })` returns, give it a method `work`, and call `execute`.
 * An application's own base class extends `Task` and is then used the same way: `ApplicationTask.with(…)`.
 */
export abstract class Task {
  /** Undoes what `work` has done. Called after a failure of a run whose `work` was started. */
  rollback?(): unknown;

  #run: Run | undefined;

  static {
    attachRun = (task, run) => {
      if (!isTask(task)) throw new DefinitionError(`config.construct gave ${describe(task)} instead of a new ${run.plan.name}.`);
      if (task.#run !== undefined)
        throw new DefinitionError(
          `config.construct gave an instance of ${run.plan.name} that has run before. Make a new one for each run.`,
        );
      if (Object.hasOwn(task, "rollback"))
        throw new DefinitionError(`${run.plan.name}: rollback is a field. Write it as a method: async rollback() { … }.`);
      task.#run = run;
    };
    const isTask = (made: unknown): boolean => typeof made === "object" && made !== null && #run in made;
    runOf = (task) => {
      if (task.#run === undefined)
        throw new DefinitionError(
          `This ${taskNameOf(task.constructor)} is not running. Call ${taskNameOf(task.constructor)}.execute(…) instead of making it by hand.`,
        );
      return task.#run;
    };
  }

  /**
   * Gives a task its types: `class ChargeCustomer extends Task.with({ input: z.object({ … }), output: z.object({ … }) })`.
   *
   * @throws {DefinitionError} when input or output is no object schema, or the name is blank.
   */
  static with<
    B extends abstract new () => Task,
    I extends ObjectSchema | undefined = undefined,
    O extends ObjectSchema | undefined = undefined,
  >(this: B, contract: Contract<I, O> = {}): Bound<B, TypesOf<I, O>> {
    checkContract(contract);
    const base: abstract new () => Task = this;
    abstract class Binding extends base {}
    Object.defineProperty(Binding, BINDING, { value: true });
    Object.defineProperty(Binding, "name", { value: "" });
    declare(Binding, contractFeature, contract);
    return Binding as unknown as Bound<B, TypesOf<I, O>>; // the contract half exists for the compiler only
  }

  /**
   * Runs the task once and answers with what became of it. Never rejects for anything that happens in the run.
   *
   * @throws {DefinitionError} for a programmer's mistake: no `work`, wrong options.
   */
  static execute<C extends TaskClass>(this: C, ...args: ExecuteArguments<C>): Promise<ResultOf<C>> {
    const [input, options] = args;
    return execute(this, input, options ?? NO_OPTIONS, attachRun) as Promise<ResultOf<C>>; // the output went through this class's schema
  }

  /**
   * Runs the task once, like `execute`, but rejects with a {@link Fault} when it has failed. A skip is no failure.
   *
   * @throws {Fault} when the run has failed; its `cause` is the original error.
   * @throws {DefinitionError} for a programmer's mistake.
   */
  static async executeBang<C extends TaskClass>(this: C, ...args: ExecuteArguments<C>): Promise<Exclude<ResultOf<C>, Failed>> {
    checkReceiver(this, "executeBang");
    const [input, options] = args;
    const result = await execute(this, input, options ?? NO_OPTIONS, attachRun);
    if (result.status === "failed") throw new Fault(result, this);
    return result as Exclude<ResultOf<C>, Failed>; // as in `execute`
  }

  /** The task's name in keys, events and logs. A class gives its own with `static taskName = "…"`. */
  static get taskName(): string {
    return taskNameOf(this);
  }

  static set taskName(name: string) {
    // Compilers that assign static fields come through here; those that define them do not.
    Object.defineProperty(this, "taskName", { value: name, writable: true, configurable: true, enumerable: true });
  }

  /** Listeners for this class and those that extend it. */
  static get telemetry(): Telemetry {
    return telemetryOf(this);
  }

  /** What the task takes, gives and wears, for documentation and tools. */
  static get schema(): TaskSchema {
    return describeTask(this);
  }

  /** The task's name, as the class has it. */
  get taskName(): string {
    return runOf(this).plan.name;
  }

  get runId(): string {
    return runOf(this).runId;
  }

  /** The number of the attempt that is under way, from 1. */
  get attempt(): number {
    return runOf(this).attempts;
  }

  /** Aborts when the run is called off. Hand it to whatever can be stopped. */
  get signal(): AbortSignal {
    const run = runOf(this);
    const place = currentPlace();
    return (place?.run === run ? place.scope : (run.attemptScope ?? run.scope)).signal;
  }

  /** The slot that this run holds; none when the task is not idempotent, or the run steps aside. */
  get claim(): Claim | undefined {
    return Object.freeze(runOf(this).claim);
  }

  /** The lock that this run holds; none when the task takes no lock, or the run steps aside. */
  get lock(): Claim | undefined {
    return Object.freeze(runOf(this).lock);
  }

  /** The job that this run is an attempt of; none outside a queue, nor in runs inside this one. */
  get job(): JobRef | undefined {
    return runOf(this).arrival?.job;
  }

  /** The bag that all runs of a chain share. */
  get context(): TaskContext {
    return runOf(this).chain.context;
  }

  /** What the result's metadata will show. Yours to add to. */
  get metadata(): Record<string, unknown> {
    return runOf(this).notebook;
  }

  get logger(): Logger {
    return runOf(this).plan.logger ?? silentLogger;
  }

  /** Tells those who look at the job how far it is, from 0 to 100. Outside a job nobody looks. */
  progress(percent: number): void {
    if (typeof percent !== "number" || !(percent >= 0 && percent <= 100))
      throw new DefinitionError(`this.progress() takes a number from 0 to 100, got ${describe(percent)}.`);
    runOf(this).arrival?.progress(percent);
  }

  /** Ends the run early: there was nothing to do. */
  skip(reason?: string, metadata?: object): never {
    throw halt(this, { status: "skipped", reason, metadata });
  }

  /** Ends the run early: it cannot be done. Retries do not follow. */
  fail(reason?: string, metadata?: object, { cause, retryable = true }: FailOptions = {}): never {
    const error = new FailError(reason ?? `${runOf(this).plan.name} failed without a reason`, cause === undefined ? undefined : { cause });
    throw halt(this, { status: "failed", by: "halt", error, reason: error.message, retryable, metadata });
  }

  /** Fails with the failure of another run, its error and origin kept; does nothing when that run has not failed. */
  propagate<R extends Result>(result: R): asserts result is Exclude<R, Failed> {
    if (result.status === "failed") throw halt(this, { ...outcomeOfFailure(result), by: "halt" });
  }
}

// The contract half of a task (see contract.ts): typed by `Task.with`, so not declared on the class above.
Object.defineProperties(Task.prototype, {
  input: {
    get(this: Task): object {
      const { input, plan } = runOf(this);
      if (input === undefined)
        throw new DefinitionError(`${plan.name}: this.input is read before the input was parsed, or when it did not fit.`);
      return input.parsed;
    },
  },
  success: {
    value(this: Task, output?: unknown, metadata?: object): never {
      throw halt(this, { status: "success", output, metadata });
    },
  },
});
Object.defineProperty(Task, TASK_MARK, { value: true });

/** Notes the halt on the run and makes what is thrown. The first halt of a run is the one that counts. */
function halt(task: Task, outcome: Outcome): Halt {
  const run = runOf(task);
  if (run.closed || isLateWork(run))
    throw new FinishedTaskError(
      `${run.plan.name} was halted (${outcome.status}) after its outcome stood. Await everything that may halt inside work.`,
    );
  run.halt ??= outcome;
  return new Halt(run, run.halt);
}

/** Is this code of an attempt that was called off, while its run goes on? Another attempt may be under way, which it must not decide. */
function isLateWork(run: Run): boolean {
  const place = currentPlace();
  return place?.run === run && place.scope.cancelled;
}
