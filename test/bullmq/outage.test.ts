import { createServer } from "node:net";
import { once } from "node:events";
import { Redis } from "ioredis";
import { QueueUnavailableError } from "taskwright/queue";
import { bullmqEngine, type BullmqOptions } from "taskwright/bullmq";
import { afterEach, describe, expect, test } from "vitest";
import { startRedis, type RedisServer } from "../support/redis.js";
import { eventually, handlerOf, jobOf, namespaceOf } from "./jobs.js";

const servers: RedisServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop();
});

async function started(): Promise<RedisServer> {
  const server = await startRedis();
  servers.push(server);
  return server;
}

/** A port where nobody answers. */
async function deadPort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  return typeof address === "object" && address !== null ? address.port : 0;
}

/** What a call rejects with, and how long that took. */
async function rejection(call: () => Promise<unknown>): Promise<{ error: QueueUnavailableError; ms: number }> {
  const began = performance.now();
  const error: unknown = await call().then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(QueueUnavailableError);
  return { error: error as QueueUnavailableError, ms: performance.now() - began }; // asserted above
}

const backends: readonly [string, (port: number) => BullmqOptions][] = [
  ["Redis", (port) => ({ connection: `redis://127.0.0.1:${port}`, timeLimit: "400ms" })],
  ["PostgreSQL", (port) => ({ backend: "postgres", connection: `postgres://user@127.0.0.1:${port}/none`, timeLimit: "400ms" })],
];

describe.each(backends)("an engine that finds no %s", (name, optionsOf) => {
  test("fails at the first enqueue, within its time limit, and says what and why", async () => {
    const engine = bullmqEngine(optionsOf(await deadPort()))(namespaceOf());
    const job = jobOf({ key: "k" });

    const { error, ms } = await rejection(() => engine.enqueue([job]));

    expect(ms).toBeLessThan(2_000);
    expect(error.message).toMatch(
      new RegExp(`^To enqueue Task failed: ${name} (did not answer within 400 ms|refused it) \\(.*ECONNREFUSED`),
    );
    expect(error.message).toContain("To repeat it with the same ids is safe");
    expect(error.ids).toEqual([job.id]);
    expect(error.cause).toMatchObject({ code: "ECONNREFUSED" });
    await engine.close();
  });

  test("answers no other call either, and closes all the same", async () => {
    const engine = bullmqEngine(optionsOf(await deadPort()))(namespaceOf());
    const calls: (() => Promise<unknown>)[] = [
      () => engine.enqueue([jobOf(), jobOf()]),
      () => engine.get("id"),
      () => engine.holder("key"),
      () => engine.settled("id", { timeoutMs: 10_000 }),
      () => engine.cancel("id"),
      () => engine.dead({ limit: 1, offset: 0 }),
      () => engine.forget("id"),
      () => engine.schedules(),
      () => engine.unschedule("name"),
      () => engine.work(handlerOf(), { concurrency: 1 }),
    ];
    const rejections = await Promise.all(calls.map(rejection));
    for (const { ms } of rejections) expect(ms).toBeLessThan(3_000);
    expect(rejections[0]?.error.message).toMatch(/^To enqueue 2 jobs failed/);
    expect(rejections[1]?.error.message).toContain("Nothing was changed by it.");

    const began = performance.now();
    await engine.close();
    expect(performance.now() - began).toBeLessThan(3_000);
  });
});

describe("an engine whose Redis hangs", () => {
  test("fails in time; the enqueue, repeated with the same ids, is kept once", async () => {
    const server = await started();
    const engine = bullmqEngine({ connection: server.url, timeLimit: "500ms" })(namespaceOf());
    await engine.get("to connect");
    const jobs = [jobOf({ key: "k1" }), jobOf(), jobOf({ key: "k1" })];

    server.freeze();
    await rejection(() => engine.enqueue(jobs));
    server.thaw();
    const receipts = await eventually("an answer", () => engine.enqueue(jobs).catch(() => undefined));

    expect(receipts).toEqual([
      { id: jobs[0]?.id, coalesced: false },
      { id: jobs[1]?.id, coalesced: false },
      { id: jobs[0]?.id, coalesced: true },
    ]);
    const ran: string[] = [];
    const worker = await engine.work(
      handlerOf(({ id }) => (ran.push(id), { kind: "completed", answer: "" })),
      { concurrency: 5 },
    );
    for (const { id } of receipts) await engine.settled(id, { timeoutMs: 10_000 });
    expect(new Set(ran)).toEqual(new Set([jobs[0]?.id, jobs[1]?.id]));
    expect(ran).toHaveLength(2);
    await worker.stop({ graceMs: 0 });
    await engine.close();
  });
});

describe("an engine whose Redis ends and comes back", () => {
  test("goes on: its worker tells of the trouble and takes what is enqueued then", async () => {
    const server = await started();
    const engine = bullmqEngine({ connection: server.url, timeLimit: "1s" })(namespaceOf());
    const handler = handlerOf();
    const worker = await engine.work(handler, { concurrency: 2 });
    await engine.enqueue([jobOf({ key: "k" })]);

    await server.kill();
    await rejection(() => engine.get("id"));
    await server.start();
    const job = jobOf({ key: "k" });
    await eventually("an answer", () => engine.enqueue([job]).catch(() => undefined));

    expect(await engine.settled(job.id, { timeoutMs: 30_000 })).toMatchObject({ state: "completed" });
    expect(handler.troubles.length).toBeGreaterThan(0);
    await worker.stop({ graceMs: 0 });
    await engine.close();
  });
});

describe("keys whose jobs are gone behind the engine's back", () => {
  test("are free: the next enqueue is kept", async () => {
    const server = await started();
    const namespace = namespaceOf();
    const engine = bullmqEngine({ connection: server.url })(namespace);
    const client = new Redis(server.url);
    const lost = jobOf({ key: "k" });
    await engine.enqueue([lost]);
    await client.del(`bull:${namespace}:${lost.id}`);

    expect(await engine.holder("k")).toBeUndefined();
    const job = jobOf({ key: "k" });
    expect(await engine.enqueue([job])).toEqual([{ id: job.id, coalesced: false }]);
    expect(await engine.holder("k")).toBe(job.id);

    await client.flushall();
    expect(await engine.get(job.id)).toBeUndefined();
    expect(await engine.enqueue([jobOf({ key: "k" })])).toMatchObject([{ coalesced: false }]);
    client.disconnect();
    await engine.close();
  });
});

describe("a batch that Redis takes only in part", () => {
  test("rejects, and is completed by repeating it with the same ids", async () => {
    const server = await started();
    const client = new Redis(server.url);
    const engine = bullmqEngine({ connection: server.url })(namespaceOf());
    const jobs = Array.from({ length: 300 }, (_, at) => jobOf({ key: `k${at}`, payload: "x".repeat(20_000) }));
    await engine.get("to connect");
    const [, used = ""] = /used_memory:(\d+)/.exec(await client.info("memory")) ?? [];
    await client.config("SET", "maxmemory", String(Number(used) + 2_500_000));

    await rejection(() => engine.enqueue(jobs));
    const records = await Promise.all(jobs.map(({ id }) => engine.get(id)));
    const kept = records.filter((record) => record !== undefined).length;
    await client.config("SET", "maxmemory", "0");
    const receipts = await engine.enqueue(jobs);

    expect(kept).toBeGreaterThan(0);
    expect(kept).toBeLessThan(300);
    expect(receipts).toEqual(jobs.map(({ id }) => ({ id, coalesced: false })));
    client.disconnect();
    await engine.close();
  });
});
