import { checkOptions } from "../support/check.js";
import { checkLogFields, checkLogger, type LogFields, type Logger } from "./log.js";
import { checkClassTarget, declare, type Feature, type TaskDecorator } from "./metadata.js";
import type { Store } from "../stores/store.js";
import { checkStore } from "./check-store.js";
import { checkTags } from "./tags.js";

/** What a class sets for itself. What it leaves out comes from its parent, and then from the configuration. */
export interface Settings {
  /** Words to find runs by, in results and log lines. They add to the parent's. */
  readonly tags?: readonly string[];
  /** What the task is for, in its schema. */
  readonly description?: string;
  /** Where the task's log lines go; `false` keeps it silent. */
  readonly logger?: Logger | false;
  /** Which values of input, output, context and metadata the log line may show. */
  readonly logFields?: LogFields;
  /** Where the task's slots and locks are kept. */
  readonly store?: Store;
}

export const settingsFeature: Feature<Settings, Settings> = {
  name: "settings",
  merge: (inherited = {}, declared) => ({
    ...inherited,
    ...declared,
    tags: [...new Set([...(inherited.tags ?? []), ...(declared.tags ?? [])])],
    logFields: { ...inherited.logFields, ...declared.logFields },
  }),
};

/**
 * Sets things for a class and its subclasses: `@settings({ tags: ["billing"] })`.
 *
 * @throws {DefinitionError} when an option is unknown or has the wrong shape.
 */
export function settings(options: Settings): TaskDecorator {
  checkOptions("@settings()", options, ["tags", "description", "logger", "logFields", "store"]);
  if (options.tags !== undefined) checkTags("@settings(): tags", options.tags);
  if (options.logger !== undefined && options.logger !== false) checkLogger("@settings(): logger", options.logger);
  if (options.logFields !== undefined) checkLogFields("@settings(): logFields", options.logFields);
  if (options.store !== undefined) checkStore("@settings(): store", options.store);
  return (target, context) => {
    checkClassTarget("@settings()", target, context);
    declare(target, settingsFeature, options);
  };
}
