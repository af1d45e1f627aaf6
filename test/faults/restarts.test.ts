import { setTimeout as wait } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";
import { configure, resetConfiguration } from "taskwright";
import { RedisStore } from "taskwright/redis";
import { chargeTask } from "../scenarios/fixtures/charge.js";
import { DurableRedis } from "../scenarios/fixtures/durable-redis.js";
import { quietClient } from "../scenarios/fixtures/stores.js";
import { expectNothingUnhandled } from "../scenarios/fixtures/watch.js";
import { startRedis, type RedisServer } from "../support/redis.js";
import { LIMIT, LONG } from "./crew.js";
import { disturb, expectKept } from "./disturb.js";
import { limitedTask, lockedTask } from "./tasks.js";

expectNothingUnhandled();
afterEach(() => resetConfiguration());

const SEED = 20_261_103;
const RESTARTS = LONG ? 20 : 2;
const TIMEOUT_MS = LONG ? 900_000 : 180_000;

test(
  "a server that is killed and started again with all that it had acknowledged breaks no promise",
  async () => {
    const server = await DurableRedis.start();
    const { account, storeErrors } = await disturb(
      "restarts with appendfsync always",
      { ports: [server.port], seed: SEED },
      async (crew) => {
        for (let restart = 0; restart < RESTARTS; restart += 1) {
          await crew.succeed(2);
          await server.kill();
          await wait(500);
          await server.start();
        }
        await crew.succeed(2);
      },
    );
    await server.remove();

    expectKept(account);
    expect(Object.keys(storeErrors).length).toBeGreaterThan(0);
  },
  TIMEOUT_MS,
);

describe("a server that forgets everything when it is started again", () => {
  test(
    "lets no work run without a claim, tells no caller anything untrue, and is of use again at once",
    async () => {
      const server = await startRedis();
      const { account } = await disturb("restarts without persistence", { ports: [server.port], seed: SEED }, async (crew) => {
        for (let restart = 0; restart < RESTARTS; restart += 1) {
          await crew.succeed(2);
          await server.kill();
          await wait(200);
          await server.start();
        }
        await crew.succeed(2);
      });
      await server.stop();

      expect(account.untrue).toEqual([]);
      // What it forgot may happen once more for each time that it forgot, and no more often.
      expect(account.overlaps.length + account.repeats.length).toBeLessThanOrEqual(RESTARTS * 2 * 16);
      expect(account.sent).toBeLessThanOrEqual(LIMIT * (RESTARTS + 1));
    },
    TIMEOUT_MS,
  );

  test("forgets a success, which is had again; a lock, whose holder is told; and a limit, which begins anew", async () => {
    const server = await startRedis();
    const client = quietClient(server.port, { retryStrategy: () => 20 });
    configure((config) => {
      config.store = new RedisStore(client);
    });
    const Charge = chargeTask();
    const Withdraw = lockedTask({ ttl: "1s", waits: true });
    const Send = limitedTask({ limit: 1 });

    const charged = await Charge.execute({ paymentId: "pay_1" });
    const holder = Withdraw.execute();
    await Withdraw.atWork.reached;
    const sent = [await Send.execute(), await Send.execute()];
    await forget(server);
    const chargedAgain = await Charge.execute({ paymentId: "pay_1" });
    const second = await Withdraw.execute();
    const sentAgain = await Send.execute();
    while (Withdraw.lost.length === 0) await client.ping(); // its next renewal
    Withdraw.atWork.resume();
    const first = await holder;
    client.disconnect();
    await server.stop();

    expect([charged.status, chargedAgain.status, Charge.runs]).toEqual(["success", "success", 2]);
    expect([second.status, first.status]).toEqual(["success", "success"]);
    expect(Withdraw.lost).toEqual(["refused"]);
    expect(sent.map(({ status }) => status)).toEqual(["success", "failed"]);
    expect(sentAgain.status).toBe("success");
  });
});

async function forget(server: RedisServer): Promise<void> {
  await server.kill();
  await server.start();
}
