import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isDefinitionError } from "taskwright";
import { RedisStore, type RedisClient } from "taskwright/redis";
import { startRedis, type RedisServer } from "../support/redis.js";

let server: RedisServer;
let client: Redis;

beforeAll(async () => {
  server = await startRedis();
  client = new Redis(server.port);
});

afterAll(async () => {
  client.disconnect();
  await server.stop();
});

describe("verify", () => {
  test("finds nothing wrong with an ordinary server, and leaves nothing behind", async () => {
    expect(await new RedisStore(client).verify()).toEqual({ warnings: [] });
    expect(await client.dbsize()).toBe(0);
  });

  test.each(["allkeys-lru", "volatile-ttl", "allkeys-random"])("warns when the server may drop entries: %s", async (policy) => {
    await client.config("SET", "maxmemory-policy", policy);
    const { warnings } = await new RedisStore(client).verify();
    await client.config("SET", "maxmemory-policy", "noeviction");
    expect(warnings).toEqual([
      `The server may drop entries to save memory (maxmemory-policy is ${policy}), and with them claims and completions. Set it to noeviction.`,
    ]);
  });

  test("asks another way where INFO is not allowed", async () => {
    await client.call("acl", "setuser", "no-info", "on", ">secret", "~*", "+@all", "-info");
    await client.config("SET", "maxmemory-policy", "allkeys-lfu");
    const user = new Redis(server.port, { username: "no-info", password: "secret", enableReadyCheck: false });
    const { warnings } = await new RedisStore(user).verify();
    user.disconnect();
    await client.config("SET", "maxmemory-policy", "noeviction");
    expect(warnings).toEqual([expect.stringContaining("maxmemory-policy is allkeys-lfu")]);
  });

  test("warns that it cannot tell where neither INFO nor CONFIG is allowed", async () => {
    await client.call("acl", "setuser", "neither", "on", ">secret", "~*", "+@all", "-info", "-config");
    const user = new Redis(server.port, { username: "neither", password: "secret", enableReadyCheck: false });
    const { warnings } = await new RedisStore(user).verify();
    user.disconnect();
    expect(warnings).toEqual([expect.stringMatching(/does not tell its maxmemory-policy .* Make sure that it is noeviction\.$/)]);
  });

  test("says with the server's own words what a user is not allowed", async () => {
    await client.call("acl", "setuser", "no-scripts", "on", ">secret", "~*", "+@all", "-@scripting");
    const user = new Redis(server.port, { username: "no-scripts", password: "secret" });
    await expect(new RedisStore(user).verify()).rejects.toThrow(/NOPERM/);
    user.disconnect();
  });
});

/** A client whose answers are turned before they arrive, as a proxy might. */
function turning(turn: (command: readonly unknown[], answer: unknown) => unknown): RedisClient {
  return {
    options: {},
    evalsha: async (...command) => turn(command, await client.evalsha(...command)),
    eval: async (...command) => turn(command, await client.eval(...command)),
    pipeline: (commands) => client.pipeline(commands),
    call: (command, ...args) => client.call(command, ...args),
  };
}

const MINUTE_US = 60_000_000;

describe("verify on a server that does not keep its word", () => {
  const isClaim = (command: readonly unknown[]): boolean => command.includes("claim");
  const isRefused = (answer: unknown): boolean => Array.isArray(answer) && Array.isArray(answer[0]);
  let claims = 0;

  test.each([
    {
      broken: "a second claim on a held key is refused",
      turn: (command: readonly unknown[], answer: unknown) => (isClaim(command) && isRefused(answer) ? [1] : answer),
    },
    {
      broken: "a refused claim tells who holds the key",
      turn: (command: readonly unknown[], answer: unknown) => (isClaim(command) && isRefused(answer) ? [null] : answer),
    },
    {
      broken: "only the holder releases",
      turn: (command: readonly unknown[], answer: unknown) => (command.includes("remove") ? [1] : answer),
    },
    {
      broken: "only the holder renews",
      turn: (command: readonly unknown[], answer: unknown) => (command.includes("renew") ? [1] : answer),
    },
    {
      broken: "the fence grows from claim to claim",
      turn: (command: readonly unknown[], answer: unknown) =>
        isClaim(command) && !isRefused(answer) ? [Number((answer as unknown[])[0]) - MINUTE_US * (claims += 1)] : answer,
    },
    {
      broken: "an entry ends when its time is up",
      turn: (command: readonly unknown[], answer: unknown) => (command.includes("read") ? [["completed", 1]] : answer),
    },
  ])("tells that it is broken: $broken", async ({ broken, turn }) => {
    const failure = await new RedisStore(turning(turn)).verify().catch((error: unknown) => error);
    expect(failure).toSatisfy(isDefinitionError);
    expect((failure as Error).message).toBe(
      `This Redis does not keep what a store promises: ${broken}. Use Redis 6.2 or newer, or Valkey, without a proxy that changes commands.`,
    );
  });
});
