import { Redis } from "ioredis";
import { Redis as Redis5 } from "ioredis-5";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { RedisStore, type RedisClient } from "taskwright/redis";
import { startCluster, startRedis, type RedisServer } from "../support/redis.js";

const LIFE = { ttlMs: 60_000 };
const BURST = 100;

let server: RedisServer;
let client: Redis;
let pipelining: Redis;
let older: Redis5;
let bursts = 0;

beforeAll(async () => {
  server = await startRedis();
  client = new Redis(server.port);
  pipelining = new Redis(server.port, { enableAutoPipelining: true });
  older = new Redis5(server.port);
});

afterAll(async () => {
  for (const each of [client, pipelining, older]) each.disconnect();
  await server.stop();
});

/** Keys that no burst had before. */
function freshKeys(): readonly string[] {
  bursts += 1;
  return Array.from({ length: BURST }, (_, at) => `burst-${bursts}:${at}`);
}

const claimAll = (store: RedisStore, keys: readonly string[], owner = "a") =>
  Promise.all(keys.map((key) => store.set(key, "processing", { nx: true, owner, ...LIFE })));

/** What went over the wire while `action` ran: how many keys each call had. */
async function callsDuring(of: Redis | Redis5, action: () => Promise<unknown>): Promise<readonly number[]> {
  const sent = vi.spyOn(of, "sendCommand");
  await action();
  const calls = sent.mock.calls.map(([command]) => Number(command.args[1]));
  sent.mockRestore();
  return calls;
}

/** A store that has had a burst and has found out what answers it. */
async function acquainted(of: RedisClient): Promise<RedisStore> {
  const asked = vi.spyOn(of, "eval");
  const store = new RedisStore(of);
  await claimAll(store, freshKeys());
  await Promise.allSettled(asked.mock.results.map(({ value }) => value as Promise<unknown>));
  asked.mockRestore();
  return store;
}

describe("steps of one turn", () => {
  test("go together once the server has proved to be one, the first of them at once", async () => {
    for (const of of [client, pipelining, older]) {
      const store = await acquainted(of);
      const calls = await callsDuring(of, () => claimAll(store, freshKeys()));
      expect(calls).toEqual([1, 32, 32, 32, 3]);
    }
  });

  test("are each told their own answer", async () => {
    const store = await acquainted(client);
    const keys = freshKeys();
    await Promise.all(keys.filter((_, at) => at % 3 === 0).map((key) => store.set(key, "completed", LIFE)));
    const results = await claimAll(store, keys);
    expect(results.map(({ ok }) => ok)).toEqual(keys.map((_, at) => at % 3 !== 0));
  });

  test("go alone as long as there are few of them, and nothing is asked of the server", async () => {
    const store = new RedisStore(client);
    const calls = await callsDuring(client, () => claimAll(store, freshKeys().slice(0, 7)));
    expect(calls).toEqual([1, 1, 1, 1, 1, 1, 1]);
  });

  test("are done in the order in which they were asked for", async () => {
    const store = await acquainted(client);
    for (let round = 0; round < 20; round += 1) {
      const [key = ""] = freshKeys();
      const [claimed, refused, released, again, completed, removed] = await Promise.all([
        store.set(key, "processing", { nx: true, owner: "a", ...LIFE }),
        store.set(key, "processing", { nx: true, owner: "b", ...LIFE }),
        store.delete(key, { owner: "a" }),
        store.set(key, "processing", { nx: true, owner: "b", ...LIFE }),
        store.set(key, "completed", { xx: true, owner: "b", ...LIFE }),
        store.delete(key),
      ]);
      expect([claimed.ok, refused.ok, released, again.ok, completed.ok, removed]).toEqual([true, false, true, true, true, true]);
    }
  });

  test("get fences that grow on every key, though the clock stands still in a call", async () => {
    const store = await acquainted(client);
    const [key = ""] = freshKeys();
    const results = await Promise.all(
      Array.from({ length: 500 }, async () => {
        const claimed = store.set(key, "processing", { nx: true, owner: "a", ...LIFE });
        await Promise.all([claimed, store.delete(key, { owner: "a" })]);
        return claimed;
      }),
    );
    const fences = results.map((result) => (result.ok ? result.fence : Number.NaN));
    expect(fences.every((fence, at) => at === 0 || fence > (fences[at - 1] ?? 0))).toBe(true);
  });

  test("fail each on its own: a key of another kind disturbs no other", async () => {
    for (const of of [client, pipelining, older]) {
      const store = await acquainted(of);
      const keys = freshKeys();
      await of.rpush(keys[50] ?? "", "a list");
      const settled = await Promise.allSettled(keys.map((key) => store.set(key, "processing", { nx: true, owner: "a", ...LIFE })));
      expect(settled.filter(({ status }) => status === "rejected")).toEqual([
        { status: "rejected", reason: expect.objectContaining({ message: expect.stringMatching(/^WRONGTYPE/) }) },
      ]);
      expect(settled[50]?.status).toBe("rejected");
    }
  });

  test("are sent as text once to a server that knows the script no more", async () => {
    for (const of of [client, pipelining, older]) {
      const store = await acquainted(of);
      await of.script("FLUSH");
      const results = await claimAll(store, freshKeys());
      expect(results.every(({ ok }) => ok)).toBe(true);
    }
  });

  test("reject together when the connection is closed", async () => {
    for (const options of [{}, { enableAutoPipelining: true }]) {
      const closing = new Redis({ ...options, port: server.port });
      closing.on("error", () => {}); // a call may meet the connection just as it closes
      const store = await acquainted(closing);
      await closing.quit();
      const settled = await Promise.allSettled(freshKeys().map((key) => store.get(key)));
      expect(settled.every((each) => each.status === "rejected" && String(each.reason).includes("Connection is closed."))).toBe(true);
    }
  });
});

describe("steps of one turn go alone", () => {
  test("to a proxy that spreads keys over several servers, and sends many keys to where the first belongs", async () => {
    const other = await startRedis();
    const second = new Redis(other.port);
    const serverOf = (key: unknown): Redis => (String(key).charCodeAt(String(key).length - 1) % 2 === 0 ? client : second);
    const proxy: RedisClient = {
      options: {},
      evalsha: (sha, count, ...rest) => serverOf(rest[0]).evalsha(sha, count, ...rest),
      eval: (text, count, ...rest) => serverOf(rest[0]).eval(text, count, ...rest),
      pipeline: (commands) => client.pipeline(commands),
      call: (command, ...args) => client.call(command, ...args),
    };
    const store = await acquainted(proxy);
    const keys = freshKeys();
    await claimAll(store, keys);
    const again = await claimAll(store, keys.toReversed(), "b");
    expect(again.some(({ ok }) => ok)).toBe(false);
    for (const key of keys) expect(await serverOf(key).exists(key)).toBe(1);
    second.disconnect();
    await other.stop();
  });

  test("to a user who may not ask which server it is", async () => {
    await client.call("acl", "setuser", "not-told", "on", ">secret", "~*", "+@all", "-info");
    const user = new Redis(server.port, { username: "not-told", password: "secret", enableReadyCheck: false });
    const store = await acquainted(user);
    const calls = await callsDuring(user, () => claimAll(store, freshKeys()));
    user.disconnect();
    expect(calls).toEqual(Array.from({ length: BURST }, () => 1));
  });

  test("where a cluster answers under one address and refuses calls with several keys", async () => {
    const cluster = await startCluster(1);
    const one = new Redis(cluster.nodes[0]?.url ?? "");
    const store = await acquainted(one);
    for (let round = 0; round < 2; round += 1) {
      const results = await claimAll(store, freshKeys());
      expect(results.every(({ ok }) => ok)).toBe(true);
    }
    const calls = await callsDuring(one, () => claimAll(store, freshKeys()));
    one.disconnect();
    await cluster.stop();
    expect(calls).toEqual(Array.from({ length: BURST }, () => 1));
  });
});
