/**
 * The type half of a task. The words used here and everywhere:
 *
 * - task: a class with `work`; one instance per run
 * - run: one `execute` of a task, from input to result
 * - attempt: one call of `work` inside a run; retries add attempts
 * - outcome: `success`, `skipped` or `failed`; sealed once
 * - layer: a policy wrapped round a run or an attempt
 * - chain: a root run and every run started inside it
 */
import type { GivenBy, ObjectSchema, ParsedBy } from "./schema.js";
import type { Result } from "./result.js";
import type { Task } from "./task.js";

/** The four faces of a task's data: what a caller gives, what `work` reads, what `work` returns, what the result carries. */
export interface TaskTypes {
  readonly given: unknown;
  readonly parsed: object;
  readonly returned: unknown;
  readonly output: unknown;
}

/** What `Task.with` adds to a base class. It exists for the compiler only. */
export declare abstract class Contracted<T extends TaskTypes> {
  declare readonly "~types": T;
  /** The parsed input: defaults filled in, coercions done. */
  readonly input: Readonly<T["parsed"]>;
  /** The action itself. Returns what the output schema accepts. */
  abstract work(): T["returned"] | Promise<T["returned"]>;
  /** Ends the run early as a success. The output is verified as if `work` had returned it. */
  success(...args: SuccessArguments<T["returned"]>): never;
}

type SuccessArguments<Returned> = undefined extends Returned
  ? [output?: Returned, metadata?: object]
  : [output: Returned, metadata?: object];

/** Without an input schema a task takes nothing; without an output schema the output is whatever `work` returns. */
export interface TypesOf<I extends ObjectSchema | undefined, O extends ObjectSchema | undefined> {
  readonly given: I extends ObjectSchema ? GivenBy<I> : NoInput;
  readonly parsed: I extends ObjectSchema ? ParsedBy<I> : NoInput;
  readonly returned: O extends ObjectSchema ? GivenBy<O> : unknown;
  readonly output: O extends ObjectSchema ? ParsedBy<O> : Inferred;
}
export type NoInput = Readonly<Record<string, never>>;
declare const inferred: unique symbol;
export interface Inferred {
  readonly [inferred]: true;
}

/** What `Task.with(contract)` returns: the base class it was called on, with the contract half added. */
export type Bound<B extends abstract new () => Task, T extends TaskTypes> = (abstract new () => InstanceType<B> & Contracted<T>) &
  Omit<B, "prototype" | "with">;

/** Any task instance. */
export type AnyTask = Task & Contracted<TaskTypes>;
/** A class that can be run: concrete, with `work`, made without arguments. */
export type TaskClass<T extends AnyTask = AnyTask> = new () => T;

type Faces<C extends TaskClass> = InstanceType<C>["~types"];
/** What callers of this task give. */
export type InputOf<C extends TaskClass> = Faces<C>["given"];
/** What `work` reads as `this.input`. */
export type ParsedOf<C extends TaskClass> = Faces<C>["parsed"];
/** What a successful result of this task carries as `output`. */
export type OutputOf<C extends TaskClass> = Faces<C>["output"] extends Inferred
  ? Awaited<ReturnType<InstanceType<C>["work"]>>
  : Faces<C>["output"];
/** The result of this task. */
export type ResultOf<C extends TaskClass> = Result<OutputOf<C>>;

/** Options of one call. */
export interface ExecuteOptions {
  /** Calls the run off. The run then fails with the code `aborted`, also when `work` does not listen. */
  readonly signal?: AbortSignal | undefined;
  /** Replaces the segment that the task's key resolver would give, for tasks with a key. */
  readonly idempotencyKey?: string | undefined;
  /** First entries of the bag that is shared along the chain, readable as `this.context`. */
  readonly context?: object | undefined;
}

/** The arguments of `execute`: the input may be left out where nothing in it is required. */
export type ExecuteArguments<C extends TaskClass> =
  Readonly<Record<never, never>> extends InputOf<C>
    ? [input?: InputOf<C>, options?: ExecuteOptions]
    : [input: InputOf<C>, options?: ExecuteOptions];
