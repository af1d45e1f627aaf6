import { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { configure, idempotentBy, lockWith, MemoryStore, resetConfiguration, slots, Task, type Store } from "taskwright";
import { RedisStore } from "taskwright/redis";
import { z } from "zod";
import { startRedis } from "../support/redis.js";

/** Texts that mean something to somebody: to Redis, Lua, glob patterns, SQL, shells, terminals. */
const HOSTILE = [
  "a\r\nFLUSHALL\r\n",
  "a\nSET other 1 EX 10",
  "$3\r\nDEL\r\n",
  "'); redis.call('FLUSHALL'); --",
  "]] redis.call('FLUSHALL') [[",
  "KEYS[1]",
  "*",
  "a*b?c[d]\\e",
  "'; DROP TABLE jobs; --",
  "$(touch /tmp/x) `id`",
  "\u001b[2J\u0007",
  "a:b:c",
  "%3A%25",
  "{tag}a",
  "{}",
  "__proto__",
  "\u202Eevil",
  "\u0000",
  " owner=somebody",
  "processing owner=somebody",
];

let server: Awaited<ReturnType<typeof startRedis>>;
let client: Redis;
beforeAll(async () => {
  server = await startRedis();
  client = new Redis(server.url);
});
afterAll(async () => {
  client.disconnect();
  await server.stop();
});
afterEach(() => {
  resetConfiguration();
});

/** A task whose key is wholly in the hands of its caller. */
function payTask() {
  const seen: string[] = [];
  class Pay extends Task.with({ input: z.object({ id: z.string() }) }) {
    work(): void {
      seen.push(this.input.id);
    }
  }
  idempotentBy("id")(Pay);
  lockWith("id")(Pay);
  return { Pay, seen };
}

describe.each<[string, () => Store]>([
  ["a MemoryStore", () => new MemoryStore()],
  ["Redis", () => new RedisStore(client)],
])("hostile keys on %s", (_name, open) => {
  test.each(HOSTILE)("%j is one key, whole, and nothing else", async (id) => {
    const store = open();
    configure((config) => {
      config.store = store;
    });
    await client.set("canary", "alive");
    const { Pay, seen } = payTask();

    expect(await Pay.execute({ id })).toMatchObject({ status: "success" });
    expect(await Pay.execute({ id })).toMatchObject({
      status: "skipped",
      metadata: { code: "duplicate", idempotencyKey: `cmdx:idem:Pay:${id}` },
    });
    expect(await Pay.execute({ id: `${id}!` })).toMatchObject({ status: "success" });
    expect(seen).toEqual([id, `${id}!`]);
    expect(await store.get(`cmdx:idem:Pay:${id}`)).toMatchObject({ value: expect.stringMatching(/^completed/) });
    expect(await client.get("canary")).toBe("alive");
    for (const key of [`cmdx:idem:Pay:${id}`, `cmdx:idem:Pay:${id}!`]) expect(await store.delete(key)).toBe(true);
  });

  test("no two of them share a slot", async () => {
    const store = open();
    configure((config) => {
      config.store = store;
    });
    const { Pay, seen } = payTask();
    for (const id of HOSTILE) await Pay.execute({ id });

    expect(seen).toEqual(HOSTILE);
    const found: string[] = [];
    for await (const { key } of slots(store, { task: Pay })) found.push(key);
    expect(new Set(found)).toEqual(new Set(HOSTILE.map((id) => `cmdx:idem:Pay:${id}`)));
    for (const id of HOSTILE) await store.delete(`cmdx:idem:Pay:${id}`);
  });

  test("a key of a megabyte works, and is not printed whole by an error of ours", async () => {
    const store = open();
    configure((config) => {
      config.store = store;
    });
    const { Pay } = payTask();
    const id = "x".repeat(1_000_000);

    expect(await Pay.execute({ id })).toMatchObject({ status: "success" });
    expect(await Pay.execute({ id })).toMatchObject({ status: "skipped" });
    await store.delete(`cmdx:idem:Pay:${id}`);
  });

  test.each(["", " ", "\t\n"])("the blank key %j is none", async (id) => {
    configure((config) => {
      config.store = open();
    });
    const { Pay, seen } = payTask();
    await Pay.execute({ id });
    await Pay.execute({ id });

    expect(seen).toHaveLength(2);
  });

  test("half a surrogate pair is refused: two different ones would meet on Redis", async () => {
    configure((config) => {
      config.store = open();
    });
    const { Pay, seen } = payTask();

    expect(await Pay.execute({ id: "\uD800" })).toMatchObject({ status: "failed", retryable: false });
    expect(seen).toEqual([]);
  });
});
