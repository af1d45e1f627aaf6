/** Class decorators that belong to no policy: settings, deprecated, use. And where class decorators cannot stand. */
import {
  type Task,
  callback,
  deprecated,
  settings,
  use,
  type Gates,
  type MiddlewareFunction,
  type MiddlewareObject,
  type Next,
  type Outcome,
  type TaskDecorator,
} from "taskwright";
import { z } from "zod";
import type { Equal, Expect } from "./exact.js";
import { ApplicationTask, ChargeCard, Ping } from "./tasks.js";

// All of them, on a task, on a base, and as plain functions.
@settings({ tags: ["billing"], description: "Charges a card", logger: false, logFields: { input: ["orderId"] } })
@deprecated("use ChargeVip", { action: "warn", if: (task) => task.attempt === 1 })
@use(async (task, next) => {
  const outcome = await next();
  task.logger.info({ status: outcome.status }, "ran");
})
export class Decorated extends ChargeCard {}

@settings({ tags: ["application"], logger: console })
@deprecated(false)
export abstract class DecoratedBase extends ApplicationTask {}

use((_task, next) => next())(Ping);
settings({})(ApplicationTask);

// A decorator that is written for one task says so, and then knows it.
@use((task: ChargeCard, next: Next) => (task.input.amount > 0 ? next() : undefined))
@use<ChargeCard>({ call: (task: ChargeCard, next: Next) => (task.input.orderId === "" ? task.skip() : next()) })
@deprecated<ChargeCard>("use ChargeVip", { unless: (task) => task.input.currency === "EUR" })
export class Typed extends ChargeCard {}
export const forCharges: TaskDecorator<ChargeCard> = use<ChargeCard>((_task, next) => next(), { if: (task) => task.input.amount > 1 });
forCharges(ChargeCard);

// @ts-expect-error: a decorator for another task's type
@use((task: ChargeCard, next: Next) => (task.input.amount > 0 ? next() : undefined))
export class NotACharge extends Ping {}
// @ts-expect-error: another task's gates
@deprecated<ChargeCard>("gone", { if: (task) => task.input.amount > 1 })
export class NotAChargeEither extends Ping {}
// @ts-expect-error: as a plain function, on another task
forCharges(Ping);
// @ts-expect-error: a class decorator on a class that is no task
@settings({ tags: ["billing"] })
export class NoTask {
  work(): void {}
}
// @ts-expect-error: a plain function on a schema
settings({})(z.object({}));
// @ts-expect-error: a plain function on an instance
settings({})(new Ping());

export class Misplaced extends Ping {
  // @ts-expect-error: a class decorator on a method
  @settings({ tags: ["billing"] })
  override work() {
    return super.work();
  }
  // @ts-expect-error: a class decorator on a field
  @deprecated("gone")
  readonly count = 1;
  // @ts-expect-error: a class decorator on an accessor
  @use((_task, next) => next())
  get total(): number {
    return 1;
  }
}
// @ts-expect-error: the decorator without its call
@settings
export class NotCalled extends Ping {}

// settings
// @ts-expect-error: a misspelt option
settings({ tag: ["billing"] });
// @ts-expect-error: one tag instead of a list
settings({ tags: "billing" });
// @ts-expect-error: a tag that is no text
settings({ tags: [1] });
// @ts-expect-error: a logger that lacks a level
settings({ logger: { info: () => undefined, error: () => undefined } });
// @ts-expect-error: true is no logger
settings({ logger: true });
// @ts-expect-error: a part that a log line does not have
settings({ logFields: { inputs: ["orderId"] } });
// @ts-expect-error: fields to show are named one by one
settings({ logFields: { input: true } });
// @ts-expect-error: an option of the contract
settings({ name: "ChargeCard" });
// @ts-expect-error: settings without any
settings();

// deprecated
// @ts-expect-error: a mark without a message that says what to use instead
deprecated();
// @ts-expect-error: true is no message
deprecated(true);
// @ts-expect-error: an action that does not exist
deprecated("gone", { action: "throw" });
// @ts-expect-error: a misspelt option
deprecated("gone", { actions: "log" });
// @ts-expect-error: a gate that answers later
deprecated("gone", { if: async () => true });
// @ts-expect-error: a gate that is a value
deprecated("gone", { if: true });
// @ts-expect-error: a gate that reads an input which tasks at large do not have
deprecated("gone", { unless: (task) => task.input === undefined });

// Gates
export const gates: Gates<ChargeCard> = {
  if(task) {
    return this.input.amount === task.input.amount;
  },
  unless: null,
};
// @ts-expect-error: a gate that answers with a text
export const textGate: Gates = { if: (task) => task.runId };
// @ts-expect-error: a misspelt gate
export const misspelt: Gates = { when: () => true };

// Middlewares
export const middleware: MiddlewareFunction = async (task, next) => {
  const outcome = await next();
  type _Next = [Expect<Equal<typeof outcome, Outcome>>, Expect<Equal<typeof task, Task>>];
  if (outcome.status === "failed") task.logger.error({ by: outcome.by }, outcome.error.message);
  // @ts-expect-error: the output is read before the status is known
  void outcome.output;
  // @ts-expect-error: next takes nothing
  await next(task);
  return outcome;
};
// @ts-expect-error: a middleware that answers with something else than an outcome
export const junk: MiddlewareFunction = async () => 42;
// @ts-expect-error: an outcome without its output
export const noOutput: MiddlewareFunction = () => ({ status: "success" });
// @ts-expect-error: a status that does not exist
export const noStatus: MiddlewareFunction = () => ({ status: "done", output: 1 });
// @ts-expect-error: a failure that does not say by what
export const noBy: MiddlewareFunction = () => ({ status: "failed", error: new Error("x"), retryable: false });
// @ts-expect-error: a middleware gets two arguments
export const three: MiddlewareFunction = (_task: Task, next: Next, _more: unknown) => next();
for (const either of [middleware, { call: middleware }]) use(either);
export class Timing implements MiddlewareObject {
  readonly call: MiddlewareFunction = (_task, next) => next();
}
use(new Timing());
// @ts-expect-error: the same, by an object
use({ call: () => 42 });
// @ts-expect-error: a member that tasks do not have
use((task, next) => (task.total ? next() : undefined));
// @ts-expect-error: the same, beside gates
use((task, next) => next(), { if: (task) => task.total > 1 });
// @ts-expect-error: an object without call
use({ handle: (_task: Task, next: Next) => next() });
// @ts-expect-error: a name in the place of the middleware
use("logging");
// @ts-expect-error: a gate in the place of the gates
use(middleware, () => true);
// @ts-expect-error: an option that is no gate
use(middleware, { order: 1 });

// callback, the class decorator of all callbacks
@callback("on_failed", (task, outcome) => task.logger.error({ retryable: outcome.retryable }, outcome.error.message))
@callback("on_success", (task: ChargeCard, outcome) => task.logger.info({ output: outcome.output }, task.input.orderId))
@callback("around_execution", async (_task, next) => next(), { unless: (task) => task.attempt > 1 })
export class CalledBack extends ChargeCard {}
// @ts-expect-error: a callback that does not exist
callback("on_failure", () => undefined);
// @ts-expect-error: the decorator's name instead of the callback's
callback("onFailed", () => undefined);
// @ts-expect-error: a failure has no output
callback("on_failed", (_task, outcome) => outcome.output);
// @ts-expect-error: a success has no error
callback("on_success", (_task, outcome) => outcome.error);
// @ts-expect-error: before the run there is no outcome
callback("before_execution", (_task: Task, outcome: Outcome) => outcome);
// @ts-expect-error: no function
callback("on_failed");
// @ts-expect-error: a method's name in the place of a function
callback("on_failed", "notify");
// @ts-expect-error: a misspelt gate
callback("on_failed", () => undefined, { when: () => true });
// @ts-expect-error: a callback for another task's type
@callback("on_success", (task: ChargeCard) => task.input.orderId)
export class OtherTask extends Ping {}
