/** What listeners cost. Each listens to the start and the end of a run. */
import { charge, GIVEN } from "../charge.mjs";
import { isSuccess } from "../proof.mjs";

/** @param {typeof import("../../dist/index.js")} library */
export function rows({ Task }) {
  return [0, 1, 10].map((subscribers) => {
    class Heard extends Task.with() {
      async work() {
        return charge(GIVEN);
      }
    }
    for (let i = 0; i < subscribers; i += 1) {
      Heard.telemetry.subscribe("task_started", () => undefined);
      Heard.telemetry.subscribe("task_executed", () => undefined);
    }
    return { name: `execute, subscribers: ${subscribers}`, floor: "bare call", call: () => Heard.execute(), charges: 1, right: isSuccess };
  });
}
