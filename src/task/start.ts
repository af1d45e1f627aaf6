import { DefinitionError } from "../errors.js";
import { isThenable } from "../support/and-then.js";
import { checkOptions, describe } from "../support/check.js";
import { messageOf, toError } from "../support/thrown.js";
import { configuration } from "./configuration.js";
import type { AnyTask, ExecuteOptions } from "./contract.js";
import { reportObserver } from "./observers.js";
import type { Plan } from "./plan.js";
import { Run } from "./run.js";
import type { Task } from "./task.js";

/** @throws {DefinitionError} when the method was taken off its class. */
export function checkReceiver(receiver: unknown, method: "execute" | "executeBang"): void {
  if (typeof receiver !== "function")
    throw new DefinitionError(`${method} was called apart from its class. Call it on the task: ChargeCustomer.${method}(…).`);
}

/** Tells an instance which run it belongs to. */
export type AttachRun = (task: Task, run: Run) => void;

/**
 * Makes the instance and the run, and gives the run its place in the chain.
 *
 * @throws {DefinitionError} when the options of the call are wrong, or no instance can be made.
 */
export function startRun(plan: Plan, given: unknown, options: ExecuteOptions, attach: AttachRun): Run {
  checkCall(plan, options);
  const run = new Run(plan, makeTask(plan), given, options);
  try {
    attach(run.task, run);
  } catch (mistake) {
    run.scope.dispose();
    throw mistake;
  }
  const isRoot = run.parent === undefined && run.chain.correlationId === undefined;
  if (isRoot && configuration.correlationId !== undefined) correlate(run, configuration.correlationId);
  return run;
}

function makeTask({ name, type }: Plan): AnyTask {
  try {
    return configuration.construct(type);
  } catch (thrown) {
    const error = toError(thrown);
    throw new DefinitionError(`${name} could not be made by its constructor or config.construct: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

/** The id from outside is worth having, but no run fails for the lack of it. */
function correlate(run: Run, correlationId: () => string | undefined): void {
  try {
    const id: unknown = correlationId();
    if (isThenable(id)) void Promise.resolve(id).then(undefined, () => undefined); // refused just below, also as a rejection
    if (id !== undefined && typeof id !== "string")
      throw new DefinitionError(`config.correlationId must give a text at once, got ${describe(id)}.`);
    run.chain.correlationId = id;
  } catch (thrown) {
    reportObserver(run, "config.correlationId", thrown);
  }
}

const CALL_OPTIONS = ["signal", "idempotencyKey", "context"];

function checkCall({ name, takesKey }: Plan, options: ExecuteOptions): void {
  if (options === NO_OPTIONS) return;
  checkOptions(`${name}.execute()`, options, CALL_OPTIONS);
  const { signal, idempotencyKey, context } = options;
  if (signal !== undefined && !isSignal(signal)) throw wrongOption(name, "signal", "an AbortSignal", signal);
  if (idempotencyKey !== undefined && typeof idempotencyKey !== "string")
    throw wrongOption(name, "idempotencyKey", "a text", idempotencyKey);
  if (idempotencyKey !== undefined && !takesKey) {
    throw new DefinitionError(
      `${name}.execute(): idempotencyKey would protect nothing, since ${name} has no @idempotentBy(). Put one on the class.`,
    );
  }
  if (context !== undefined && (typeof context !== "object" || context === null)) throw wrongOption(name, "context", "an object", context);
}

/** By its shape: signals may come from another realm or a polyfill. */
function isSignal(signal: unknown): signal is AbortSignal {
  return typeof signal === "object" && signal !== null && "aborted" in signal && "addEventListener" in signal;
}

function wrongOption(name: string, option: string, wanted: string, value: unknown): DefinitionError {
  return new DefinitionError(`${name}.execute(): ${option} must be ${wanted}, got ${describe(value)}.`);
}

export const NO_OPTIONS: ExecuteOptions = Object.freeze({});
