/** Policies around `work`. */
import { idempotentBy, literal, lockWith, retryOn, timeout, type Claim, type Jitter, type JitterName, type RetryOptions } from "taskwright";
import type { Equal, Expect } from "./exact.js";
import { CardError, ChargeCard, Ping } from "./tasks.js";

// Errors, predicates, options.
@retryOn(CardError, TypeError, (error) => error.message.startsWith("ECONN"))
@retryOn({ limit: 5, delay: "250ms", maxDelay: 10, jitter: "decorrelated_jitter" })
@retryOn(CardError, { jitter: (attempt, delayMs, previousMs) => attempt * delayMs + (previousMs ?? 0), maxDelay: null })
@retryOn(CardError, { if: (task, error, attempt) => task.attempt === attempt && error.message !== "", unless: null })
export class Retried extends ChargeCard {}

@retryOn(false)
export class NotRetried extends Retried {}

// Gates that know the task.
@retryOn<ChargeCard>(CardError, { if: (task) => task.input.amount > 100 })
@retryOn(CardError, { unless: (task: ChargeCard, error: Error) => task.input.orderId === error.message })
export class RetriedByInput extends ChargeCard {}

export const delays: RetryOptions["delay"][] = [0.2, 600, "250ms", "1.5s", "5m", "24h", "7d"];
export type Names = Expect<
  Equal<JitterName, "exponential" | "linear" | "fibonacci" | "full_random" | "half_random" | "bounded_random" | "decorrelated_jitter">
>;

// @ts-expect-error: the error's name instead of its class
retryOn("CardError");
// @ts-expect-error: an instance instead of the class
retryOn(new CardError());
// @ts-expect-error: a class that is no error
retryOn(Date);
// @ts-expect-error: a task instead of an error
retryOn(ChargeCard);
// @ts-expect-error: a list instead of one after the other
retryOn([CardError, TypeError]);
// @ts-expect-error: a number of retries without its name
retryOn(CardError, 3);
// @ts-expect-error: true turns nothing on
retryOn(true);
// @ts-expect-error: false together with errors
retryOn(false, CardError);
// @ts-expect-error: a predicate that answers later
retryOn(async () => true);
// @ts-expect-error: a predicate that wants to know more than an Error tells
retryOn((error: CardError) => error.bank === "x");
// @ts-expect-error: a field that errors at large do not have
retryOn((error) => error.code === "ECONNRESET");
// @ts-expect-error: a misspelt option
retryOn(CardError, { limits: 3 });
// @ts-expect-error: another library's word for the limit
retryOn(CardError, { attempts: 3 });
// @ts-expect-error: a limit that is no number
retryOn(CardError, { limit: "3" });
// @ts-expect-error: an unknown jitter
retryOn(CardError, { jitter: "exponentially" });
// @ts-expect-error: a jitter that gives no number
retryOn(CardError, { jitter: () => "1s" });
// @ts-expect-error: a time without a unit that exists
retryOn(CardError, { delay: "5 minutes" });
// @ts-expect-error: a time that is a bare text
retryOn(CardError, { delay: "250" });
// @ts-expect-error: null clears the longest wait, but there is no run without a delay
retryOn(CardError, { delay: null });
// @ts-expect-error: a gate that answers later
retryOn(CardError, { if: async () => true });
// @ts-expect-error: a gate that asks for more than it is given
retryOn(CardError, { if: (_task, _error, _attempt, _more: number) => true });
// @ts-expect-error: a gate that reads an input which tasks at large do not have
retryOn(CardError, { if: (task) => task.input === undefined });
// @ts-expect-error: gates for another task's type
@retryOn<ChargeCard>(CardError, { if: (task) => task.input.amount > 100 })
export class NotACharge extends Ping {}
// @ts-expect-error: on a class that is no task
@retryOn(CardError)
export class NoTask {
  work(): void {}
}
// @ts-expect-error: without its call
@retryOn
export class NotCalled extends Ping {}
export class Misplaced extends Ping {
  // @ts-expect-error: on `work` instead of the class
  @retryOn(CardError)
  override work() {
    return super.work();
  }
}
// @ts-expect-error: a strategy that takes something else
export const jitter: Jitter = (attempt: string) => attempt.length;

// Locks: the forms of a resolver, and options.
@lockWith("orderId", { ttl: "30s", wait: 5, scope: "orders", onStoreError: "run" })
@lockWith(["orderId", "amount"])
@lockWith(literal("nightly"), { namespace: "app:lock", maxHold: "1h" })
@lockWith((task: ChargeCard) => task.input.orderId)
@lockWith({ wait: 10, scope: null })
export class Locked extends ChargeCard {}

@lockWith(false)
export class NotLocked extends Locked {}

export type Fence = Expect<Equal<Locked["lock"], Claim | undefined>>;

lockWith("orderId")(ChargeCard);
// @ts-expect-error: a field that the input does not have
lockWith("walletId")(ChargeCard);
// @ts-expect-error: one of the fields is not there
lockWith(["orderId", "walletId"])(ChargeCard);
// @ts-expect-error: a misspelt option
lockWith("orderId", { timeout: 5 });
// @ts-expect-error: a lock has a life, not a lease
lockWith("orderId", { lease: 5 });
// @ts-expect-error: a wait that is a bare text
lockWith("orderId", { wait: "5" });
// @ts-expect-error: a rule that is idempotency's
lockWith("orderId", { onDuplicate: "skip" });
// @ts-expect-error: an unknown rule
lockWith("orderId", { onStoreError: "skip" });
// @ts-expect-error: a gate that answers later
lockWith("orderId", { if: async () => true });
// @ts-expect-error: true turns nothing on
lockWith(true);

// Time limits.
@timeout(5)
@timeout("250ms", { unless: (task) => task.attempt > 1 })
export class Timed extends ChargeCard {}

@timeout(false)
export class NotTimed extends Timed {}

// @ts-expect-error: a time without a unit that exists
timeout("5 seconds");
// @ts-expect-error: neither a time nor false
timeout();
// @ts-expect-error: options in the place of the time
timeout({ limit: 5 });
// @ts-expect-error: a misspelt gate
timeout(5, { when: () => true });
// @ts-expect-error: a gate that answers later
timeout(5, { if: async () => true });
// @ts-expect-error: overlap is either allowed or not
retryOn(CardError, { overlap: "yes" });

// A resolver's task is a task and never any, also where nothing is said of its type.
type IsAny<T> = 0 extends 1 & T ? true : false;
lockWith((task) => {
  const known: Expect<Equal<IsAny<typeof task>, false>> = true;
  return known ? task.runId : "";
});
idempotentBy((task) => {
  const known: Expect<Equal<IsAny<typeof task>, false>> = true;
  return known ? task.runId : "";
});
lockWith({ call: (task) => task.runId });
idempotentBy({ call: (task: ChargeCard) => task.input.orderId });
