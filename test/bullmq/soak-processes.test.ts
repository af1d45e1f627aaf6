import { setTimeout as pause } from "node:timers/promises";
import { Redis } from "ioredis";
import { bullmqEngine, type BullmqOptions } from "taskwright/bullmq";
import type { Engine, Receipt } from "taskwright/queue";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LONG } from "../faults/crew.js";
import { startRedis, type RedisServer } from "../support/redis.js";
import { jobOf, namespaceOf } from "./jobs.js";
import { WorkerProcess } from "./worker-process.js";

const PRODUCERS = 8;
const ENQUEUES = LONG ? 5_000 : 300;
const KEYS = Array.from({ length: 50 }, (_, at) => `key-${at}`);
const WORKERS = 3;
/** Of the worker processes, as many are killed while they work, and as many come in their place. */
const KILLS = LONG ? 12 : 2;

let server: RedisServer;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

interface Enqueued {
  readonly id: string;
  readonly key: string;
  readonly receipt: Receipt;
}

describe("8 producers, 50 keys, and workers that fail and are killed", () => {
  test(
    "no two jobs of one key live at once, no key is left behind, and every receipt is true",
    async () => {
      const options: BullmqOptions = { connection: server.url, lease: "2s", stallCheck: "500ms", timeLimit: "30s" };
      const namespace = namespaceOf();
      const engines = Array.from({ length: PRODUCERS }, () => bullmqEngine(options)(namespace));
      const [engine] = engines as [Engine]; // there are eight
      await Promise.all(engines.map((each) => each.get("to connect")));
      const client = new Redis(server.url);
      await client.hset(`bull:${namespace}:meta`, "opts.maxLenEvents", "100000000"); // all of them are read afterwards

      const conduct = { engine: options, namespace, concurrency: 10, workMs: 5, failsOneIn: 7 };
      const workers = await Promise.all(Array.from({ length: WORKERS }, () => WorkerProcess.start(conduct)));
      const producing = Promise.all(engines.map((each) => produce(each)));
      for (let kill = 0; kill < KILLS; kill += 1) {
        await pause(700);
        await workers[kill % WORKERS]?.kill();
        workers[kill % WORKERS] = await WorkerProcess.start(conduct);
      }
      const enqueued = (await producing).flat();
      await drained(client, namespace);

      const events = await readEvents(client, namespace);
      expect(faultsOf(enqueued, events)).toEqual([]);
      expect(enqueued.length).toBe(PRODUCERS * ENQUEUES);
      expect(events.filter(({ event }) => event === "stalled").length).toBeGreaterThan(0); // kills hit jobs
      expect(events.filter(({ event }) => event === "deduplicated").length).toBeGreaterThan(0);
      expect(await client.keys(`bull:${namespace}:de:*`)).toEqual([]);
      for (const key of KEYS) expect(await engine.holder(key)).toBeUndefined();
      const last = KEYS.map((key) => jobOf({ key }));
      expect(await engine.enqueue(last)).toEqual(last.map(({ id }) => ({ id, coalesced: false })));

      for (const worker of workers) await worker.kill();
      for (const each of engines) await each.close();
      client.disconnect();
    },
    LONG ? 900_000 : 120_000,
  );
});

async function produce(engine: Engine): Promise<readonly Enqueued[]> {
  const enqueued: Enqueued[] = [];
  while (enqueued.length < ENQUEUES) {
    // One by one, and now and then a batch; keys of which some are in demand.
    const count = Math.min(Math.random() < 0.1 ? 20 : 1, ENQUEUES - enqueued.length);
    const jobs = Array.from({ length: count }, () => {
      const key = KEYS[Math.floor(KEYS.length * Math.random() ** 2)] ?? "";
      return jobOf({ key, attempts: 2, backoff: { type: "fixed", delayMs: 10 } });
    });
    const receipts = await engine.enqueue(jobs);
    for (const [at, { id, key = "" }] of jobs.entries()) {
      const receipt = receipts[at];
      if (receipt !== undefined) enqueued.push({ id, key, receipt });
    }
    await pause(Math.random() * 8);
  }
  return enqueued;
}

async function drained(client: Redis, namespace: string): Promise<void> {
  const at = (set: string): string => `bull:${namespace}:${set}`;
  for (;;) {
    const left = [client.llen(at("wait")), client.llen(at("active")), client.zcard(at("delayed")), client.zcard(at("prioritized"))];
    if ((await Promise.all(left)).every((count) => count === 0)) return;
    await pause(50);
  }
}

/** What Redis did, in the very order in which it did it. */
interface BullEvent {
  readonly event: string;
  readonly jobId: string;
  /** Of a `deduplicated`: the job that was not kept. */
  readonly other: string | undefined;
}

async function readEvents(client: Redis, namespace: string): Promise<readonly BullEvent[]> {
  const entries = await client.xrange(`bull:${namespace}:events`, "-", "+");
  return entries.map(([, fields]) => {
    const valueOf = (name: string): string | undefined => fields[fields.indexOf(name) + 1];
    const other = fields.includes("deduplicatedJobId") ? valueOf("deduplicatedJobId") : undefined;
    return { event: valueOf("event") ?? "", jobId: fields.includes("jobId") ? (valueOf("jobId") ?? "") : "", other };
  });
}

/** Goes through the events, and holds every receipt to them. */
function faultsOf(enqueued: readonly Enqueued[], events: readonly BullEvent[]): readonly string[] {
  const keyOf = new Map(enqueued.map(({ id, key }) => [id, key]));
  const live = new Map<string, string>();
  const resolved = new Map<string, string>();
  const faults: string[] = [];
  for (const { event, jobId, other } of events) {
    const key = keyOf.get(jobId);
    if (key === undefined) continue;
    if (event === "added") {
      if (live.has(key)) faults.push(`${jobId} was kept while ${live.get(key)} had ${key}`);
      live.set(key, jobId);
      resolved.set(jobId, jobId);
    } else if (event === "deduplicated") {
      if (live.get(key) !== jobId) faults.push(`${other} resolved to ${jobId}, which did not have ${key}`);
      resolved.set(other ?? "", jobId);
    } else if (event === "completed" || event === "failed") {
      if (live.get(key) !== jobId) faults.push(`${jobId} ended, but ${live.get(key)} had ${key}`);
      live.delete(key);
    }
  }
  for (const [key, id] of live) faults.push(`${id} still has ${key}`);
  for (const { id, receipt } of enqueued) {
    const truth = resolved.get(id);
    if (truth !== receipt.id || receipt.coalesced !== (truth !== id))
      faults.push(`the receipt of ${id} says ${JSON.stringify(receipt)}, Redis ${truth}`);
  }
  return faults;
}
