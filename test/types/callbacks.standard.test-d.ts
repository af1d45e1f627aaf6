/** What only standard decorators allow: a callback that is private by its `#`. */
import { onFailed, onSuccess, type FailedOutcome, type SuccessOutcome } from "taskwright";
import { ChargeCard } from "./tasks.js";

export class Private extends ChargeCard {
  @onFailed() #note(outcome: FailedOutcome) {
    return outcome;
  }
  // @ts-expect-error: a failure where a success is expected
  @onFailed() #wrong(outcome: SuccessOutcome) {
    return outcome;
  }
  // @ts-expect-error: on an auto-accessor
  @onSuccess() accessor count = 1;

  static owns(task: Private): boolean {
    return #note in task && #wrong in task;
  }
}
