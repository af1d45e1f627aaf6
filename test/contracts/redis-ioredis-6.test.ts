import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RedisStore } from "taskwright/redis";
import { storeContract } from "taskwright/testing";
import { provideRedis } from "../support/redis.js";

let server: Awaited<ReturnType<typeof provideRedis>>;
let client: Redis;
let other: Redis;
let pipelining: Redis;
let modern: Redis<"resp3">;
let textual: Redis;

beforeAll(async () => {
  server = await provideRedis();
  client = new Redis(server.url);
  other = new Redis(server.url);
  pipelining = new Redis(server.url, { enableAutoPipelining: true });
  modern = new Redis(server.url, { protocol: 3, replyMapping: "resp3" });
  textual = new Redis(server.url, { stringNumbers: true, showFriendlyErrorStack: true });
});

afterAll(async () => {
  for (const each of [client, other, pipelining, modern, textual]) each.disconnect();
  await server.stop();
});

const kinds = [
  { kind: "", storeOf: () => new RedisStore(client) },
  { kind: " whose client pipelines by itself", storeOf: () => new RedisStore(pipelining) },
  { kind: " whose client speaks RESP3", storeOf: () => new RedisStore(modern) },
  { kind: " whose client gives numbers as text", storeOf: () => new RedisStore(textual) },
];
for (const { kind, storeOf } of kinds) {
  storeContract({
    name: `RedisStore on ioredis 6${kind}`,
    describe,
    it,
    expect,
    counts: true,
    createStore: storeOf,
    createPeer: () => new RedisStore(other),
  });
}
