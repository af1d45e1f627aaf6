import { StoreTimeoutError } from "../errors.js";
import { Alarm, alarmsOf, type Alarms } from "./alarms.js";
import type { Clock } from "./clock.js";

/**
 * Waits for an answer, but no longer than `ms`. What comes after that is handed to `late`, so that it can be cleared up; a late
 * rejection is of no more use to anybody. A call that throws instead of rejecting is treated as if it had rejected.
 *
 * @throws {StoreTimeoutError} when the time is up.
 */
export function withinTime<T>(clock: Clock, ms: number, call: () => Promise<T>, late?: (answer: T) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    const limit = new TimeLimit(clock.now() + ms, ms, alarmsOf(clock), reject);
    const failed = (error: unknown): void => limit.met(() => reject(error));
    try {
      call().then((answer) => (limit.passed ? late?.(answer) : limit.met(() => resolve(answer))), failed);
    } catch (error) {
      failed(error);
    }
  });
}

class TimeLimit extends Alarm {
  passed = false;
  readonly #ms: number;
  readonly #alarms: Alarms;
  readonly #reject: (error: StoreTimeoutError) => void;

  constructor(dueAt: number, ms: number, alarms: Alarms, reject: (error: StoreTimeoutError) => void) {
    super(dueAt);
    this.#ms = ms;
    this.#alarms = alarms;
    this.#reject = reject;
    alarms.set(this);
  }

  met(answer: () => void): void {
    this.#alarms.off(this);
    answer();
  }

  ring(): void {
    this.passed = true;
    this.#reject(new StoreTimeoutError(`No answer within ${this.#ms} ms; whether the call took effect is not known.`));
  }
}
