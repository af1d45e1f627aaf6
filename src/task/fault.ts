import { brand, TaskwrightError } from "../errors.js";
import type { TaskClass } from "./contract.js";
import type { Failed } from "./result.js";

// Kept under a shared symbol and out of sight: it lets a fault be asked for by class, and logs need not show it.
const TYPE = Symbol.for("taskwright.fault.type");

/** What `executeBang` rejects with when a run has failed. `cause` is the error that `result.error` holds. */
export class Fault extends TaskwrightError {
  /** `result.metadata.code`, or `failed` when there is none. */
  readonly code: string;
  readonly result: Failed;

  constructor(result: Failed, type: TaskClass) {
    super(`${result.task} failed: ${result.reason}`, { cause: result.error });
    this.code = typeof result.metadata.code === "string" ? result.metadata.code : "failed";
    this.result = result;
    Object.defineProperty(this, TYPE, { value: type });
  }
}

brand(Fault, "Fault");

/** Is this a fault, of this task or one that extends it? Whichever copy of the package made it. */
export function isFault(error: unknown, type?: TaskClass): error is Fault {
  if (!(error instanceof Fault)) return false;
  if (type === undefined) return true;
  const failed: unknown = Reflect.get(error, TYPE);
  return typeof failed === "function" && (failed === type || Object.prototype.isPrototypeOf.call(type, failed));
}
