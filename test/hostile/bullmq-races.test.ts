import { setTimeout as pause } from "node:timers/promises";
import { bullmqEngine } from "taskwright/bullmq";
import type { Engine } from "taskwright/queue";
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually, handlerOf, jobOf, namespaceOf } from "../bullmq/jobs.js";
import { provideRedis } from "../support/redis.js";

let server: Awaited<ReturnType<typeof provideRedis>>;
const opened: Engine[] = [];

beforeAll(async () => {
  server = await provideRedis();
});
afterAll(async () => {
  for (const engine of opened) await engine.close();
  await server.stop();
});

function open(namespace = namespaceOf()): Engine {
  const engine = bullmqEngine({ connection: server.url, cancelCheck: "100ms" })(namespace);
  opened.push(engine);
  return engine;
}

test("workers that are stopped and started under load run each job once, and leave no key behind", async () => {
  const engine = open();
  const runs = new Map<string, number>();
  const start = () =>
    engine.work(
      handlerOf(async ({ id }) => {
        await pause(2);
        runs.set(id, (runs.get(id) ?? 0) + 1);
        return { kind: "completed", answer: "done" };
      }),
      { concurrency: 10 },
    );
  const jobs = Array.from({ length: 400 }, (_, at) => jobOf({ key: `key-${at}` }));
  await engine.enqueue(jobs);
  for (const ms of [20, 27, 34, 41, 48]) {
    const worker = await start();
    await pause(ms);
    await worker.stop({ graceMs: 5_000 });
  }
  await start();
  for (const { id } of jobs) await eventually(`the end of ${id}`, async () => (await engine.get(id))?.state === "completed");
  expect([...runs.values()].filter((times) => times !== 1)).toEqual([]);
  for (const { id, key = "" } of jobs) {
    expect([(await engine.get(id))?.attempts, await engine.holder(key)]).toEqual([1, undefined]);
  }
});

test("a cancellation that meets the start, the retry or the end of its job has the answer that came true", async () => {
  const engine = open();
  const started = new Set<string>();
  await engine.work(
    handlerOf(async ({ id, signal }) => {
      started.add(id);
      await pause((Number(id.slice(4)) * 7) % 6);
      if (signal.aborted) return { kind: "cancelled" };
      return Number(id.slice(4)) % 3 === 0
        ? { kind: "failed", answer: "", reason: "down", retry: true }
        : { kind: "completed", answer: "done" };
    }),
    { concurrency: 10 },
  );
  const jobs = Array.from({ length: 200 }, (_, at) => jobOf({ id: `job-${at}`, key: `key-${at}`, attempts: 2 }));
  const answers = await Promise.all(
    jobs.map(async (job, at) => {
      await pause(at * 3);
      await engine.enqueue([job]);
      await pause((at * 7) % 15);
      return engine.cancel(job.id);
    }),
  );
  const isOver = (state: string | undefined): boolean => state === "completed" || state === "dead" || state === "cancelled";
  for (const { id } of jobs) await eventually(`the end of ${id}`, async () => isOver((await engine.get(id))?.state));
  for (const [at, { id, key = "" }] of jobs.entries()) {
    expect(await engine.holder(key)).toBeUndefined();
    const state = (await engine.get(id))?.state ?? "";
    const possible = {
      cancelled: ["cancelled"],
      finished: ["completed", "dead"],
      requested: ["cancelled", "completed", "dead"],
      unknown: [],
    };
    expect(possible[answers[at] ?? "unknown"]).toContain(state);
  }
  expect(started.size).toBeGreaterThan(0);
});

test("dead jobs are listed page by page, with cancelled ones between them", async () => {
  const engine = open();
  const jobs = Array.from({ length: 250 }, (_, at) => jobOf({ id: `job-${at}` }));
  const isDead = (id: string): boolean => Number(id.slice(4)) % 2 === 1;
  await engine.enqueue(jobs);
  await engine.work(
    handlerOf(async ({ id }) => {
      await pause(2); // each ends in a millisecond of its own: within one, the order is BullMQ's
      return isDead(id) ? { kind: "failed", answer: "", reason: "down", retry: false } : { kind: "cancelled" };
    }),
    { concurrency: 1 },
  );
  await eventually("the last job to end", async () => (await engine.get("job-249"))?.state === "dead");
  const listed: string[] = [];
  for (let offset = 0; offset <= 150; offset += 30) {
    listed.push(...(await engine.dead({ limit: 30, offset })).map(({ id }) => id));
  }
  const dead = jobs.map(({ id }) => id).filter(isDead);
  expect(listed).toEqual(dead.toReversed());
});

test("a schedule that two processes replace and end while it ticks ticks by the last word", async () => {
  const namespace = namespaceOf();
  const [engine, peer] = [open(namespace), open(namespace)];
  const ran: string[] = [];
  await engine.work(
    handlerOf(({ payload }) => {
      ran.push(payload);
      return { kind: "completed", answer: "done" };
    }),
    { concurrency: 5 },
  );
  const schedule = { name: "poll", every: { intervalMs: 60 }, task: "Task", payload: "first", options: jobOf().options };
  await engine.schedule(schedule);
  await eventually("a tick", () => ran.includes("first"));
  await Promise.all([engine, peer].map((each) => each.schedule({ ...schedule, payload: "second" })));
  await eventually("a tick of the second", () => ran.at(-1) === "second");
  expect(await peer.schedules()).toHaveLength(1);
  const ended = await Promise.all([engine.unschedule("poll"), peer.unschedule("poll")]);
  expect(ended.filter((wasThere) => wasThere)).toEqual([true]);
  await pause(300); // what was on its way has run by now
  const before = ran.length;
  await pause(400);
  expect(ran).toHaveLength(before);
});
