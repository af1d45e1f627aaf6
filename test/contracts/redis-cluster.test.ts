import { Cluster } from "ioredis";
import { Cluster as Cluster5 } from "ioredis-5";
import { afterAll, beforeAll, describe, expect, it, test } from "vitest";
import { RedisStore } from "taskwright/redis";
import { storeContract } from "taskwright/testing";
import { startCluster } from "../support/redis.js";

let cluster: Awaited<ReturnType<typeof startCluster>>;
let client: Cluster;
let other: Cluster;
let pipelining: Cluster;
let prefixed: Cluster;
let older: Cluster5;

beforeAll(async () => {
  cluster = await startCluster();
  const startNodes = cluster.nodes.map(({ port }) => ({ host: "127.0.0.1", port }));
  client = new Cluster(startNodes);
  other = new Cluster(startNodes);
  pipelining = new Cluster(startNodes, { enableAutoPipelining: true });
  prefixed = new Cluster(startNodes, { keyPrefix: "app:{tenant}:*" });
  older = new Cluster5(startNodes, { enableAutoPipelining: true });
}, 60_000);

afterAll(async () => {
  for (const each of [client, other, pipelining, prefixed, older]) each.disconnect();
  await cluster.stop();
});

const clients = [
  { name: "ioredis 6", clientOf: () => client },
  { name: "ioredis 6 whose client pipelines by itself", clientOf: () => pipelining },
  { name: "ioredis 5 whose client pipelines by itself", clientOf: () => older },
];
for (const { name, clientOf } of clients) {
  storeContract({
    name: `RedisStore on a cluster, ${name}`,
    describe,
    it,
    expect,
    counts: true,
    createStore: () => new RedisStore(clientOf()),
    createPeer: () => new RedisStore(other),
  });
}

storeContract({
  name: "RedisStore on a cluster, with a keyPrefix",
  describe,
  it,
  expect,
  counts: true,
  createStore: () => new RedisStore(prefixed),
});

describe("RedisStore on a cluster", () => {
  test("lists the entries of all nodes", async () => {
    const store = new RedisStore(client);
    const keys = Array.from({ length: 60 }, (_, at) => `everywhere:${at}`);
    await Promise.all(keys.map((key) => store.set(key, "completed", { ttlMs: 60_000 })));
    const holders = await Promise.all(client.nodes("master").map((node) => node.dbsize()));
    expect(holders.every((size) => size > 0)).toBe(true);

    const found: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await store.entries({ prefix: "everywhere:", limit: 7, ...(cursor !== undefined && { cursor }) });
      found.push(...page.entries.map(({ key }) => key));
      cursor = page.cursor;
    } while (cursor !== undefined);
    expect(new Set(found)).toEqual(new Set(keys));
  });

  test("lists entries before the client is connected", async () => {
    await new RedisStore(client).set("early:1", "completed", { ttlMs: 60_000 });
    const late = new Cluster(
      cluster.nodes.map(({ port }) => ({ host: "127.0.0.1", port })),
      { lazyConnect: true },
    );
    const page = await new RedisStore(late).entries({ prefix: "early:", limit: 1_000 });
    late.disconnect();
    expect(page.entries.map(({ key }) => key)).toEqual(["early:1"]);
  });

  test("verifies every node", async () => {
    for (const [at, node] of client.nodes("master").entries()) if (at > 0) await node.config("SET", "maxmemory-policy", "allkeys-lru");
    const { warnings } = await new RedisStore(client).verify();
    for (const node of client.nodes("master")) await node.config("SET", "maxmemory-policy", "noeviction");
    expect(warnings).toHaveLength(2);
    expect(warnings[0]).toMatch(/^The server 127\.0\.0\.1:\d+ may drop entries .*allkeys-lru/);
  });

  test("takes a hundred claims at once on a client that pipelines by itself", async () => {
    const store = new RedisStore(pipelining);
    const keys = Array.from({ length: 100 }, (_, at) => `at-once:${at}`);
    const results = await Promise.all(keys.map((key) => store.set(key, "processing", { nx: true, owner: "a", ttlMs: 60_000 })));
    expect(results.every(({ ok }) => ok)).toBe(true);
  });

  test("follows keys whose slot moves from node to node while they are in use", async () => {
    const store = new RedisStore(pipelining);
    const claim = (key: string, owner: string) => store.set(key, "processing", { nx: true, owner, ttlMs: 60_000 });
    const elsewhere = (round: string) => Promise.all(Array.from({ length: 20 }, (_, at) => claim(`${round}:${at}`, "a")));
    await claim("{moving}:held", "a");
    const slot = Number(await client.cluster("KEYSLOT", "{moving}"));
    const move = await startMoving(slot);

    // Half-way: what was there is still on the old node, what comes new belongs on the other.
    const [held, fresh] = await Promise.all([claim("{moving}:held", "b"), claim("{moving}:fresh", "b"), elsewhere("half-way")]);
    expect(held).toMatchObject({ ok: false, held: { owner: "a" } });
    expect(fresh.ok).toBe(true);

    await move.finish(["{moving}:held"]);
    const [stillHeld, completed, others] = await Promise.all([
      claim("{moving}:held", "b"),
      store.set("{moving}:fresh", "completed", { xx: true, owner: "b", ttlMs: 60_000 }),
      elsewhere("moved"),
    ]);
    expect(stillHeld).toMatchObject({ ok: false, held: { owner: "a" } });
    expect(completed.ok).toBe(true);
    expect(others.every(({ ok }) => ok)).toBe(true);
  });
});

/** Begins to move a slot to another node, as an operator does; `finish` moves the keys and then the slot. */
async function startMoving(slot: number): Promise<{ finish(keys: readonly string[]): Promise<void> }> {
  const address = client.slots[slot]?.[0];
  const nodes = client.nodes("master");
  const source = nodes.find(({ options }) => `${options.host}:${options.port}` === address);
  const target = nodes.find((node) => node !== source);
  if (source === undefined || target === undefined) throw new Error("The cluster has too few nodes.");
  const [sourceId, targetId] = [String(await source.call("cluster", "myid")), String(await target.call("cluster", "myid"))];
  await target.call("cluster", "setslot", slot, "importing", sourceId);
  await source.call("cluster", "setslot", slot, "migrating", targetId);
  return {
    async finish(keys) {
      await source.call("migrate", "127.0.0.1", target.options.port ?? 0, "", 0, 5_000, "keys", ...keys);
      for (const node of [target, source]) await node.call("cluster", "setslot", slot, "node", targetId);
    },
  };
}
