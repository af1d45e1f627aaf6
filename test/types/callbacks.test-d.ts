/** Decorators of methods, one for each callback: what the method is given, and where the decorator cannot stand. */
import {
  afterExecution,
  aroundExecution,
  beforeExecution,
  beforeValidation,
  onComplete,
  onFailed,
  onInterrupted,
  onKo,
  onOk,
  onSkipped,
  onSuccess,
  type CallbackArguments,
  type FailedOutcome,
  type Next,
  type Outcome,
  type Result,
  type SkippedOutcome,
  type SuccessOutcome,
} from "taskwright";
import type { Equal, Expect } from "./exact.js";
import { ChargeCard, Ping } from "./tasks.js";

export type Arguments = Expect<
  Equal<
    CallbackArguments,
    {
      before_execution: [];
      before_validation: [];
      around_execution: [next: Next];
      after_execution: [outcome: Outcome];
      on_complete: [outcome: SuccessOutcome];
      on_interrupted: [outcome: SkippedOutcome | FailedOutcome];
      on_success: [outcome: SuccessOutcome];
      on_skipped: [outcome: SkippedOutcome];
      on_failed: [outcome: FailedOutcome];
      on_ok: [outcome: SuccessOutcome | SkippedOutcome];
      on_ko: [outcome: SkippedOutcome | FailedOutcome];
    }
  >
>;

// Each where it belongs. A method may take less than it is given, and a wider type.
export class Watched extends ChargeCard {
  @beforeExecution() first() {}
  @beforeValidation({ if: (task) => task.attempt === 1, unless: null })
  async second() {}
  @aroundExecution() async third(next: Next) {
    return next();
  }
  @afterExecution() always(outcome: Outcome) {
    return outcome.status;
  }
  @onComplete() complete(outcome: SuccessOutcome) {
    return outcome.output;
  }
  @onInterrupted() interrupted(outcome: SkippedOutcome | FailedOutcome) {
    return outcome.reason;
  }
  @onSuccess() success1(outcome: SuccessOutcome) {
    return [outcome.output, this.input.amount];
  }
  @onSkipped() skipped(outcome: SkippedOutcome) {
    return outcome.reason;
  }
  @onFailed() failed(outcome: FailedOutcome) {
    return outcome.error.message;
  }
  @onOk() ok(outcome: SuccessOutcome | SkippedOutcome) {
    return outcome.status;
  }
  @onKo() ko(outcome: SkippedOutcome | FailedOutcome) {
    return outcome.status;
  }
  @onSuccess()
  @onFailed()
  both(outcome: Outcome) {
    return outcome.status;
  }
  @onFailed() protected guarded() {}
  @onFailed() private hidden(outcome: FailedOutcome) {
    return outcome;
  }
}

// Gates that know the task say its name; a class may be named inside its own body.
export class Gated extends ChargeCard {
  @onFailed<Gated>({ if: (task) => task.input.amount > 1 && task.limit > 1 })
  large(outcome: FailedOutcome) {
    return outcome;
  }
  @onSuccess({ unless: (task: ChargeCard) => task.input.currency === "USD" })
  foreign() {}
  readonly limit = 1;
}
export class WrongGates extends Ping {
  // @ts-expect-error: gates for another task's type
  @onFailed<ChargeCard>({ if: (task) => task.input.amount > 1 })
  a() {}
  // @ts-expect-error: a gate that reads an input which tasks at large do not have
  @onFailed({ if: (task) => task.input === undefined })
  b() {}
}

// What the method takes is not what it is given.
export class WrongArguments extends ChargeCard {
  // @ts-expect-error: a failure where a success is expected
  @onFailed() a(outcome: SuccessOutcome) {
    return outcome;
  }
  // @ts-expect-error: a success where a failure is expected
  @onSuccess() b(outcome: FailedOutcome) {
    return outcome;
  }
  // @ts-expect-error: a skip or a failure where only a failure is expected
  @onKo() c(outcome: FailedOutcome) {
    return outcome;
  }
  // @ts-expect-error: a success or a skip where only a success is expected
  @onOk() d(outcome: SuccessOutcome) {
    return outcome;
  }
  // @ts-expect-error: any outcome where only a success is expected
  @afterExecution() e(outcome: SuccessOutcome) {
    return outcome;
  }
  // @ts-expect-error: the outcome is not yet the result
  @onFailed() f(outcome: Result) {
    return outcome;
  }
  // @ts-expect-error: the error instead of the outcome
  @onFailed() g(error: Error) {
    return error;
  }
  // @ts-expect-error: before the run there is nothing to be given
  @beforeExecution() h(outcome: Outcome) {
    return outcome;
  }
  // @ts-expect-error: around a run there is next, not an outcome
  @aroundExecution() i(outcome: Outcome) {
    return outcome;
  }
  // @ts-expect-error: next belongs around, not after
  @afterExecution() j(next: Next) {
    return next();
  }
  // @ts-expect-error: an argument too many
  @onFailed() k(outcome: FailedOutcome, task: ChargeCard) {
    return [outcome, task];
  }
  // @ts-expect-error: a method of other tasks
  @onFailed() l(this: Ping, outcome: FailedOutcome) {
    return outcome;
  }
}

// Where the decorator cannot stand.
export class Misplaced extends ChargeCard {
  // @ts-expect-error: on a field
  @onFailed() count = 1;
  // @ts-expect-error: on a field that holds a function
  @onFailed() arrow = (outcome: FailedOutcome) => outcome;
  // @ts-expect-error: on a getter
  @onFailed() get total() {
    return 1;
  }
  // @ts-expect-error: on a setter
  @onFailed() set limit(_limit: number) {}
  // @ts-expect-error: on a static method
  @onFailed() static all() {}
  // @ts-expect-error: without its call
  @onFailed notCalled() {}
}
// @ts-expect-error: on a class
@onFailed()
export class OnClass extends Ping {}
export class NoTask {
  // @ts-expect-error: on a method of a class that is no task
  @onFailed() a() {}
}

// Gates
// @ts-expect-error: a misspelt gate
onFailed({ when: () => true });
// @ts-expect-error: a gate in the place of the gates
onFailed(() => true);
// @ts-expect-error: a gate that answers later
onFailed({ if: async () => true });
// @ts-expect-error: gates are not asked about the outcome
onFailed({ if: (_task: unknown, outcome: FailedOutcome) => outcome.retryable });
// @ts-expect-error: a message in the place of the gates
onFailed("notify");
