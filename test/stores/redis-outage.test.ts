import { setTimeout as wait } from "node:timers/promises";
import { Redis, type RedisOptions } from "ioredis";
import { Redis as Redis5 } from "ioredis-5";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { RedisStore } from "taskwright/redis";
import { startRedis, type RedisServer } from "../support/redis.js";

const LIFE = { ttlMs: 60_000 };
const BURST = 200;
/** The client comes back within moments of the server. */
const MOMENTS_MS = 15_000;

let server: RedisServer;
const clients: (Redis | Redis5)[] = [];
const unhandled: unknown[] = [];
const onUnhandled = (reason: unknown) => void unhandled.push(reason);

beforeEach(async () => {
  server = await startRedis();
  unhandled.length = 0;
  process.on("unhandledRejection", onUnhandled);
});

afterEach(async () => {
  for (const client of clients.splice(0)) client.disconnect();
  await server.stop();
  process.off("unhandledRejection", onUnhandled);
});

type Patience = Pick<RedisOptions, "commandTimeout" | "enableAutoPipelining" | "maxRetriesPerRequest" | "retryStrategy">;

function connect(options: Patience = {}): Redis {
  const client = new Redis({ ...options, port: server.port });
  client.on("error", () => {}); // it is meant to lose its connection
  clients.push(client);
  return client;
}

/** A client of the older ioredis. */
function connectOlder(): Redis5 {
  const client = new Redis5(server.port);
  client.on("error", () => {});
  clients.push(client);
  return client;
}

const claim = (store: RedisStore, key: string) => store.set(key, "processing", { nx: true, owner: key, ...LIFE });

/** Has it answered within the time? */
const answers = (promise: Promise<unknown>, ms: number): Promise<boolean> =>
  Promise.race([
    promise.then(
      () => true,
      () => true,
    ),
    wait(ms, false),
  ]);

describe("a server killed and started again during a burst of calls", () => {
  const kinds = [
    { kind: "ioredis 6", storeOf: () => new RedisStore(connect()) },
    { kind: "ioredis 6 whose client pipelines by itself", storeOf: () => new RedisStore(connect({ enableAutoPipelining: true })) },
    { kind: "ioredis 5", storeOf: () => new RedisStore(connectOlder()) },
  ];
  for (const { kind, storeOf } of kinds) {
    test(`leaves no call without an answer, and works again: ${kind}`, async () => {
      const store = storeOf();
      const running = Array.from({ length: BURST }, (_, at) => `running:${at}`);
      for (const result of await Promise.all(running.map((key) => claim(store, key)))) expect(result.ok).toBe(true);

      const burst = running.flatMap((key, at) => [
        store.set(key, "completed", { xx: true, owner: key, ...LIFE }),
        claim(store, `new:${at}`),
        store.renew(key, { owner: key, ...LIFE }),
        store.delete(key, { owner: "nobody" }),
      ]);
      const all = Promise.allSettled(burst);
      await server.kill();
      await server.start();

      expect(await answers(all, MOMENTS_MS)).toBe(true);
      const rejected = (await all).flatMap((settled) => (settled.status === "rejected" ? [settled.reason as unknown] : []));
      expect(rejected.every((reason) => reason instanceof Error)).toBe(true);
      expect(await claim(store, "afterwards")).toMatchObject({ ok: true });
      expect(unhandled).toEqual([]);
    });
  }
});

describe("a server that does not come back", () => {
  test("makes calls reject when the client gives up, with the client's error", async () => {
    const store = new RedisStore(connect({ maxRetriesPerRequest: 2, retryStrategy: () => 20 }));
    await claim(store, "before");
    await server.kill();
    await expect(claim(store, "after")).rejects.toThrow(expect.objectContaining({ name: "MaxRetriesPerRequestError" }));
  });

  test("keeps calls waiting as long as the client was told to wait, and answers them if it comes back after all", async () => {
    const store = new RedisStore(connect({ maxRetriesPerRequest: null, retryStrategy: () => 20 }));
    await claim(store, "before");
    await server.kill();
    const late = claim(store, "after");
    expect(await answers(late, 300)).toBe(false);
    await server.start();
    expect(await late).toMatchObject({ ok: true });
  });
});

describe("a server that hangs", () => {
  test("makes calls reject where the client has a time limit", async () => {
    const store = new RedisStore(connect({ commandTimeout: 200 }));
    await claim(store, "before");
    server.freeze();
    await expect(claim(store, "after")).rejects.toThrow("Command timed out");
    server.thaw();
    expect(unhandled).toEqual([]);
  });

  test("keeps calls waiting where it has none, and has done what it was asked once it goes on", async () => {
    const store = new RedisStore(connect());
    await claim(store, "before");
    server.freeze();
    const late = claim(store, "after");
    expect(await answers(late, 300)).toBe(false);
    server.thaw();
    expect(await late).toMatchObject({ ok: true });
  });

  test("may do what it was asked after the client has given up, so that a claim must be repeated by its owner", async () => {
    const store = new RedisStore(connect({ commandTimeout: 100 }));
    await claim(store, "before");
    server.freeze();
    await expect(claim(store, "unknown")).rejects.toThrow("Command timed out");
    server.thaw();
    expect(await claim(store, "unknown")).toMatchObject({ ok: true });
    expect(await store.set("unknown", "processing", { nx: true, owner: "another", ...LIFE })).toMatchObject({
      ok: false,
      held: { owner: "unknown" },
    });
  });
});
