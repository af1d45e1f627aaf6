import { setTimeout as wait } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { resetConfiguration } from "taskwright";
import { RedisStore } from "taskwright/redis";
import { PausePoint, recordEvents } from "../support/builders.js";
import { chargeKey, chargeTask } from "./fixtures/charge.js";
import { RedisProxy } from "./fixtures/proxy.js";
import { immortalKeys, quietClient, useRedis } from "./fixtures/stores.js";
import { expectNothingUnhandled, keepIn, slotEvents } from "./fixtures/watch.js";

expectNothingUnhandled();
afterEach(() => {
  resetConfiguration();
});

const KEY = chargeKey("pay_1");

describe("a connection that breaks after a request, before its reply", () => {
  const redis = useRedis();
  let proxy: RedisProxy;
  beforeEach(async () => {
    proxy = await RedisProxy.before(redis.server.port);
  });
  afterEach(() => {
    proxy.close();
  });

  const isStep = (name: string) => (request: string[]) => request.includes(name);

  /** The client connects again and sends again what had no reply, without a word to the store. */
  async function losing(step: string, work: () => unknown = () => undefined) {
    await new RedisStore(redis.connect()).get(KEY); // the server knows the script
    const client = quietClient(proxy.port);
    keepIn(new RedisStore(client));
    const Charge = chargeTask({}, work);
    const events = recordEvents();
    proxy.loseReplyTo(isStep(step));
    const result = await Charge.execute({ paymentId: "pay_1" });
    const next = await Charge.execute({ paymentId: "pay_1" });
    client.disconnect();
    const sent = proxy.requests.filter((request) => request.includes(step)).length;
    return { result, next, events: slotEvents(events.filter(({ runId }) => runId === result.runId)), sent, runs: Charge.runs };
  }

  test("claims once: the claim that is sent again finds itself", async () => {
    const { result, next, events, sent, runs } = await losing("claim");

    expect(sent).toBe(3); // twice for the run, once for the duplicate
    expect(result).toMatchObject({ status: "success", metadata: {} });
    expect(next.metadata).toMatchObject({ code: "duplicate", state: "completed" });
    expect(events).toEqual(["idempotency_claimed", "idempotency_completed"]);
    expect(runs).toBe(1);
  });

  test("completes once: the completion that is sent again finds itself, and nothing counts as superseded", async () => {
    const { result, next, events, sent, runs } = await losing("complete");

    expect(sent).toBe(2);
    expect(result).toMatchObject({ status: "success", metadata: {} });
    expect(next.metadata).toMatchObject({ code: "duplicate", state: "completed" });
    expect(events).toEqual(["idempotency_claimed", "idempotency_completed"]);
    expect(runs).toBe(1);
  });

  test("frees the key once: the release that is sent again finds nothing, and no claim counts as lost", async () => {
    let runs = 0;
    const { result, next, events, sent } = await losing("remove", () => {
      runs += 1;
      if (runs === 1) throw new Error("declined");
    });

    expect(sent).toBe(2);
    expect(result).toMatchObject({ status: "failed", reason: "declined" });
    expect(events).toEqual(["idempotency_claimed", "idempotency_released"]);
    expect(next.status).toBe("success");
  });

  test("leaves no key without an end, wherever it breaks", async () => {
    for (const step of ["claim", "complete", "renew", "remove"]) {
      const client = quietClient(proxy.port, { maxRetriesPerRequest: 0 }); // the store hears of each break
      keepIn(new RedisStore(client));
      const Charge = chargeTask({}, (_, run) => {
        if (run > 1) throw new Error("declined");
      });
      proxy.loseReplyTo(isStep(step));
      await Charge.execute({ paymentId: step });
      await Charge.execute({ paymentId: `${step} again` });
      client.disconnect();
      resetConfiguration();
    }

    expect(await immortalKeys(redis.server.port)).toEqual([]);
  });

  test("takes each step in one request, so nothing can come between a value and its end of life", async () => {
    const client = quietClient(proxy.port);
    keepIn(new RedisStore(client));
    const Charge = chargeTask();
    await Charge.execute({ paymentId: "warm_up" });
    const before = proxy.requests.length;

    await Charge.execute({ paymentId: "pay_1" });
    client.disconnect();

    const steps = proxy.requests.slice(before).map(([command, , keys, key, step]) => [command, keys, key, step]);
    expect(steps).toEqual([
      ["evalsha", "1", KEY, "claim"],
      ["evalsha", "1", KEY, "complete"],
    ]);
  });
});

describe("a client that has to connect again", () => {
  const redis = useRedis();

  test.each([
    { db: 1, keyPrefix: "shop:" },
    { db: 1, keyPrefix: "shop:", enableAutoPipelining: true },
  ])("finds its keys in the same database and under the same prefix: %j", async (options) => {
    const client = redis.connect(options);
    const other = redis.connect();
    keepIn(new RedisStore(client));
    const atWork = new PausePoint();
    const Charge = chargeTask({}, (_, run) => (run === 1 ? atWork.pass() : undefined));
    const held = Charge.execute({ paymentId: "pay_1" });
    await atWork.reached;

    const burst = Array.from({ length: 50 }, (_, at) => Charge.execute({ paymentId: `other_${at}` }));
    await other.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"); // with commands on their way
    const results = await Promise.all(burst);
    atWork.resume();
    const result = await held;
    const next = await Charge.execute({ paymentId: "pay_1" });
    const misplaced = await other.dbsize();
    const keys = await redis.connect({ db: 1 }).keys("*");

    expect(results.every(({ status }) => status === "success")).toBe(true);
    expect(result).toMatchObject({ status: "success", metadata: {} });
    expect(next.metadata).toMatchObject({ code: "duplicate", state: "completed" });
    expect(misplaced).toBe(0);
    expect(keys).toHaveLength(51);
    expect(keys.every((key) => key.startsWith("shop:cmdx:idem:ChargeCustomer:"))).toBe(true);
  });

  test("and may not wait for it, fails at once where it has no connection, and runs nothing", async () => {
    const client = redis.connect({ enableOfflineQueue: false, retryStrategy: () => 10_000 });
    await new Promise((resolve) => client.once("ready", resolve));
    keepIn(new RedisStore(client));
    const Charge = chargeTask();
    await redis.connect().call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
    while (client.status === "ready") await wait(5);

    const result = await Charge.execute({ paymentId: "pay_1" });

    expect(result).toMatchObject({ status: "failed", retryable: true, metadata: { code: "store_unavailable" } });
    expect(result.durationMs).toBeLessThan(8_000);
    expect(Charge.runs).toBe(0);
  });
});
