import { setTimeout as wait } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { configure, resetConfiguration } from "taskwright";
import { RedisStore } from "taskwright/redis";
import type { Redis } from "ioredis";
import { chargeTask } from "../scenarios/fixtures/charge.js";
import { RedisProxy } from "../scenarios/fixtures/proxy.js";
import { onlyMortalKeys, quietClient } from "../scenarios/fixtures/stores.js";
import { expectNothingUnhandled } from "../scenarios/fixtures/watch.js";
import { startRedis, type RedisServer } from "../support/redis.js";
import { LIMIT, LONG } from "./crew.js";
import { commanding, disturb, expectKept } from "./disturb.js";
import { limitedTask, lockedTask } from "./tasks.js";

/** A pair of servers, and clients who move from the one to the other. What becomes of claims is told in test/scenarios/redis-topologies.test.ts. */

expectNothingUnhandled();

const SEED = 20_261_105;
const FAILOVERS = LONG ? 20 : 2;
const TIMEOUT_MS = LONG ? 900_000 : 180_000;

let pair: [RedisServer, RedisServer];
let proxy: RedisProxy;
beforeEach(async () => {
  const soon = ["--repl-diskless-sync-delay", "0"]; // a replica is fed at once
  pair = await Promise.all([startRedis(...soon), startRedis(...soon)]);
  await follow(pair[1], pair[0]);
  proxy = await RedisProxy.before(pair[0].port);
});
afterEach(async () => {
  resetConfiguration();
  proxy.close();
  for (const { port } of pair) await onlyMortalKeys(port);
  await Promise.all(pair.map((server) => server.stop()));
});

async function follow(replica: RedisServer, master: RedisServer): Promise<void> {
  await commanding(replica.port, async (client) => {
    await client.replicaof("127.0.0.1", master.port);
    while (!(await client.info("replication")).includes("master_link_status:up")) await wait(10);
  });
}

const promote = ({ port }: RedisServer): Promise<unknown> => commanding(port, (client) => client.replicaof("NO", "ONE"));

/** What reached the master has reached the replica as well. */
async function replicated(client: Redis): Promise<void> {
  while ((await client.wait(1, 1_000)) < 1);
}

/** All that a master has done, its replica has done as well. */
async function caughtUp(master: Redis): Promise<void> {
  for (;;) {
    const info = await master.info("replication");
    const [, done] = /master_repl_offset:(\d+)/.exec(info) ?? [];
    const [, passedOn] = /slave0:.*offset=(\d+)/.exec(info) ?? [];
    if (done !== undefined && done === passedOn) return;
    await wait(10);
  }
}

function useProxy(): Redis {
  const client = quietClient(proxy.port, { retryStrategy: () => 20 });
  configure((config) => {
    config.store = new RedisStore(client);
  });
  return client;
}

describe("a failover", () => {
  test("to a replica that has heard of everything forgets no success, no lock and no count", async () => {
    const client = useProxy();
    const [Charge, Withdraw, Send] = [chargeTask(), lockedTask({ waits: true }), limitedTask({ limit: 1 })];
    await Charge.execute({ paymentId: "pay_1" });
    await Send.execute();
    const holder = Withdraw.execute();
    await Withdraw.atWork.reached;
    await replicated(client);
    await promote(pair[1]);
    proxy.moveTo(pair[1].port);

    const results = [await Charge.execute({ paymentId: "pay_1" }), await Withdraw.execute(), await Send.execute()];
    Withdraw.atWork.resume();
    const first = await holder;
    client.disconnect();

    expect(results.map(({ metadata }) => metadata.code)).toEqual(["duplicate", "locked", "rate_limited"]);
    expect(first.status).toBe("success");
    expect(Withdraw.lost).toEqual([]);
  });

  test("to a replica that missed the last writes forgets a success, which is had again, a lock, whose holder is told, and a count", async () => {
    const client = useProxy();
    const [Charge, Send] = [chargeTask(), limitedTask({ limit: 1 })];
    const Withdraw = lockedTask({ ttl: "1s", waits: true });
    await promote(pair[1]); // from here on nothing reaches it
    await Charge.execute({ paymentId: "pay_1" });
    await Send.execute();
    const holder = Withdraw.execute();
    await Withdraw.atWork.reached;
    proxy.moveTo(pair[1].port);

    const results = [await Charge.execute({ paymentId: "pay_1" }), await Withdraw.execute(), await Send.execute()];
    while (Withdraw.lost.length === 0) await wait(10); // at its next renewal
    Withdraw.atWork.resume();
    const first = await holder;
    client.disconnect();

    expect(results.map(({ status }) => status)).toEqual(["success", "success", "success"]);
    expect([Charge.runs, Send.runs]).toEqual([2, 2]);
    expect(first.status).toBe("success");
    expect(Withdraw.lost).toEqual(["refused"]);
    const [early = 0, late = 0] = Withdraw.fences;
    expect(late).toBeGreaterThan(early); // so a resource that looks at fences refuses what the first still writes
  });

  test(
    "again and again while a crew is at work, with everything replicated before, breaks no promise",
    async () => {
      const { account } = await disturb("failovers without loss", { ports: [proxy.port], seed: SEED }, async (crew) => {
        for (let failover = 0; failover < FAILOVERS; failover += 1) {
          const [master, replica] = pair;
          await commanding(master.port, async (client) => {
            await client.call("CLIENT", "PAUSE", 20_000, "WRITE"); // as FAILOVER does: nothing is acknowledged that is not passed on
            await caughtUp(client);
            await promote(replica);
            proxy.moveTo(replica.port);
            await client.call("CLIENT", "UNPAUSE");
          });
          await follow(master, replica);
          pair = [replica, master];
          await crew.succeed(2);
        }
      });

      expectKept(account);
    },
    TIMEOUT_MS,
  );

  test(
    "again and again while a crew is at work, each time without the writes of the last moments, has no work run without a claim",
    async () => {
      const { account } = await disturb("failovers with loss", { ports: [proxy.port], seed: SEED }, async (crew) => {
        for (let failover = 0; failover < FAILOVERS; failover += 1) {
          const [master, replica] = pair;
          await promote(replica);
          await wait(200); // what is written now, nobody will know of
          proxy.moveTo(replica.port);
          await follow(master, replica);
          pair = [replica, master];
          await crew.succeed(2);
        }
      });

      expect(account.untrue).toEqual([]);
      expect(account.sent).toBeLessThanOrEqual(LIMIT * (FAILOVERS + 1));
      // A success may be forgotten without a word. A claim may not: whoever worked beside another was told, or was killed, or has not succeeded.
      const silent = account.overlaps.filter(
        ({ before }) => before.key?.startsWith("cmdx:idem:") && before.answer?.status === "success" && !before.answer.superseded,
      );
      console.log(`${silent.length} of ${account.overlaps.length} overlaps were not told`);
    },
    TIMEOUT_MS,
  );
});
