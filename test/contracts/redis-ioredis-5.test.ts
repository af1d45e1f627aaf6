import { Redis } from "ioredis-5";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RedisStore } from "taskwright/redis";
import { storeContract } from "taskwright/testing";
import { provideRedis } from "../support/redis.js";

let server: Awaited<ReturnType<typeof provideRedis>>;
let client: Redis;
let other: Redis;
let pipelining: Redis;

beforeAll(async () => {
  server = await provideRedis();
  client = new Redis(server.url);
  other = new Redis(server.url);
  pipelining = new Redis(server.url, { enableAutoPipelining: true });
});

afterAll(async () => {
  for (const each of [client, other, pipelining]) each.disconnect();
  await server.stop();
});

storeContract({
  name: "RedisStore on ioredis 5",
  describe,
  it,
  expect,
  counts: true,
  createStore: () => new RedisStore(client),
  createPeer: () => new RedisStore(other),
});

storeContract({
  name: "RedisStore on ioredis 5 whose client pipelines by itself",
  describe,
  it,
  expect,
  counts: true,
  createStore: () => new RedisStore(pipelining),
  createPeer: () => new RedisStore(other),
});
