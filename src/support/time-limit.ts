import { StoreTimeoutError } from "../errors.js";
import type { AbortScope } from "./abort.js";
import { Alarm, alarmsOf } from "./alarms.js";
import { isThenable, type Awaitable } from "./and-then.js";
import type { Clock } from "./clock.js";

/** How long an answer is waited for. */
export interface Limits<T> {
  readonly clock: Clock;
  readonly ms: number;
  /** Its cancellation ends the waiting, too. */
  readonly scope?: AbortScope;
  /** Gets an answer that comes when nobody waits for it any more, so that it can be cleared up. */
  readonly late?: ((answer: T) => void) | undefined;
}

/**
 * Waits for an answer, but no longer than the limits allow; one that is there at once is handed on as it is. No answer in time is a
 * {@link StoreTimeoutError}, and a cancellation its reason. Never throws: whatever goes wrong is a rejection. One that comes after the
 * end of the waiting is of no use to anybody.
 *
 * `next` makes of the answer what is wanted, in the same promise. What goes wrong is left to whoever waits for that promise: time limits
 * and cancellations come from elsewhere, and only a promise's own reactions are where they were asked for, in every AsyncLocalStorage.
 */
export function withinTime<T>(limits: Limits<T>, call: () => Promise<T>): Promise<T>;
export function withinTime<T>(limits: Limits<T>, call: () => Awaitable<T>): Awaitable<T>;
export function withinTime<T, R>(limits: Limits<T>, call: () => Awaitable<T>, next: (answer: T) => Awaitable<R>): Awaitable<R>;
export function withinTime<T>(
  limits: Limits<T>,
  call: () => Awaitable<T>,
  next: (answer: T) => unknown = (answer) => answer,
): Awaitable<unknown> {
  try {
    const answer = call();
    return isThenable(answer) ? waitFor(limits, answer, next) : next(answer);
  } catch (thrown) {
    return Promise.reject(thrown); // as it was thrown, error or not
  }
}

function waitFor<T>(limits: Limits<T>, coming: PromiseLike<T>, next: (answer: T) => unknown): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const wait = new Wait(limits, reject);
    coming.then(
      (answer) => {
        if (wait.isOver) return limits.late?.(answer);
        wait.end();
        try {
          resolve(next(answer));
        } catch (thrown) {
          reject(thrown);
        }
      },
      (thrown: unknown) => wait.fail(thrown),
    );
  });
}

class Wait extends Alarm {
  isOver = false;
  readonly #limits: Limits<never>;
  readonly #reject: (thrown: unknown) => void;
  readonly #stopListening: (() => void) | undefined;

  constructor(limits: Limits<never>, reject: (thrown: unknown) => void) {
    const { clock, ms, scope } = limits;
    super(clock.now() + ms);
    this.#limits = limits;
    this.#reject = reject;
    if (scope?.cancellable === true) {
      this.#stopListening = scope.onAbort(() => {
        if (scope.cancelled) this.fail(scope.reason);
      });
    }
    alarmsOf(clock).set(this);
  }

  end(): void {
    this.isOver = true;
    alarmsOf(this.#limits.clock).off(this);
    this.#stopListening?.();
  }

  fail(thrown: unknown): void {
    if (this.isOver) return;
    this.end();
    this.#reject(thrown);
  }

  ring(): void {
    this.fail(new StoreTimeoutError(`No answer within ${this.#limits.ms} ms; whether the call took effect is not known.`));
  }
}
