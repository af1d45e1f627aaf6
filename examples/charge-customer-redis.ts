/**
 * Idempotency between processes: four of them are asked for the same payment at the same moment, and share one Redis.
 *
 * REDIS_URL names the server, redis://127.0.0.1:6379 when it is not set.
 */
import { fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { Redis } from "ioredis";
import { configure, idempotentBy, keyFor, slots, Task } from "taskwright";
import { RedisStore } from "taskwright/redis";
import { z } from "zod";

const redis = new Redis(process.env["REDIS_URL"] ?? "redis://127.0.0.1:6379");
const store = new RedisStore(redis);
configure((config) => {
  config.store = store;
});

/** Who comes while the first is at work waits for it, and gets its output. */
@idempotentBy("paymentId", { ttl: "1m", onDuplicate: "replay" })
class ChargeCustomer extends Task.with({
  input: z.object({ paymentId: z.string(), amountCents: z.number().int().positive() }),
  output: z.object({ chargeId: z.string() }),
}) {
  async work() {
    const charges = await redis.incr(`charges:${this.input.paymentId}`); // stands in for a provider that would charge each time
    return { chargeId: `ch_${charges}` };
  }
}

if (process.argv[2] === "worker") await serve();
else await ask(`pay_${randomUUID()}`);
await redis.quit();

/** Starts the processes, asks all of them once they are up, and shows what they answer. */
async function ask(paymentId: string): Promise<void> {
  const { warnings } = await store.verify(); // does this server keep its word?
  for (const warning of warnings) console.log(warning);

  const workers = [1, 2, 3, 4].map(() => fork(fileURLToPath(import.meta.url), ["worker"]));
  await Promise.all(workers.map((worker) => once(worker, "message")));
  const answers = workers.map((worker) => once(worker, "message"));
  for (const worker of workers) worker.send(paymentId);

  const told = (await Promise.all(answers)).map(([answer]) => String(answer)).toSorted();
  console.log(`Four processes were asked at once:\n  ${told.join("\n  ")}`);
  console.log(`The customer was charged ${await redis.get(`charges:${paymentId}`)} time.`);
  await redis.del(`charges:${paymentId}`);

  const key = await keyFor(ChargeCustomer, { paymentId, amountCents: 9900 });
  console.log(`What Redis has begins with the word ${(await redis.get(key ?? ""))?.split(" ")[0]}.`);
  for await (const slot of slots(store, { task: ChargeCustomer, state: "completed" })) {
    if (slot.key === key) console.log(`In slots() it is ${slot.state}, and ${slot.owner ?? "nobody"} holds it.`);
  }
}

/** One of the processes. */
async function serve(): Promise<void> {
  await redis.ping();
  process.send?.("ready");
  const [paymentId] = (await once(process, "message")) as [string]; // what `ask` sends
  const result = await ChargeCustomer.execute({ paymentId, amountCents: 9900 });
  process.send?.(result.status === "success" ? `${result.output.chargeId}, ${result.replayed ? "replayed" : "charged"}` : result.reason);
  process.disconnect();
}
