import type { TaskClass } from "../task/contract.js";
import { declarationsVersion } from "../task/metadata.js";
import { keyNameOf } from "../task/name.js";
import { planOf, type Plan } from "../task/plan.js";
import { DEFAULTS, withChange, type Change, type Effective } from "./options.js";
import { queuedOf } from "./queued.js";

/** What all jobs of a class have in common in one queue. */
export interface Outline {
  readonly plan: Plan;
  /** The task's name, as keys and workers know it. */
  readonly name: string;
  readonly settings: Effective;
}

/** Outlines are asked for at every enqueue, and made anew only when something was declared since. */
export class Outlines {
  readonly #defaults: Effective;
  readonly #known = new WeakMap<TaskClass, { readonly outline: Outline; readonly version: number }>();

  constructor(defaults: Change) {
    this.#defaults = withChange(DEFAULTS, defaults);
  }

  /** @throws {DefinitionError} when the task cannot be run, or has no name that lasts. */
  of(type: TaskClass): Outline {
    const known = this.#known.get(type);
    if (known !== undefined && known.version === declarationsVersion()) return known.outline;
    const outline = { plan: planOf(type), name: keyNameOf(type), settings: withChange(this.#defaults, queuedOf(type)) };
    this.#known.set(type, { outline, version: declarationsVersion() });
    return outline;
  }
}
