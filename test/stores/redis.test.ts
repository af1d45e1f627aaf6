import { Redis } from "ioredis";
import { Redis as Redis5 } from "ioredis-5";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { isDefinitionError } from "taskwright";
import { RedisStore } from "taskwright/redis";
import { startRedis, type RedisServer } from "../support/redis.js";

const LIFE = { ttlMs: 60_000 };

let server: RedisServer;
let client: Redis;
let pipelining: Redis;
let older: Redis5;
let key: string;
let keys = 0;

beforeAll(async () => {
  server = await startRedis();
  client = new Redis(server.port);
  pipelining = new Redis(server.port, { enableAutoPipelining: true });
  older = new Redis5(server.port, { enableAutoPipelining: true });
});

afterAll(async () => {
  for (const each of [client, pipelining, older]) each.disconnect();
  await server.stop();
});

const freshKey = (): string => (key = `cmdx:idem:ChargeCustomer:${(keys += 1)}`);
afterEach(() => vi.restoreAllMocks());

describe("what stands in Redis", () => {
  test("is the value and the owner while the key is held, and exactly the value afterwards", async () => {
    const store = new RedisStore(client);
    await store.set(freshKey(), "processing", { nx: true, owner: "0190-a", ...LIFE });
    expect(await client.get(key)).toBe("processing owner=0190-a");
    await store.set(key, "completed", { xx: true, owner: "0190-a", ...LIFE });
    expect(await client.get(key)).toBe("completed");
  });

  test("begins with the state, whatever follows it", async () => {
    const store = new RedisStore(client);
    await store.set(freshKey(), 'processing {"run":"r1"}', { nx: true, owner: "a", ...LIFE });
    expect((await client.get(key))?.split(" ")[0]).toBe("processing");
    await store.set(key, 'completed {"run":"r1"}', { xx: true, owner: "a", ...LIFE });
    expect(await client.get(key)).toBe('completed {"run":"r1"}');
  });

  test.each(["processing", "completed"])("is read rightly when another program has written %s", async (value) => {
    const store = new RedisStore(client);
    await client.set(freshKey(), value, "EX", 300, "NX");
    expect(await store.get(key)).toEqual({ value, expiresInMs: expect.any(Number) });
    expect(await store.set(key, "processing", { nx: true, owner: "a", ...LIFE })).toMatchObject({ ok: false, held: { value } });
    expect(await store.set(key, "completed", { xx: true, owner: "a", ...LIFE })).toMatchObject({ ok: false, held: { value } });
    expect(await store.delete(key, { owner: "a" })).toBe(false);
    expect(await client.get(key)).toBe(value);
  });

  test("is refused to its owner once another program has completed it", async () => {
    const store = new RedisStore(client);
    await store.set(freshKey(), "processing", { nx: true, owner: "a", ...LIFE });
    await client.set(key, "completed", "EX", 300, "XX");
    expect(await store.set(key, "completed", { xx: true, owner: "a", ...LIFE })).toMatchObject({ ok: false, held: { value: "completed" } });
  });

  test("stops another program that claims by SET NX", async () => {
    const store = new RedisStore(client);
    await store.set(freshKey(), "processing", { nx: true, owner: "a", ...LIFE });
    expect(await client.set(key, "processing", "EX", 300, "NX")).toBeNull();
  });

  test("lives without end when another program gave it no expiry", async () => {
    await client.set(freshKey(), "processing");
    expect(await new RedisStore(client).get(key)).toEqual({ value: "processing", expiresInMs: Number.POSITIVE_INFINITY });
  });

  test("has an expiry after every write of ours", async () => {
    const store = new RedisStore(client);
    const owner = "a";
    const writes = [
      () => store.set(key, "processing", { nx: true, owner, ...LIFE }),
      () => store.set(key, "processing", { nx: true, owner, ...LIFE }),
      () => store.renew(key, { owner, ...LIFE }),
      () => store.set(key, "completed", { xx: true, owner, ...LIFE }),
      () => store.set(key, "written", LIFE),
      () => store.renew(key, { owner, ...LIFE }),
      () => store.set(key, "completed", { xx: true, ...LIFE }),
      () => store.set(key, "shortest", { ttlMs: 5 }),
    ];
    freshKey();
    for (const write of writes) {
      await write();
      expect(await client.pttl(key)).not.toBe(-1); // without end; the shortest may be over by now
      expect(await client.pttl(key)).toBeLessThan(60_000);
    }
  });

  test("is gone at the millisecond that it was given, by the server's clock", async () => {
    const store = new RedisStore(client);
    const late: unknown[] = [];
    for (let round = 0; round < 30; round += 1) {
      await store.set(freshKey(), "processing", { nx: true, owner: "a", ttlMs: 4 });
      const end = Number(await client.call("pexpiretime", key)) + 1;
      for (let now = 0; now < end + 2;) {
        const [seconds, micros] = await client.time();
        now = Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
        const entry = await store.get(key);
        if (entry !== undefined && (now >= end || entry.expiresInMs <= 0)) late.push({ now, end, entry });
      }
    }
    expect(late).toEqual([]);
  });
});

describe("a call", () => {
  const sends = (of: Redis) => vi.spyOn(of, "sendCommand");

  test("is one round trip: a claim, a refused claim, a completion, a renewal, a release, a read", async () => {
    const store = new RedisStore(client);
    await store.get(freshKey());
    const sent = sends(client);
    await store.set(key, "processing", { nx: true, owner: "a", ...LIFE });
    await store.set(key, "processing", { nx: true, owner: "b", ...LIFE });
    await store.renew(key, { owner: "a", ...LIFE });
    await store.get(key);
    await store.set(key, "completed", { xx: true, owner: "a", ...LIFE });
    await store.set(key, "completed", { xx: true, owner: "a", ...LIFE });
    await store.delete(key);
    expect(sent.mock.calls.map(([command]) => command.name)).toEqual(Array.from({ length: 7 }, () => "evalsha"));
  });

  test("is answered in the order in which calls were made, in one turn too", async () => {
    for (const of of [client, pipelining, older]) {
      const store = new RedisStore(of);
      const [claimed, refused, released, again, completed, removed] = await Promise.all([
        store.set(freshKey(), "processing", { nx: true, owner: "a", ...LIFE }),
        store.set(key, "processing", { nx: true, owner: "b", ...LIFE }),
        store.delete(key, { owner: "a" }),
        store.set(key, "processing", { nx: true, owner: "b", ...LIFE }),
        store.set(key, "completed", { xx: true, owner: "b", ...LIFE }),
        store.delete(key),
      ]);
      expect([claimed.ok, refused.ok, released, again.ok, completed.ok, removed]).toEqual([true, false, true, true, true, true]);
    }
  });

  test("works on a server that knows the script no more", async () => {
    for (const of of [client, pipelining, older]) {
      const store = new RedisStore(of);
      await of.script("FLUSH");
      const many = Array.from({ length: 100 }, () => freshKey());
      const claims = await Promise.all(many.map((each) => store.set(each, "processing", { nx: true, owner: "a", ...LIFE })));
      expect(claims.every(({ ok }) => ok)).toBe(true);
    }
  });

  test("on a key of another kind rejects with the server's error, and no other call of its turn does", async () => {
    for (const of of [client, pipelining, older]) {
      const store = new RedisStore(of);
      await of.rpush(freshKey(), "a list");
      const list = key;
      const [onList, onOther] = await Promise.allSettled([
        store.set(list, "processing", { nx: true, owner: "a", ...LIFE }),
        store.set(freshKey(), "processing", { nx: true, owner: "a", ...LIFE }),
      ]);
      expect(onList).toMatchObject({
        status: "rejected",
        reason: expect.objectContaining({ message: expect.stringMatching(/WRONGTYPE/) }),
      });
      expect(onOther).toMatchObject({ status: "fulfilled", value: { ok: true } });
    }
  });

  test("on a server that only reads rejects with the server's error", async () => {
    const replica = await startRedis("--replicaof", `127.0.0.1 ${server.port}`);
    for (const options of [{}, { enableAutoPipelining: true }]) {
      const reader = new Redis(replica.port, options);
      const claim = new RedisStore(reader).set(freshKey(), "processing", { nx: true, owner: "a", ...LIFE });
      await expect(claim).rejects.toThrow(/READONLY/);
      reader.disconnect();
    }
    await replica.stop();
  });

  test("rejects as the client does when the connection is closed", async () => {
    for (const options of [{}, { enableAutoPipelining: true }]) {
      const closed = new Redis(server.port, options);
      await closed.quit();
      await expect(new RedisStore(closed).get("any")).rejects.toThrow("Connection is closed.");
    }
  });
});

describe("a fence", () => {
  test("grows in claims and releases that nobody waits for", async () => {
    for (const of of [client, pipelining]) {
      const store = new RedisStore(of);
      freshKey();
      const results = await Promise.all(
        Array.from({ length: 500 }, async () => {
          const claimed = store.set(key, "processing", { nx: true, owner: "a", ...LIFE });
          await Promise.all([claimed, store.delete(key, { owner: "a" })]);
          return claimed;
        }),
      );
      const fences = results.map((result) => (result.ok ? result.fence : Number.NaN));
      expect(fences.every((fence, at) => at === 0 || fence > (fences[at - 1] ?? 0))).toBe(true);
    }
  });

  test("is the server's time in microseconds", async () => {
    const [seconds, micros] = await client.time();
    const result = await new RedisStore(client).set(freshKey(), "processing", { nx: true, owner: "a", ...LIFE });
    const now = Number(seconds) * 1_000_000 + Number(micros);
    expect(result.ok && result.fence - now).toBeGreaterThanOrEqual(0);
    expect(result.ok && result.fence - now).toBeLessThan(10_000_000);
  });
});

test("a client that lacks what is needed is refused where the store is made", () => {
  // @ts-expect-error a node-redis client has other methods
  const make = () => new RedisStore({ sendCommand: () => {}, options: {} });
  expect(make).toThrow(/takes an ioredis client \(Redis or Cluster\), got an object without evalsha\(\)/);
  // @ts-expect-error nothing at all
  expect(() => new RedisStore(undefined)).toThrow(expect.toSatisfy(isDefinitionError));
});

test("a cursor that was never handed out rejects", async () => {
  await expect(new RedisStore(client).entries({ prefix: "a", cursor: "nonsense" })).rejects.toThrow(/cursor "nonsense"/);
});

test("a listing passes over keys of other kinds", async () => {
  await client.rpush("mixed:list", "a");
  await client.hset("mixed:hash", "a", "b");
  await new RedisStore(client).set("mixed:entry", "completed", LIFE);
  const { entries } = await new RedisStore(client).entries({ prefix: "mixed:", limit: 10_000 });
  expect(entries.map((entry) => entry.key)).toEqual(["mixed:entry"]);
});

test("a claim that a failover has lost is granted again, and its first owner is refused when it completes", async () => {
  const replica = await startRedis();
  const promoted = new Redis(replica.port);
  await promoted.replicaof("127.0.0.1", server.port);
  await vi.waitFor(async () => expect(await promoted.info("replication")).toContain("master_link_status:up"), 10_000);
  await promoted.replicaof("NO", "ONE"); // cut off before the claim arrives, and then the one that is left
  const [before, after] = [new RedisStore(client), new RedisStore(promoted)];
  const first = await before.set(freshKey(), "processing", { nx: true, owner: "a", ...LIFE });
  const second = await after.set(key, "processing", { nx: true, owner: "b", ...LIFE });
  const completed = await after.set(key, "completed", { xx: true, owner: "a", ...LIFE });
  promoted.disconnect();
  await replica.stop();

  expect([first.ok, second.ok]).toEqual([true, true]);
  expect(completed).toMatchObject({ ok: false, held: { value: "processing", owner: "b" } });
});
