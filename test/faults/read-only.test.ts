import { setTimeout as wait } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { configure, resetConfiguration } from "taskwright";
import { RedisStore } from "taskwright/redis";
import { chargeTask } from "../scenarios/fixtures/charge.js";
import { quietClient } from "../scenarios/fixtures/stores.js";
import { expectNothingUnhandled } from "../scenarios/fixtures/watch.js";
import { startRedis, type RedisServer } from "../support/redis.js";
import { LEASE_MS, LONG } from "./crew.js";
import { commanding, disturb, expectKept } from "./disturb.js";
import { limitedTask, lockedTask } from "./tasks.js";

expectNothingUnhandled();
afterEach(() => resetConfiguration());

const SEED = 20_261_104;
const ROUNDS = LONG ? 40 : 2;

let server: RedisServer;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

test("a client that is connected to a replica has no work run: no charge, nothing under a lock, nothing under a limit", async () => {
  const replica = await startRedis("--replicaof", `127.0.0.1 ${server.port}`);
  const client = quietClient(replica.port);
  configure((config) => {
    config.store = new RedisStore(client);
  });
  const [Charge, Withdraw, Send] = [chargeTask(), lockedTask(), limitedTask({ limit: 10 })];

  const results = [await Charge.execute({ paymentId: "pay_1" }), await Withdraw.execute(), await Send.execute()];
  client.disconnect();
  await replica.stop();

  for (const result of results) {
    expect(result).toMatchObject({ status: "failed", retryable: true, metadata: { code: "store_unavailable" } });
    expect(result.reason).toContain("READONLY");
  }
  expect([Charge.runs, Withdraw.runs, Send.runs]).toEqual([0, 0, 0]);
});

describe("a master that is demoted while a crew is at work, and promoted again", () => {
  test.each([
    ["before their leases are over", 250],
    ["after their leases are over", LEASE_MS + 300],
  ])(
    "%s, breaks no promise",
    async (when, ms) => {
      const { account, storeErrors } = await disturb(`demoted, promoted ${when}`, { ports: [server.port], seed: SEED }, async (crew) => {
        await commanding(server.port, async (client) => {
          for (let round = 0; round < ROUNDS; round += 1) {
            await client.replicaof("127.0.0.1", "1"); // where nobody listens: it keeps what it has
            await wait(ms);
            await client.replicaof("NO", "ONE");
            await crew.succeed(2);
          }
        });
      });

      await commanding(server.port, (client) => client.flushall());

      expectKept(account);
      expect(storeErrors["claim"]).toBeGreaterThan(0);
    },
    LONG ? 900_000 : 180_000,
  );
});
