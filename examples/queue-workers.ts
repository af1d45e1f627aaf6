/**
 * A queue between processes: one enqueues, two work, on one Redis. One of the workers is killed when it has charged the customer and
 * nobody knows of it yet; the other does the job again, under the same id.
 *
 * REDIS_URL names the server, redis://127.0.0.1:6379 when it is not set.
 */
import { fork, type ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { Redis } from "ioredis";
import { Task } from "taskwright";
import { bullmqEngine } from "taskwright/bullmq";
import { Queue, queued } from "taskwright/queue";
import { z } from "zod";

const connection = process.env["REDIS_URL"] ?? "redis://127.0.0.1:6379";
const [role = "producer", name = ""] = process.argv.slice(2);
const namespace = process.env["EXAMPLE_NAMESPACE"] ?? `example-${randomUUID()}`;

/** Stands in for the provider of the cards, which charges once for a key, and counts how often it is asked. */
const provider = new Redis(connection);
async function charge(cents: number, { idempotencyKey }: { idempotencyKey: string }): Promise<string> {
  await provider.incr(`${namespace}:asked`);
  await provider.set(`${namespace}:${idempotencyKey}`, `ch_1 of ${cents} cents`, "NX");
  return (await provider.get(`${namespace}:${idempotencyKey}`)) ?? "";
}

@queued({ attempts: 3, timeout: "20s" })
class ChargeCustomer extends Task.with({
  input: z.object({ paymentId: z.string(), cents: z.number().int().positive() }),
  output: z.object({ charge: z.string(), by: z.string() }),
}) {
  async work() {
    const { paymentId, cents } = this.input;
    const id = await charge(cents, { idempotencyKey: paymentId });
    process.send?.("charged");
    if (name === "Ada") await new Promise(() => {}); // it is about to be killed
    return { charge: id, by: name };
  }
}

// A dead worker is missed after its lease. These times are short, so that nobody has to wait; 30 seconds each is the default.
const queue = new Queue({ engine: bullmqEngine({ connection, lease: "2s", stallCheck: "500ms" }), namespace });
if (role === "worker") await work();
else await produce();
await queue.close();
await provider.quit();

async function produce(): Promise<void> {
  const ada = await startWorker("Ada");
  const call = () => queue.enqueue(ChargeCustomer, { paymentId: "pay_1", cents: 9900 }, { uniqueKey: "charge:pay_1" });

  const job = await call();
  const again = await call();
  console.log(`Enqueued twice: ${again.id === job.id ? "one job" : "two jobs"}; the second call coalesced: ${again.coalesced}.`);

  await once(ada, "message");
  ada.kill("SIGKILL");
  await once(ada, "exit");
  console.log("Ada has charged the customer, and is killed before she can say so.");
  const meanwhile = await call();
  console.log(`Enqueued once more: still that job: ${meanwhile.id === job.id}.`);

  const ben = await startWorker("Ben");
  const result = await job.result({ timeout: "60s" });
  if (result.status !== "success") throw new Error(result.reason);
  console.log(`${result.output.by} did the job again: ${result.output.charge}; attempts: ${(await job.look())?.attempts}.`);
  console.log(`The provider was asked ${await provider.get(`${namespace}:asked`)} times, and charged once, since it was given a key.`);

  const later = await call();
  console.log(`Enqueued after the end: a new job: ${later.id !== job.id && !later.coalesced}.`);
  await later.result({ timeout: "60s" });
  ben.send("end");
  await once(ben, "exit");
}

async function startWorker(its: string): Promise<ChildProcess> {
  const worker = fork(fileURLToPath(import.meta.url), ["worker", its], { env: { ...process.env, EXAMPLE_NAMESPACE: namespace } });
  await once(worker, "message");
  return worker;
}

/** One of the workers. */
async function work(): Promise<void> {
  await queue.work([ChargeCustomer], { concurrency: 5 });
  process.send?.("ready");
  await once(process, "message");
  process.disconnect();
}
