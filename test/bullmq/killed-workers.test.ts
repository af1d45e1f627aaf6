import { bullmqEngine, type BullmqOptions } from "taskwright/bullmq";
import type { Ending } from "taskwright/queue";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { providePostgres } from "../support/postgres.js";
import { provideRedis } from "../support/redis.js";
import { eventually, handlerOf, jobOf, namespaceOf } from "./jobs.js";
import { WorkerProcess, type Conduct } from "./worker-process.js";

const impatient = { lease: "2s", stallCheck: "500ms", timeLimit: "30s" } as const;
const processes: WorkerProcess[] = [];
afterEach(async () => {
  for (const each of processes.splice(0)) await each.kill();
});

async function startWorker(conduct: Conduct): Promise<WorkerProcess> {
  const worker = await WorkerProcess.start(conduct);
  processes.push(worker);
  return worker;
}

const backends: readonly [string, () => Promise<{ url: string; stop(): Promise<void> }>, (url: string) => BullmqOptions][] = [
  ["Redis", provideRedis, (connection) => ({ connection, ...impatient })],
  ["PostgreSQL", providePostgres, (connection) => ({ backend: "postgres", connection, ...impatient })],
];

describe.each(backends)("worker processes on %s", (_, provide, optionsOf) => {
  let server: { url: string; stop(): Promise<void> };
  beforeAll(async () => {
    server = await provide();
  }, 60_000);
  afterAll(() => server.stop());

  test("a job whose worker is killed runs again under its id, and its key is free afterwards", async () => {
    const [options, namespace] = [optionsOf(server.url), namespaceOf()];
    const engine = bullmqEngine(options)(namespace);
    const victim = await startWorker({ engine: options, namespace, concurrency: 1, hangs: true });
    const job = jobOf({ key: "k" });
    await engine.enqueue([job]);
    await eventually("the job to run", () => victim.started.includes(job.id));

    await victim.kill();
    expect(await engine.holder("k")).toBe(job.id);
    expect(await engine.enqueue([jobOf({ key: "k" })])).toEqual([{ id: job.id, coalesced: true }]);
    const other = await startWorker({ engine: options, namespace, concurrency: 1 });
    const record = await engine.settled(job.id, { timeoutMs: 60_000 });

    expect(other.started).toEqual([job.id]);
    expect(record).toMatchObject({ id: job.id, state: "completed", attempts: 2 });
    expect(await engine.holder("k")).toBeUndefined();
    await engine.close();
  });

  test("a job that kills worker after worker is dead, which is told, and its key is free", async () => {
    const [options, namespace] = [optionsOf(server.url), namespaceOf()];
    const engine = bullmqEngine(options)(namespace);
    const job = jobOf({ key: "k", attempts: 5 });
    await engine.enqueue([job]);
    for (const round of [1, 2]) {
      const victim = await startWorker({ engine: options, namespace, concurrency: 1, hangs: true });
      await eventually(`run ${round}`, () => victim.started.includes(job.id), 60_000);
      await victim.kill();
    }

    const told: { id: string; attempt: number; ending: Ending }[] = [];
    const handler = {
      ...handlerOf(),
      became: ({ id, attempt }: { id: string; attempt: number }, ending: Ending) => void told.push({ id, attempt, ending }),
    };
    const worker = await engine.work(handler, { concurrency: 1 });
    const record = await engine.settled(job.id, { timeoutMs: 60_000 });

    const reason = "job stalled more than allowable limit";
    expect(record).toMatchObject({ state: "dead", reason, answer: undefined, attempts: 2 });
    expect(told).toEqual([{ id: job.id, attempt: 2, ending: { state: "dead", reason } }]);
    expect(await engine.dead({ limit: 10, offset: 0 })).toEqual([record]);
    expect(await engine.holder("k")).toBeUndefined();
    await worker.stop({ graceMs: 0 });
    await engine.close();
  });

  test("a job that runs elsewhere is told of its cancellation", async () => {
    const [options, namespace] = [{ ...optionsOf(server.url), cancelCheck: "100ms" } as const, namespaceOf()];
    const engine = bullmqEngine(options)(namespace);
    const worker = await startWorker({ engine: options, namespace, concurrency: 1, workMs: 1_500 });
    const job = jobOf({ key: "k" });
    await engine.enqueue([job]);
    await eventually("the job to run", () => worker.started.includes(job.id));

    expect(await engine.cancel(job.id)).toBe("requested"); // its handler notices, and hands back what is cancelled
    expect(await engine.settled(job.id, { timeoutMs: 60_000 })).toMatchObject({ state: "cancelled" });
    expect(await engine.holder("k")).toBeUndefined();
    await engine.close();
  });

  test("jobs that are handed back run again in either of two processes, and never end without having run to their end", async () => {
    // Nobody dies here, and a lease that were over would be another attempt. PostgreSQL may let claims wait for each other for seconds.
    const [options, namespace] = [{ ...optionsOf(server.url), lease: "60s" } as const, namespaceOf()];
    const engine = bullmqEngine(options)(namespace);
    const conduct = { engine: options, namespace, concurrency: 4, until: true };
    const workers = await Promise.all([startWorker(conduct), startWorker(conduct)]);
    const until = String(Date.now() + 1_000);
    const jobs = Array.from({ length: 60 }, (_, at) => jobOf({ key: `k${at}`, payload: until }));
    await engine.enqueue(jobs);

    for (const { id, key = "" } of jobs) {
      const record = await engine.settled(id, { timeoutMs: 60_000 });
      expect(record).toMatchObject({ state: "completed", attempts: 1 });
      expect(record?.answer).toMatch(/^done by \d+$/);
      expect(record?.endedAt).toBeGreaterThanOrEqual(Number(until));
      expect(await engine.holder(key)).toBeUndefined();
    }
    const runs = workers.flatMap(({ started }) => started);
    expect(runs.length).toBeGreaterThan(60);
    for (const worker of workers) await worker.end();
    await engine.close();
  });
});
