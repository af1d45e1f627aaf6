/**
 * A queue in one process: equal calls are one job, attempts and dead jobs, and an effect that happens once though a job comes twice.
 */
import { idempotentBy, Task } from "taskwright";
import { autoKey, Queue, queued } from "taskwright/queue";
import { z } from "zod";

const provider = { isDown: false, charged: [] as string[] };

/** `@queued` makes equal calls one job; `@idempotentBy` makes the effect happen once, whatever the queue does. */
@queued({ idempotent: true, attempts: 2, backoff: "20ms" })
@idempotentBy("paymentId", { ttl: "10m" })
class ChargeCustomer extends Task.with({
  input: z.object({ paymentId: z.string(), amountCents: z.number() }),
  output: z.object({ chargeId: z.string(), at: z.date() }),
}) {
  work() {
    if (provider.isDown) throw new Error(`the provider is down, says attempt ${this.job?.attempt}`);
    provider.charged.push(this.input.paymentId);
    return { chargeId: `ch_${provider.charged.length}`, at: new Date("2030-01-01") };
  }
}

const queue = new Queue();
ChargeCustomer.telemetry.subscribe("job_retried", ({ payload }) => console.log(`  tried again in ${payload.delayMs} ms`));

// Two calls, one job.
const payment = { paymentId: "pay_1", amountCents: 9900 };
const first = await queue.enqueue(ChargeCustomer, payment);
const second = await queue.enqueue(ChargeCustomer, payment);
console.log("Is the second call the first job?", second.id === first.id, second.coalesced);
console.log("Its key:", (await first.look())?.key);
console.log("Made by hand:", autoKey("ChargeCustomer", JSON.stringify(payment)));

// A worker, and the result with its types.
const worker = await queue.work([ChargeCustomer], { concurrency: 5 });
const result = await first.result();
if (result.status === "success") console.log("The result:", result.output.chargeId, result.output.at.getUTCFullYear());

// The job has ended, so the key is free and the next call is a new job. Its run is a duplicate, and charges nobody.
const third = await queue.enqueue(ChargeCustomer, payment);
const again = await third.result();
console.log("A third call is a new job:", third.id !== first.id, `and its run is ${again.status} (${again.metadata.code})`);

// A batch in one call of the engine, in input order.
const batch = await queue.enqueueMany(ChargeCustomer, [
  { input: { paymentId: "pay_2", amountCents: 1 } },
  { input: { paymentId: "pay_2", amountCents: 1 } },
  { input: { paymentId: "pay_3", amountCents: 1 }, uniqueKey: "charge:pay_3" },
]);
console.log("A batch:", batch.map(({ coalesced }) => (coalesced ? "coalesced" : "new")).join(", "));
for (const job of batch) await job.result();

// Attempts, a dead job, and its replay.
provider.isDown = true;
console.log("The provider goes down:");
const doomed = await queue.enqueue(ChargeCustomer, { paymentId: "pay_4", amountCents: 1 });
await doomed.result();
const [dead] = await queue.dead();
console.log("  dead:", dead?.reason);
provider.isDown = false;
const replayed = await queue.replay(doomed.id);
console.log("  replayed:", (await queue.result(ChargeCustomer, replayed?.id ?? "")).status);

console.log("What was charged:", provider.charged.join(", "));
await worker.stop();
await queue.close();
