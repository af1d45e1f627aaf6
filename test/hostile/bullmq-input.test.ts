import { Redis } from "ioredis";
import { Task } from "taskwright";
import { bullmqEngine } from "taskwright/bullmq";
import { aesGcm, cborSerializer, gzip, Queue, type Engine } from "taskwright/queue";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { eventually, jobOf, namespaceOf } from "../bullmq/jobs.js";
import { provideRedis } from "../support/redis.js";

let server: Awaited<ReturnType<typeof provideRedis>>;
const engines: Engine[] = [];
const queues: Queue[] = [];

beforeAll(async () => {
  server = await provideRedis();
});
afterAll(async () => {
  for (const queue of queues) await queue.close({ grace: 0 });
  for (const engine of engines) await engine.close();
  await server.stop();
});

function engineFor(namespace: string): Engine {
  const engine = bullmqEngine({ connection: server.url })(namespace);
  engines.push(engine);
  return engine;
}

function queueFor(namespace: string, options: object = {}): Queue {
  const queue = new Queue({ engine: bullmqEngine({ connection: server.url }), namespace, ...options });
  queues.push(queue);
  return queue;
}

const KEYS = ["'; DROP TABLE jobs; --", "a:b:c", "😀", " padded ", "k".repeat(512), "__proto__", "*", "\n", "\u2028", "wait", "meta"];

test.each(["a'b\"; DROP", "emoji 😀", "{tag}", "*?[a]", "n".repeat(5_000), "..\\/", "%3A"])(
  "the namespace %s keeps keys apart, whatever they look like",
  async (name) => {
    const engine = engineFor(`${name}-${namespaceOf()}`);
    for (const key of KEYS) {
      const job = jobOf({ key });
      expect(await engine.enqueue([job, jobOf({ key })])).toEqual([
        { id: job.id, coalesced: false },
        { id: job.id, coalesced: true },
      ]);
      expect(await engine.holder(key)).toBe(job.id);
    }
  },
);

class Pair extends Task.with({ name: "Pair", input: z.object({ a: z.unknown() }), output: z.object({ a: z.unknown() }) }) {
  work() {
    return { a: this.input.a };
  }
}

describe("a payload that somebody else has written", () => {
  test.each([
    '{"v":1,"serializer":"json","text":"{\\"a\\":1,\\"__proto__\\":{\\"polluted\\":1}}"}',
    '{"v":1,"serializer":"json","text":"{\\"a\\":1}","origin":{"chainId":"c","__proto__":{"polluted":1}}}',
    '{"v":1,"serializer":"json","text":"{}","codecs":"gzip"}',
    '{"v":1,"serializer":"json","text":"not json"}',
    '{"v":1,"serializer":"cbor","base64":"AoE="}',
    "not json",
  ])("%s ends its job after one attempt, and pollutes nothing", async (payload) => {
    const namespace = namespaceOf();
    const engine = engineFor(namespace);
    const job = { ...jobOf({ payload, attempts: 5 }), task: "Pair" };
    await engine.enqueue([job]);
    await queueFor(namespace).work([Pair]);
    const ended = await eventually("its end", async () => {
      const record = await engine.get(job.id);
      return record?.endedAt !== undefined && record;
    });
    expect(ended.attempts).toBe(1);
    expect(Reflect.get({}, "polluted")).toBeUndefined();
  });

  test("that nobody here can read waits for somebody who can", async () => {
    const namespace = namespaceOf();
    const engine = engineFor(namespace);
    const jobs = ["null", "5", "[]", '{"v":2}', '{"v":1,"serializer":"__proto__","text":"1"}'].map((payload) => ({
      ...jobOf({ payload }),
      task: "Pair",
    }));
    await engine.enqueue(jobs);
    const queue = queueFor(namespace);
    await queue.work([Pair]);
    expect(await (await queue.enqueue(Pair, { a: 1 })).result()).toMatchObject({ status: "success" });
    for (const { id } of jobs) expect(await engine.get(id)).toMatchObject({ state: "pending", attempts: 0 });
  });
});

test("queues of one namespace with other serializers and codecs read each other's jobs and results", async () => {
  const namespace = namespaceOf();
  const zipped = queueFor(namespace, { codecs: [gzip()] });
  const binary = queueFor(namespace, { serializer: cborSerializer(), retiredCodecs: [gzip()] });
  await binary.work([Pair]);
  const first = await zipped.enqueue(Pair, { a: "by json" }, { uniqueKey: "k" });
  expect(await first.result()).toMatchObject({ status: "success", output: { a: "by json" } });
  const second = await binary.enqueue(Pair, { a: "by cbor" }, { uniqueKey: "k" });
  expect(await zipped.result(Pair, second.id)).toMatchObject({ status: "success", output: { a: "by cbor" } });
});

test("an input of eight million bytes and its result go through, encrypted", async () => {
  const queue = queueFor(namespaceOf(), { codecs: [aesGcm({ keys: { now: new Uint8Array(32) } })] });
  await queue.work([Pair]);
  const a = "é".repeat(4_000_000);
  const result = await (await queue.enqueue(Pair, { a })).result();
  expect(result.status === "success" && result.output.a === a).toBe(true);
});

test("a worker that is being started while its queue closes leaves no connection open", async () => {
  const redis = new Redis(server.url);
  const clients = async (): Promise<number> =>
    String(await redis.client("LIST"))
      .trim()
      .split("\n").length;
  const before = await clients();
  for (let round = 0; round < 3; round += 1) {
    const queue = queueFor(namespaceOf());
    const starting = queue.work([Pair]).catch(() => undefined);
    await queue.close();
    await starting;
  }
  expect(await eventually("the connections to be gone", async () => (await clients()) === before)).toBe(true);
  redis.disconnect();
});
