/**
 * A time limit: the caller has its answer at the deadline, and what protects the payment stays until the work has come to rest.
 */
import { configure, idempotentBy, Task, timeout } from "taskwright";
import { z } from "zod";

const bank = { charge: () => new Promise<string>((resolve) => setTimeout(resolve, 300, "ch_1")) }; // slow, and deaf to any signal

let freed = (): void => {};
const released = new Promise<void>((resolve) => (freed = resolve));
configure((config) => {
  config.telemetry.subscribe("attempt_timed_out", ({ payload }) => console.log(`no answer within ${payload.timeoutMs} ms`));
  config.telemetry.subscribe("idempotency_released", () => freed());
});

@timeout("50ms")
@idempotentBy("paymentId", { ttl: "10m" })
class ChargeCustomer extends Task.with({ input: z.object({ paymentId: z.string() }) }) {
  async work() {
    const chargeId = await bank.charge();
    console.log(`the bank has charged after all: ${chargeId}`);
    return { chargeId };
  }

  override rollback() {
    console.log("the charge is given back");
  }
}

const first = await ChargeCustomer.execute({ paymentId: "pay_1" });
console.log(`first: ${first.status}, ${first.metadata["code"]}`);

const second = await ChargeCustomer.execute({ paymentId: "pay_1" });
console.log(`second, right after it: ${second.status}, ${second.metadata["code"]}`);

await released;
console.log("the key is free again");
