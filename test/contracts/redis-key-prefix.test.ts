import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it, test } from "vitest";
import { RedisStore } from "taskwright/redis";
import { storeContract } from "taskwright/testing";
import { provideRedis } from "../support/redis.js";

/** Every sign that means something else in a pattern of Redis. */
const PREFIX = "app*[1]?\\^-:";

let server: Awaited<ReturnType<typeof provideRedis>>;
let client: Redis;
let other: Redis;
let pipelining: Redis;
let bare: Redis;

beforeAll(async () => {
  server = await provideRedis();
  client = new Redis(server.url, { keyPrefix: PREFIX });
  other = new Redis(server.url, { keyPrefix: PREFIX });
  pipelining = new Redis(server.url, { keyPrefix: PREFIX, enableAutoPipelining: true });
  bare = new Redis(server.url);
});

afterAll(async () => {
  for (const each of [client, other, pipelining, bare]) each.disconnect();
  await server.stop();
});

storeContract({
  name: "RedisStore on a client with a keyPrefix",
  describe,
  it,
  expect,
  counts: true,
  createStore: () => new RedisStore(client),
  createPeer: () => new RedisStore(other),
});

storeContract({
  name: "RedisStore on a client with a keyPrefix that pipelines by itself",
  describe,
  it,
  expect,
  counts: true,
  createStore: () => new RedisStore(pipelining),
  createPeer: () => new RedisStore(other),
});

describe("RedisStore on a client with a keyPrefix", () => {
  test("keeps its keys under the prefix, in scripts as in commands", async () => {
    const store = new RedisStore(client);
    await store.set("own", "processing", { nx: true, owner: "a", ttlMs: 60_000 });
    expect(await bare.get(`${PREFIX}own`)).toBe("processing owner=a");
    expect(await bare.get("own")).toBeNull();
    expect(await client.get("own")).toBe("processing owner=a");
  });

  test("lists keys as they are given to it, and none from outside the prefix", async () => {
    const store = new RedisStore(client);
    await store.set("listed:1", "completed", { ttlMs: 60_000 });
    await bare.set("listed:1", "completed", "PX", 60_000);
    await bare.set("appX1Y\\^-:listed:2", "completed", "PX", 60_000);
    const { entries } = await store.entries({ prefix: "listed:", limit: 1_000 });
    expect(entries.map(({ key }) => key)).toEqual(["listed:1"]);
  });
});
