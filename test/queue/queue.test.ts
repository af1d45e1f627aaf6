import { afterEach, describe, expect, test } from "vitest";
import { resetConfiguration, Task } from "taskwright";
import { Queue } from "taskwright/queue";
import { z } from "zod";

afterEach(resetConfiguration);

class ChargeCustomer extends Task.with({
  input: z.object({ customerId: z.number(), amountCents: z.coerce.number() }),
  output: z.object({ chargeId: z.string(), at: z.coerce.date() }),
}) {
  work() {
    return { chargeId: `ch_${this.input.customerId}_${this.input.amountCents}`, at: "2030-01-01" };
  }
}

describe("a queue", () => {
  test("runs a task later, and gives back its result with its types", async () => {
    const queue = new Queue();
    const job = await queue.enqueue(ChargeCustomer, { customerId: 42, amountCents: "1000" });
    expect(job.coalesced).toBe(false);
    expect(await job.look()).toMatchObject({ state: "pending", task: "ChargeCustomer", input: { customerId: 42, amountCents: "1000" } });

    await queue.work([ChargeCustomer]);
    const result = await job.result();

    expect(result).toMatchObject({ status: "success", output: { chargeId: "ch_42_1000", at: new Date("2030-01-01") } });
    expect(await queue.job(job.id)).toMatchObject({ state: "completed", attempts: 1, result: { status: "success" } });
    await queue.close();
  });
});
