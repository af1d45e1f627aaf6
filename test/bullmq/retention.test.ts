import { Queue } from "bullmq";
import { Redis } from "ioredis";
import { bullmqEngine } from "taskwright/bullmq";
import { afterAll, beforeAll, expect, test } from "vitest";
import { provideRedis } from "../support/redis.js";
import { eventually, handlerOf, jobOf, namespaceOf } from "./jobs.js";

let server: Awaited<ReturnType<typeof provideRedis>>;
let client: Redis;
beforeAll(async () => {
  server = await provideRedis();
  client = new Redis(server.url);
});
afterAll(async () => {
  client.disconnect();
  await server.stop();
});

const HOUR_MS = 3_600_000;

/** Makes a completed job one that ended a while ago. */
async function backdate(namespace: string, id: string, agoMs: number): Promise<void> {
  const endedAt = Date.now() - agoMs;
  await client.zadd(`bull:${namespace}:completed`, endedAt, id);
  await client.hset(`bull:${namespace}:${id}`, "finishedOn", endedAt);
}

test("finished jobs are stored for the longest time in use, and told of for their own", async () => {
  const namespace = namespaceOf();
  const engine = bullmqEngine({ connection: server.url })(namespace);
  const worker = await engine.work(handlerOf(), { concurrency: 1 });
  const complete = async (keepMs: number): Promise<string> => {
    const { id, ...job } = jobOf({ keepMs: { completed: keepMs, dead: keepMs } });
    await engine.enqueue([{ id, ...job }]);
    await engine.settled(id, { timeoutMs: 10_000 });
    return id;
  };
  const [long, overdue, short] = [await complete(2 * HOUR_MS), await complete(2 * HOUR_MS), await complete(1_000)];
  await backdate(namespace, long, HOUR_MS);
  await backdate(namespace, overdue, 3 * HOUR_MS);
  await backdate(namespace, short, HOUR_MS);

  await complete(1_000); // it has BullMQ remove what is too old

  expect(await engine.get(long)).toMatchObject({ id: long, state: "completed" });
  expect(await client.exists(`bull:${namespace}:${overdue}`)).toBe(0);
  expect(await engine.get(short)).toBeUndefined();
  await worker.stop({ graceMs: 0 });
  await engine.close();
});

test("times that are in use are known to a worker that starts later", async () => {
  const namespace = namespaceOf();
  const options = { connection: server.url };
  const producer = bullmqEngine(options)(namespace);
  const long = jobOf({ keepMs: { completed: 2 * HOUR_MS, dead: HOUR_MS } });
  await producer.enqueue([long]);
  const first = await producer.work(handlerOf(), { concurrency: 1 });
  await producer.settled(long.id, { timeoutMs: 10_000 });
  await first.stop({ graceMs: 0 });
  await backdate(namespace, long.id, HOUR_MS);

  const other = bullmqEngine(options)(namespace);
  const worker = await other.work(handlerOf(), { concurrency: 1 });
  const short = jobOf({ keepMs: { completed: 1_000, dead: 1_000 } });
  await other.enqueue([short]);
  await other.settled(short.id, { timeoutMs: 10_000 });

  expect(await other.get(long.id)).toMatchObject({ state: "completed" });
  await worker.stop({ graceMs: 0 });
  await other.close();
  await producer.close();
});

test("a job that was cancelled while it was pending waits for nothing but its end, which changes nothing of what is told of it", async () => {
  const namespace = namespaceOf();
  const engine = bullmqEngine({ connection: server.url })(namespace);
  const job = jobOf({ delayMs: HOUR_MS });
  await engine.enqueue([job]);
  await engine.cancel(job.id);
  const record = await engine.get(job.id);
  expect(record).toMatchObject({ id: job.id, state: "cancelled", attempts: 0, options: { delayMs: HOUR_MS } });

  const handler = handlerOf();
  const worker = await engine.work(handler, { concurrency: 1 });
  const bull = new Queue(namespace, { connection: { url: server.url } });
  const stored = await bull.getJob(job.id);
  expect(stored?.delay).toBe(job.options.keepMs.completed);
  await stored?.promote(); // in place of waiting for its time

  await eventually("a worker to come upon it", async () => (await bull.getJobState(job.id)) === "failed");
  expect(await engine.get(job.id)).toEqual(record);
  expect(handler.troubles).toEqual([]);
  await bull.close();
  await worker.stop({ graceMs: 0 });
  await engine.close();
});
