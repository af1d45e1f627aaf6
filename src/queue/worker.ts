import { DefinitionError } from "../errors.js";
import { describe } from "../support/check.js";
import { toMs, type Duration } from "../support/duration.js";
import type { TaskClass } from "../task/contract.js";
import { keyNameOf } from "../task/name.js";
import { planOf } from "../task/plan.js";
import type { EngineWorker } from "./port.js";

export interface WorkOptions {
  /** How many jobs this worker runs at once. @default 1 */
  readonly concurrency?: number;
}

export interface StopOptions {
  /** How long running jobs may take to end. Then they are told to stop, and handed back to other workers. @default 30 (seconds) */
  readonly grace?: Duration;
}

/** Something that takes jobs and runs them, until it is stopped. */
export class Worker {
  readonly #engineWorker: EngineWorker;
  readonly #onStopped: (worker: Worker) => void;
  #stopped: Promise<void> | undefined;

  constructor(engineWorker: EngineWorker, onStopped: (worker: Worker) => void) {
    this.#engineWorker = engineWorker;
    this.#onStopped = onStopped;
  }

  /** Takes no further jobs. Resolves when nothing of it runs any more, or was handed back. */
  stop(options: StopOptions = {}): Promise<void> {
    const graceMs = graceOf(options);
    return (this.#stopped ??= this.#engineWorker.stop({ graceMs }).finally(() => this.#onStopped(this)));
  }
}

export function graceOf({ grace = 30 }: StopOptions): number {
  return toMs("grace", grace, { zero: true });
}

/** @throws {DefinitionError} unless they are tasks that can run, with names of their own. */
export function tasksByName(tasks: readonly TaskClass[]): ReadonlyMap<string, TaskClass> {
  if (!isList(tasks)) {
    throw new DefinitionError(`queue.work() takes an array of tasks, got ${describe(tasks)}: queue.work([ChargeCustomer]).`);
  }
  const byName = new Map<string, TaskClass>();
  for (const type of tasks) {
    planOf(type);
    const name = keyNameOf(type);
    const other = byName.get(name);
    if (other !== undefined && other !== type) {
      throw new DefinitionError(
        `Two tasks of one worker are called ${JSON.stringify(name)}, so jobs cannot be told apart. Name one: Task.with({ name: "…" }).`,
      );
    }
    byName.set(name, type);
  }
  return byName;
}

/** People who write JavaScript give what they like. */
function isList(tasks: unknown): boolean {
  return Array.isArray(tasks) && tasks.length > 0;
}
