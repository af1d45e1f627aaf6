import { Queue as Bull } from "bullmq";
import { Redis } from "ioredis";
import { bullmqEngine } from "taskwright/bullmq";
import type { Engine } from "taskwright/queue";
import { afterAll, beforeAll, expect, test } from "vitest";
import { provideRedis } from "../support/redis.js";
import { eventually, handlerOf, jobOf, namespaceOf } from "./jobs.js";

let server: Awaited<ReturnType<typeof provideRedis>>;
let redis: Redis;
const opened: Engine[] = [];

beforeAll(async () => {
  server = await provideRedis();
  redis = new Redis(server.url);
});
afterAll(async () => {
  for (const engine of opened) await engine.close();
  redis.disconnect();
  await server.stop();
});

function open(namespace: string): Engine {
  const engine = bullmqEngine({ connection: server.url, timeLimit: "2s" })(namespace);
  opened.push(engine);
  return engine;
}

async function commands(): Promise<number> {
  return Number(/total_commands_processed:(\d+)/.exec(await redis.info("stats"))?.[1]);
}

test("a job that is in none of BullMQ's lists is told of, and not asked for again and again", async () => {
  const namespace = namespaceOf();
  const engine = open(namespace);
  await engine.enqueue([jobOf({ id: "orphan" })]);
  await redis.del(`bull:${namespace}:prioritized`, `bull:${namespace}:wait`);
  const before = await commands();
  await expect(engine.get("orphan")).rejects.toThrow("The job orphan is in none of BullMQ's lists");
  expect((await commands()) - before).toBeLessThan(100);
});

test("a job of another program in the namespace hides none of ours, and can be looked at", async () => {
  const namespace = namespaceOf();
  const engine = open(namespace);
  const mine = jobOf();
  await engine.enqueue([mine]);
  const bull = new Bull(namespace, { connection: { url: server.url } });
  await bull.add("Foreign", { hello: 1 }, { jobId: "foreign" });
  await bull.add("Foreign", null, { jobId: "empty" });
  await engine.work(
    handlerOf(() => ({ kind: "failed", answer: "", reason: "down", retry: false })),
    { concurrency: 1 },
  );
  for (const id of [mine.id, "foreign", "empty"]) await eventually(`${id} to die`, async () => (await engine.get(id))?.state === "dead");
  expect((await engine.dead({ limit: 10, offset: 0 })).map(({ id }) => id)).toEqual(expect.arrayContaining([mine.id, "foreign", "empty"]));
  expect(await engine.get("foreign")).toMatchObject({ task: "Foreign", payload: "" });
  await bull.close();
});
