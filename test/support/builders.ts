import {
  configure,
  isDefinitionError,
  retryOn,
  Task,
  type ErrorMatcher,
  type EventName,
  type Logger,
  type ObjectSchema,
  type RetryOptions,
  type TelemetryEvent,
} from "taskwright";
import { eventNames } from "../../src/telemetry/events.js";
import { ManualClock } from "./manual-clock.js";

/** A promise with its two ends in the test's hands. */
export interface Deferred<T> {
  readonly promise: Promise<T>;
  resolve(value: T): void;
  reject(reason: unknown): void;
}

export function deferred<T = void>(): Deferred<T> {
  let ends: Pick<Deferred<T>, "resolve" | "reject"> | undefined;
  const promise = new Promise<T>((resolve, reject) => {
    ends = { resolve, reject };
  });
  if (ends === undefined) throw new Error("a promise calls its executor at once");
  return { promise, ...ends };
}

/** A place in the code at which it stops, until the test lets it go on. */
export class PausePoint {
  readonly #reached = deferred();
  readonly #open = deferred();

  /** Called by the code under test. */
  pass(): Promise<void> {
    this.#reached.resolve();
    return this.#open.promise;
  }

  /** Resolves once somebody stands at the point. */
  get reached(): Promise<void> {
    return this.#reached.promise;
  }

  resume(): void {
    this.#open.resolve();
  }
}

/** A task that throws the first times it is run, and then succeeds. `calls` counts the attempts. */
export function flakyTask({ failures, error = () => new Error("flaky") }: { failures: number; error?: () => unknown }) {
  return class FlakyTask extends Task.with() {
    static calls = 0;

    work(): { calls: number } {
      FlakyTask.calls += 1;
      if (FlakyTask.calls <= failures) throw error();
      return { calls: FlakyTask.calls };
    }
  };
}

/** A task whose `work` is the function. */
export function taskOf<R>(work: (task: Task) => R) {
  return class Sample extends Task.with() {
    work(): R {
      return work(this);
    }
  };
}

/** A task that always throws the error, with these retries, and the number of its attempts so far. */
export function failingTask(error: unknown, ...retry: readonly (ErrorMatcher | RetryOptions)[]) {
  let calls = 0;
  const Failing = taskOf(() => {
    calls += 1;
    throw error;
  });
  retryOn(...retry)(Failing);
  return { Failing, calls: () => calls };
}

/** A task whose work stands at a pause point and does not listen to its signal. `told` says how its work and its rollback went on. */
export function deafTask() {
  const pause = new PausePoint();
  const told: string[] = [];
  class Deaf extends Task.with() {
    async work(): Promise<string> {
      await pause.pass();
      told.push("work came to rest");
      return "done";
    }
    override rollback(): void {
      told.push("rollback");
    }
  }
  return { Deaf, pause, told };
}

/** A task that answers with its parsed input. */
export function echoTask<S extends ObjectSchema>(input: S) {
  return class Echo extends Task.with({ input }) {
    work(): unknown {
      return this.input;
    }
  };
}

/** Everything that is announced from now on, in order. */
export function recordEvents(...names: EventName[]): TelemetryEvent[] {
  const events: TelemetryEvent[] = [];
  configure((config) => {
    for (const name of names.length === 0 ? eventNames : names) config.telemetry.subscribe(name, (event) => events.push(event));
  });
  return events;
}

/** Events of one name, with the payload that belongs to it. */
export function ofName<Name extends EventName>(events: readonly TelemetryEvent[], name: Name): Extract<TelemetryEvent, { name: Name }>[] {
  return events.filter((event): event is Extract<TelemetryEvent, { name: Name }> => event.name === name);
}

export interface LogLine {
  readonly level: "info" | "warn" | "error";
  readonly fields: Record<string, unknown>;
  readonly message: string;
}

/** A logger that keeps its lines. */
export function memoryLogger(): { readonly logger: Logger; readonly lines: LogLine[] } {
  const lines: LogLine[] = [];
  const at = (level: LogLine["level"]) => (fields: object, message: string) => {
    lines.push({ level, fields: { ...fields }, message });
  };
  return { logger: { info: at("info"), warn: at("warn"), error: at("error") }, lines };
}

/** Puts a clock that stands still in the place of the machine's. */
export function useManualClock(): ManualClock {
  const clock = new ManualClock();
  configure((config) => {
    config.clock = clock;
  });
  return clock;
}

/** The warnings of the process while the body runs. */
export async function warningsOf(body: () => unknown): Promise<Error[]> {
  const warnings: Error[] = [];
  const keep = (warning: Error): void => {
    warnings.push(warning);
  };
  process.on("warning", keep);
  try {
    await body();
    await new Promise((resolve) => {
      setImmediate(resolve); // warnings are emitted on the next tick
    });
  } finally {
    process.off("warning", keep);
  }
  return warnings;
}

/** What a promise rejects with. Fails the test when it does not. */
export async function rejectionOf(promise: unknown): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error("it did not reject");
}

/** What a function throws. Fails the test when it does not. */
export function thrownBy(body: () => unknown): unknown {
  try {
    body();
  } catch (error) {
    return error;
  }
  throw new Error("it did not throw");
}

/** Calls something, and swallows what it throws as careless code does. */
export function swallow(body: () => unknown): void {
  try {
    body();
  } catch {
    // on purpose
  }
}

/** The text of a programmer's mistake. Fails the test when it is none. */
export function mistakeIn(error: unknown): string {
  if (isDefinitionError(error) && error.code === "definition") return error.message;
  throw new Error("it is no DefinitionError", { cause: error });
}

/** Ends a run early as a success, of a task whose type says nothing of an output. */
export function succeedWith(task: Task, output?: unknown, metadata?: object): never {
  return (task as unknown as { success(output: unknown, metadata?: object): never }).success(output, metadata); // every task has it
}
