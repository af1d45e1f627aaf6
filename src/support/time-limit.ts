import { StoreTimeoutError } from "../errors.js";
import { alarmsOf } from "./alarms.js";
import type { Clock } from "./clock.js";

/**
 * Waits for an answer, but no longer than `ms`. What comes after that is handed to `late`, so that it can be cleared up; a late
 * rejection is of no more use to anybody.
 *
 * @throws {StoreTimeoutError} when the time is up.
 */
export function withinTime<T>(clock: Clock, ms: number, call: () => Promise<T>, late?: (answer: T) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    let timedOut = false;
    const alarm = {
      dueAt: clock.now() + ms,
      ring: () => {
        timedOut = true;
        reject(new StoreTimeoutError(`No answer within ${ms} ms; whether the call took effect is not known.`));
      },
    };
    const alarms = alarmsOf(clock);
    alarms.set(alarm);
    const settle = (finish: () => void): void => {
      alarms.off(alarm);
      finish();
    };
    asPromise(call).then(
      (answer) => (timedOut ? late?.(answer) : settle(() => resolve(answer))),
      (error: unknown) => settle(() => reject(error)),
    );
  });
}

/** A store of somebody's that throws instead of rejecting is treated as if it had rejected. */
async function asPromise<T>(call: () => Promise<T>): Promise<T> {
  return call();
}
