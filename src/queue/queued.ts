import { checkOptions } from "../support/check.js";
import { checkClassTarget, declare, effective, type Feature, type TaskDecorator } from "../task/metadata.js";
import { JOB_SETTINGS, parseSettings, type Change, type QueuedOptions } from "./options.js";

const queuedFeature: Feature<Change | false, Change> = {
  name: "queued",
  merge: (inherited = {}, declared) =>
    declared === false ? undefined : { ...inherited, ...declared, keepMs: { ...inherited.keepMs, ...declared.keepMs } },
};

/**
 * Says how a task's jobs are handled, wherever they are enqueued: `@queued({ idempotent: true, attempts: 5 })`. Options on a subclass
 * are merged into the inherited ones; `false` takes those away.
 *
 * @throws {DefinitionError} when an option is unknown or has the wrong shape.
 */
export function queued(options: QueuedOptions | false): TaskDecorator {
  const change = options === false ? false : parse(options);
  return (target, context) => {
    checkClassTarget("@queued()", target, context);
    declare(target, queuedFeature, change);
  };
}

function parse(options: QueuedOptions): Change {
  checkOptions("@queued()", options, ["idempotent", ...JOB_SETTINGS]);
  return parseSettings("@queued()", options);
}

/** What a class and its ancestors say of their jobs. */
export function queuedOf(type: object): Change | undefined {
  return effective(type, queuedFeature);
}
