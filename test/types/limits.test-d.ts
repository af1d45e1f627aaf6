/** Rate limits and circuit breakers. */
import {
  circuitBreaker,
  circuitOf,
  literal,
  rateLimit,
  Task,
  type CircuitBreakerOptions,
  type CircuitInfo,
  type RateLimitOptions,
} from "taskwright";
import type { Equal, Expect } from "./exact.js";
import { ChargeCard, Ping } from "./tasks.js";

// Keys of every form, options alone, and off.
@rateLimit({ limit: 100, per: "1m" })
@rateLimit({ by: "orderId" })
@rateLimit({ by: ["orderId", "amount"], namespace: "bank" })
@rateLimit({ by: literal("all") })
@rateLimit({ by: (task) => task.runId, scope: "bank" })
@rateLimit({
  by: async function () {
    return this.runId;
  },
})
@rateLimit({ by: { call: (task: ChargeCard) => task.input.orderId } })
@rateLimit({ by: (task: ChargeCard) => [task.input.orderId, task.input.amount] })
@rateLimit<ChargeCard>({ by: (task) => task.input.orderId, if: (task) => task.input.amount > 100 })
@rateLimit({ by: "orderId", unless: (task: ChargeCard) => task.input.amount > 100 })
@rateLimit({ by: null, scope: null, if: null, unless: null, onMissingKey: "fail", onStoreError: "run" })
@rateLimit(false)
export class Limited extends ChargeCard {}

// A base without an input of its own may name the fields of its children.
@rateLimit({ limit: 1, per: 1, by: "orderId" })
abstract class Application extends Task {}
export class Concrete extends Application.with() {
  work(): void {}
}

// Options that are kept somewhere.
const common: RateLimitOptions = { limit: 5, per: 60 };
rateLimit(common)(Ping);
rateLimit({ ...common, by: "orderId" })(ChargeCard);

// The task that a resolver gets is no any.
rateLimit({
  by: (task) => {
    const isTask: Expect<Equal<typeof task, Task>> = true;
    return `${task.runId} ${isTask}`;
  },
});

// @ts-expect-error: a misspelt field
rateLimit({ by: "orderID" })(ChargeCard);
// @ts-expect-error: one field of two that there is none of
rateLimit({ by: ["orderId", "currencies"] })(ChargeCard);
// @ts-expect-error: a resolver for another task
rateLimit({ by: (task: ChargeCard) => task.input.orderId })(Ping);
// @ts-expect-error: a resolver that gives an object
rateLimit({ by: () => ({ id: 1 }) });
// @ts-expect-error: a resolver that gives an object, by its call
rateLimit({ by: { call: () => ({ id: 1 }) } });
// @ts-expect-error: a limit that is no number
rateLimit({ limit: "100" });
// @ts-expect-error: a time by a word
rateLimit({ per: "minute" });
// @ts-expect-error: another library's words
rateLimit({ points: 5, duration: 1 });
// @ts-expect-error: a third way to go on
rateLimit({ onStoreError: "skip" });
// @ts-expect-error: a gate that answers later
rateLimit({ if: async () => true });
// @ts-expect-error: true turns nothing on
rateLimit(true);
// @ts-expect-error: the key apart from the options
rateLimit("orderId", { limit: 1 });

// Failures in a row, or their share; never both.
@circuitBreaker()
@circuitBreaker({ threshold: 5, coolOff: "30s" })
@circuitBreaker({ sampling: { threshold: 0.5, duration: 30 } })
@circuitBreaker({ sampling: { threshold: 0.5, duration: "1m", minimumRps: 2 }, scope: "bank" })
@circuitBreaker({ coolOff: 10, scope: null, if: null, unless: (task) => task.attempt > 1 })
@circuitBreaker<ChargeCard>({ if: (task) => task.input.amount > 100 })
@circuitBreaker(false)
export class Guarded extends ChargeCard {}

const kept: CircuitBreakerOptions = { threshold: 3 };
circuitBreaker(kept)(Ping);

export const info = circuitOf(Guarded);
export type Info = Expect<Equal<typeof info, CircuitInfo | undefined>>;
export type State = Expect<Equal<CircuitInfo["state"], "closed" | "open" | "half_open">>;

// @ts-expect-error: two ways of counting at once
circuitBreaker({ threshold: 5, sampling: { threshold: 0.5, duration: 30 } });
// @ts-expect-error: sampling without a duration
circuitBreaker({ sampling: { threshold: 0.5 } });
// @ts-expect-error: sampling without a threshold
circuitBreaker({ sampling: { duration: 30 } });
// @ts-expect-error: another library's word for the cool-off
circuitBreaker({ halfOpenAfter: 30 });
// @ts-expect-error: a number without its name
circuitBreaker(5);
// @ts-expect-error: true turns nothing on
circuitBreaker(true);
// @ts-expect-error: a time without a unit that exists
circuitBreaker({ coolOff: "30 seconds" });
// @ts-expect-error: a gate for another task
circuitBreaker({ if: (task: ChargeCard) => task.input.amount > 100 })(Ping);
// @ts-expect-error: a class that is no task
circuitBreaker()(Date);
// @ts-expect-error: an instance instead of its class
circuitOf(new Guarded());
