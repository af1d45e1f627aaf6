import { StoreTimeoutError } from "../errors.js";
import { isThenable, type Awaitable } from "./and-then.js";
import { Alarm, alarmsOf, type Alarms } from "./alarms.js";
import type { Clock } from "./clock.js";

/**
 * Waits for an answer, but no longer than `ms`; one that is there at once is handed on as it is. What comes after that is handed to
 * `late`, so that it can be cleared up; a late rejection is of no more use to anybody. A call that throws instead of rejecting is
 * treated as if it had rejected.
 *
 * Rejects with a {@link StoreTimeoutError} when the time is up. Never throws.
 */
export function withinTime<T>(clock: Clock, ms: number, call: () => Promise<T>, late?: (answer: T) => void): Promise<T>;
export function withinTime<T>(clock: Clock, ms: number, call: () => Awaitable<T>, late?: (answer: T) => void): Awaitable<T>;
export function withinTime<T>(clock: Clock, ms: number, call: () => Awaitable<T>, late?: (answer: T) => void): Awaitable<T> {
  let answer: Awaitable<T>;
  try {
    answer = call();
  } catch (error) {
    return Promise.reject(error);
  }
  if (!isThenable(answer)) return answer;
  const coming = answer; // a value that can be awaited is no value of T's
  return new Promise((resolve, reject) => {
    const limit = new TimeLimit(clock.now() + ms, ms, alarmsOf(clock), reject);
    coming.then(
      (value) => (limit.passed ? late?.(value) : limit.met(() => resolve(value))),
      (error: unknown) => limit.met(() => reject(error)),
    );
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
