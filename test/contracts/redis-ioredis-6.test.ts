import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RedisStore } from "taskwright/redis";
import { storeContract } from "taskwright/testing";
import { provideRedis } from "../support/redis.js";

let server: Awaited<ReturnType<typeof provideRedis>>;
let client: Redis;
let other: Redis;
let batching: Redis;

beforeAll(async () => {
  server = await provideRedis();
  client = new Redis(server.url);
  other = new Redis(server.url);
  batching = new Redis(server.url, { enableAutoPipelining: true });
});

afterAll(async () => {
  for (const each of [client, other, batching]) each.disconnect();
  await server.stop();
});

storeContract({
  name: "RedisStore on ioredis 6",
  describe,
  it,
  expect,
  createStore: () => new RedisStore(client),
  createPeer: () => new RedisStore(other),
});

storeContract({
  name: "RedisStore on ioredis 6 with automatic pipelines",
  describe,
  it,
  expect,
  createStore: () => new RedisStore(batching),
  createPeer: () => new RedisStore(other),
});
