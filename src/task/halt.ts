import { isMarked } from "../errors.js";
import type { Outcome } from "./outcome.js";

const HALT = Symbol.for("taskwright.halt");

/**
 * What `this.skip()` and its like throw. It is no error: it only leaves `work`. The outcome has been noted on the
 * run before, so a `try/catch` of the user's cannot swallow it.
 */
export class Halt {
  /** The run that it ends. Other runs let it pass. */
  readonly run: object;
  readonly outcome: Outcome;

  constructor(run: object, outcome: Outcome) {
    this.run = run;
    this.outcome = outcome;
  }

  /** Is this a halt, of any run? */
  static is(value: unknown): value is Halt {
    return isMarked(value, HALT);
  }

  /** For those who log what they catch. */
  toString(): string {
    return `Halt (${this.outcome.status}): leaves work early; let it pass through your catch`;
  }
}

Object.defineProperty(Halt.prototype, HALT, { value: true });
