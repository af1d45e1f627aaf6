import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { configure, resetConfiguration } from "taskwright";
import { RedisStore } from "taskwright/redis";
import type { Redis } from "ioredis";
import { chargeKey, chargeTask } from "../scenarios/fixtures/charge.js";
import { quietClient } from "../scenarios/fixtures/stores.js";
import { expectNothingUnhandled } from "../scenarios/fixtures/watch.js";
import { ofName, PausePoint, recordEvents } from "../support/builders.js";
import { startRedis, type RedisServer } from "../support/redis.js";
import { limitedTask, lockedTask } from "./tasks.js";

expectNothingUnhandled();

const KEY = chargeKey("pay_1");
const LOCK = "cmdx:lock:Withdraw:wallet";
const COUNT = "cmdx:rate:Send:*";

let server: RedisServer;
let client: Redis;
let store: RedisStore;
beforeEach(async () => {
  server = await startRedis();
  client = quietClient(server.port);
  store = new RedisStore(client);
  configure((config) => {
    config.store = store;
    config.storeTimeout = "400ms";
  });
});
afterEach(async () => {
  resetConfiguration();
  client.disconnect();
  await server.stop();
});

describe("a server without memory that may drop nothing (noeviction)", () => {
  /** Less than it has: every write that needs memory is refused from now on. */
  const full = () => client.config("SET", "maxmemory", "100kb");
  const roomy = () => client.config("SET", "maxmemory", "0");

  test("has no work run: no charge, nothing under a lock, nothing under a limit; and works again when there is memory", async () => {
    const [Charge, Withdraw, Send] = [chargeTask(), lockedTask(), limitedTask({ limit: 10 })];
    const run = async () => [await Charge.execute({ paymentId: "pay_1" }), await Withdraw.execute(), await Send.execute()];
    await full();
    const refused = await run();
    await roomy();
    const later = await run();

    for (const result of refused) {
      expect(result).toMatchObject({ status: "failed", retryable: true, metadata: { code: "store_unavailable" } });
      expect(result.reason).toContain("OOM");
    }
    expect(later.map(({ status }) => status)).toEqual(["success", "success", "success"]);
    expect([Charge.runs, Withdraw.runs, Send.runs]).toEqual([1, 1, 1]);
  });

  test("takes no success back when it refuses the completion, keeps the key for its lease, and frees the key of a failure", async () => {
    const Charge = chargeTask({ lease: "1s" }, async (_, run) => {
      await full();
      if (run === 2) throw new Error("declined");
    });
    const events = recordEvents("idempotency_store_error", "idempotency_released");

    const first = await Charge.execute({ paymentId: "pay_1" });
    await roomy();
    const failed = await Charge.execute({ paymentId: "pay_2" });
    const left = await client.exists(chargeKey("pay_2"));
    await roomy();

    expect(first).toMatchObject({ status: "success", metadata: {} });
    expect(ofName(events, "idempotency_store_error").map(({ payload }) => payload.operation)).toContain("complete");
    expect(failed).toMatchObject({ status: "failed", reason: "declined" });
    expect(left).toBe(0);
  });

  test("has a claim renewed, so work that goes on keeps its key", async () => {
    let renewedTo = 0;
    const Charge = chargeTask({ lease: 2 }, async () => {
      const granted = await client.call("pexpiretime", KEY);
      await full();
      while (Number((renewedTo = Number(await client.call("pexpiretime", KEY)))) <= Number(granted));
      await roomy();
    });

    const result = await Charge.execute({ paymentId: "pay_1" });

    expect(renewedTo).toBeGreaterThan(0);
    expect(result).toMatchObject({ status: "success", metadata: {} });
    expect(await client.get(KEY)).toBe("completed");
  });
});

describe("a server that drops entries to save memory (allkeys-lru)", () => {
  /** Writes other people's data until the server has dropped the key. */
  async function crowdOut(key: string): Promise<void> {
    await client.config("SET", "maxmemory-policy", "allkeys-lru", "maxmemory", "4mb");
    const block = "x".repeat(20_000);
    for (let at = 0; (await client.exists(key)) === 1; at += 1) await client.set(`other:${at}`, block);
    await client.config("SET", "maxmemory", "0");
  }

  test("is warned of by verify()", async () => {
    await client.config("SET", "maxmemory-policy", "allkeys-lru");
    const { warnings } = await store.verify();
    expect(warnings).toEqual([expect.stringContaining("allkeys-lru")]);
  });

  test("may drop a claim: two runs are at work, the first is told, and a third is kept out", async () => {
    const works = [new PausePoint(), new PausePoint()];
    const Charge = chargeTask({}, (_, run) => works[run - 1]?.pass());
    const early = Charge.execute({ paymentId: "pay_1" });
    await works[0]?.reached;
    await crowdOut(KEY);
    const late = Charge.execute({ paymentId: "pay_1" });
    await works[1]?.reached;
    works[0]?.resume();
    const first = await early;
    const third = await Charge.execute({ paymentId: "pay_1" });
    works[1]?.resume();
    const second = await late;

    expect(first).toMatchObject({ status: "success", metadata: { superseded: true } });
    expect(second).toMatchObject({ status: "success", metadata: {} });
    expect(third.metadata).toMatchObject({ code: "duplicate", state: "processing" });
    expect(Charge.runs).toBe(2);
  });

  test("may drop a success: it is had again, and nobody can tell", async () => {
    const Charge = chargeTask();
    await Charge.execute({ paymentId: "pay_1" });
    await crowdOut(KEY);
    const again = await Charge.execute({ paymentId: "pay_1" });

    expect(again).toMatchObject({ status: "success", metadata: {} });
    expect(Charge.runs).toBe(2);
  });

  test("may drop a lock, whose holder is told at the next renewal, and the second has a higher fence", async () => {
    const Withdraw = lockedTask({ ttl: "1s", waits: true });
    const first = Withdraw.execute();
    await Withdraw.atWork.reached;
    await crowdOut(LOCK);
    const second = await Withdraw.execute();
    while (Withdraw.lost.length === 0) await client.ping();
    Withdraw.atWork.resume();

    expect([(await first).status, second.status]).toEqual(["success", "success"]);
    expect(Withdraw.lost).toEqual(["refused"]);
    expect(Withdraw.fences).toEqual(Withdraw.fences.toSorted((a, b) => a - b));
  });

  test("may drop a count, and the window begins anew", async () => {
    const Send = limitedTask({ limit: 1 });
    const before = [await Send.execute(), await Send.execute()];
    await crowdOut(COUNT);
    const after = [await Send.execute(), await Send.execute()];

    expect([...before, ...after].map(({ status }) => status)).toEqual(["success", "failed", "success", "failed"]);
  });
});
