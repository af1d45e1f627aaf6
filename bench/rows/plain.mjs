/** What a run costs, and what each thing that is put around it adds. */
import { charge, GIVEN, input, output } from "../charge.mjs";
import { isSuccess } from "../proof.mjs";

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

  class Retried extends WithInput {}
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

  const works = { charges: 1, right: isSuccess };
  const parsed = "zod input + call";
  return [
    { name: "execute, no policies", floor: "bare call", call: () => Plain.execute(), ...works },
    { name: "execute, zod input", floor: parsed, peers: ["Nest CommandBus, zod input"], call: () => WithInput.execute(GIVEN), ...works },
    { name: "execute, zod input and output", floor: "zod input + call + zod output", call: () => WithBoth.execute(GIVEN), ...works },
    { name: "execute, every callback and a middleware", floor: "bare call", call: () => Watched.execute(), ...works },
    {
      name: "execute, zod input, retryOn, no failure",
      floor: parsed,
      peers: ["cockatiel retry, zod input, no failure"],
      call: () => Retried.execute(GIVEN),
      ...works,
    },
    {
      name: "execute, work throws",
      floor: "bare call that throws",
      call: () => Failing.execute(),
      right: ({ status }) => status === "failed",
    },
    { name: "execute, skipped", floor: "bare call", call: () => Skipping.execute(), right: ({ status }) => status === "skipped" },
  ];
}
