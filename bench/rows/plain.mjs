/** What a run costs, and what each thing that is put around it adds. */
import { charge, GIVEN, input, output } from "../charge.mjs";

/** @param {typeof import("../../dist/index.js")} library */
export function rows({ Task, callback, retryOn, use }) {
  class Plain extends Task.with() {
    async work() {
      return charge(GIVEN);
    }
  }

  class WithInput extends Task.with({ input }) {
    async work() {
      return charge(this.input);
    }
  }

  class WithBoth extends Task.with({ input, output }) {
    async work() {
      return charge(this.input);
    }
  }

  class Watched extends Plain {}
  const callbacks = [
    "before_execution",
    "before_validation",
    "after_execution",
    "on_complete",
    "on_interrupted",
    "on_success",
    "on_skipped",
    "on_failed",
    "on_ok",
    "on_ko",
  ];
  for (const name of callbacks) callback(name, () => undefined)(Watched);
  callback("around_execution", (_task, next) => next())(Watched);
  use((_task, next) => next())(Watched);

  class Retried extends Plain {}
  retryOn(Error)(Retried);

  class Failing extends Task.with() {
    async work() {
      throw new Error("card refused");
    }
  }

  class Skipping extends Task.with() {
    async work() {
      this.skip("nothing to charge");
    }
  }

  return [
    { name: "execute, no policies", floor: "bare call", call: () => Plain.execute() },
    { name: "execute, zod input", floor: "zod input + call", call: () => WithInput.execute(GIVEN) },
    { name: "execute, zod input and output", floor: "zod input + call + zod output", call: () => WithBoth.execute(GIVEN) },
    { name: "execute, every callback and a middleware", floor: "bare call", call: () => Watched.execute() },
    { name: "execute, retryOn, no failure", floor: "bare call", call: () => Retried.execute() },
    { name: "execute, work throws", floor: "bare call that throws", call: () => Failing.execute() },
    { name: "execute, skipped", floor: "bare call", call: () => Skipping.execute() },
  ];
}
