import { DefinitionError, DeprecatedError } from "../errors.js";
import { checkOptions, checkWord, describe } from "../support/check.js";
import { checkGates, GATE_OPTIONS, passes, type Gates } from "./gates.js";
import { checkClassTarget, declare, type Feature, type TaskDecorator } from "./metadata.js";
import { announce, guarded } from "./observers.js";
import type { FailedOutcome } from "./outcome.js";
import type { Run } from "./run.js";
import type { Task } from "./task.js";

export interface DeprecatedOptions<T extends Task = Task> extends Gates<T> {
  /**
   * What happens when the task is run. `log`: a line at level warn. `warn`: a Node deprecation warning, once for each task.
   * `fail`: the run fails with the code `deprecated`.
   *
   * @default "log"
   */
  readonly action?: "log" | "warn" | "fail";
}

export interface Deprecation {
  readonly message: string;
  readonly action: "log" | "warn" | "fail";
  readonly gates: Gates;
}

export const deprecationFeature: Feature<Deprecation | false, Deprecation> = {
  name: "deprecated",
  merge: (_, declared) => (declared === false ? undefined : declared),
};

/**
 * Marks a task as one to move away from: `@deprecated("use ChargeCard")`. Its results say so, and `task_deprecated` is announced.
 * `@deprecated(false)` takes an inherited mark away.
 *
 * @throws {DefinitionError} when the message or an option has the wrong shape.
 */
export function deprecated<T extends Task = Task>(message: string | false, options: DeprecatedOptions<T> = {}): TaskDecorator<T> {
  if (message !== false && (typeof message !== "string" || message.trim() === "")) {
    throw new DefinitionError(`@deprecated() takes a message that says what to use instead, or false, got ${describe(message)}.`);
  }
  checkOptions("@deprecated()", options, ["action", ...GATE_OPTIONS]);
  checkGates("@deprecated()", options);
  const action = checkWord("@deprecated(): action", options.action ?? "log", ["log", "warn", "fail"]);
  const gates = { if: options.if, unless: options.unless } as Gates; // passed only tasks of the class it stands on
  return (target, context) => {
    checkClassTarget("@deprecated()", target, context);
    declare(target, deprecationFeature, message === false ? false : { message, action, gates });
  };
}

/** Says that a deprecated task was run. Answers with the failure when the task is not to be run any more. */
export function noteDeprecation(run: Run): FailedOutcome | undefined {
  const { deprecation, name, logger } = run.plan;
  if (deprecation === undefined || !passes(deprecation.gates, run.task)) return undefined;
  run.deprecated = true;
  announce(run, "task_deprecated")?.({ message: deprecation.message });
  const message = `${name} is deprecated: ${deprecation.message}`;
  switch (deprecation.action) {
    case "log":
      guarded(() => logger?.warn({ task: name, runId: run.runId }, message));
      return undefined;
    case "warn":
      warnOnce(name, message);
      return undefined;
    case "fail":
      return {
        status: "failed",
        by: "refused",
        error: new DeprecatedError(message),
        reason: message,
        retryable: false,
        metadata: { code: "deprecated" },
      };
  }
}

const warned = new Set<string>();

function warnOnce(name: string, message: string): void {
  if (warned.has(name)) return;
  warned.add(name);
  process.emitWarning(message, "DeprecationWarning");
}
