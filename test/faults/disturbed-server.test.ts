import { setTimeout as wait } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { onlyMortalKeys } from "../scenarios/fixtures/stores.js";
import { startRedis, type RedisServer } from "../support/redis.js";
import { chances, LEASE_MS, LONG } from "./crew.js";
import { commanding, disturb, expectKept, expectNobodyRobbed } from "./disturb.js";

/** A server that stands still, or drops its clients, and forgets nothing. */

const SEED = 20_261_101;
const ROUNDS = LONG ? 40 : 2;
const TIMEOUT_MS = LONG ? 1_800_000 : 180_000;

let server: RedisServer;
beforeAll(async () => {
  server = await startRedis("--enable-debug-command", "local");
});
afterEach(async () => {
  await onlyMortalKeys(server.port);
  await commanding(server.port, (client) => client.flushall());
});
afterAll(() => server.stop());

const pauses = [
  ["CLIENT PAUSE … ALL, for longer than the store's time limit", "ALL", 600],
  ["CLIENT PAUSE … WRITE, for longer than the store's time limit", "WRITE", 600],
  ["CLIENT PAUSE … WRITE, for longer than a lease", "WRITE", LEASE_MS + 300],
] as const;

test.each(pauses)(
  "%s",
  async (what, mode, ms) => {
    const { account, storeErrors } = await disturb(what, { ports: [server.port], seed: SEED }, async (crew) => {
      for (let round = 0; round < ROUNDS; round += 1) {
        await commanding(server.port, (client) => client.call("CLIENT", "PAUSE", ms, mode));
        await wait(ms);
        await crew.succeed(2);
      }
    });

    expectKept(account);
    expect(Object.keys(storeErrors).length).toBeGreaterThan(0); // it was met at claims, renewals, completions or releases
  },
  TIMEOUT_MS,
);

const sleeps = [
  ["DEBUG SLEEP, for longer than the store's time limit", 600],
  ["DEBUG SLEEP, for longer than a lease", LEASE_MS + 300],
] as const;

test.each(sleeps)(
  "%s",
  async (what, ms) => {
    const { account, storeErrors } = await disturb(what, { ports: [server.port], seed: SEED }, async (crew) => {
      for (let round = 0; round < ROUNDS; round += 1) {
        await commanding(server.port, (client) => client.call("DEBUG", "SLEEP", ms / 1_000));
        await crew.succeed(2);
      }
    });

    expectKept(account);
    expect(Object.keys(storeErrors).length).toBeGreaterThan(0); // it was met at claims, renewals, completions or releases
  },
  TIMEOUT_MS,
);

test(
  "CLIENT KILL of all connections, again and again, in the middle of claims and completions",
  async () => {
    const chance = chances(SEED);
    let kills = 0;
    const { account } = await disturb("CLIENT KILL", { ports: [server.port], seed: SEED }, async (crew) => {
      await commanding(server.port, async (client) => {
        while (kills < ROUNDS * 15) {
          await wait(chance() * 60);
          kills += Number(await client.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"));
        }
      });
      await crew.succeed(2);
    });
    console.log(`${kills} connections were broken`);

    expectKept(account);
    expectNobodyRobbed(account);
  },
  TIMEOUT_MS,
);
