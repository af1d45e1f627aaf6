import { afterEach, describe, expect, test } from "vitest";
import { configure, resetConfiguration } from "taskwright";
import { RedisStore } from "taskwright/redis";
import { ofName, recordEvents } from "../support/builders.js";
import { chargeKey, chargeTask } from "./fixtures/charge.js";
import { useRedis } from "./fixtures/stores.js";
import { announced, expectNothingUnhandled, keepIn, slotEvents } from "./fixtures/watch.js";

expectNothingUnhandled();
afterEach(() => {
  resetConfiguration();
});

const KEY = chargeKey("pay_1");
/** Where nobody listens. */
const NOWHERE = "1";

describe("a server that was demoted, and refuses writes", () => {
  const redis = useRedis();
  afterEach(async () => {
    await redis.connect().replicaof("NO", "ONE");
  });

  test("lets no work run that is not claimed", async () => {
    keepIn(new RedisStore(redis.connect()));
    const Charge = chargeTask();
    const events = recordEvents();
    await redis.connect().replicaof("127.0.0.1", NOWHERE);

    const result = await Charge.execute({ paymentId: "pay_1" });

    expect(result).toMatchObject({ status: "failed", retryable: true, metadata: { code: "store_unavailable", idempotencyKey: KEY } });
    expect(result.reason).toContain("READONLY");
    expect(ofName(events, "idempotency_store_error").map(({ payload }) => payload.operation)).toEqual(["claim", "claim"]);
    expect(Charge.runs).toBe(0);
  });

  test("lets work run unprotected where that is wanted, which is told", async () => {
    keepIn(new RedisStore(redis.connect()));
    const Charge = chargeTask({ onStoreError: "run" });
    const events = recordEvents();
    await redis.connect().replicaof("127.0.0.1", NOWHERE);

    const result = await Charge.execute({ paymentId: "pay_1" });

    expect(result.status).toBe("success");
    expect(slotEvents(events)).toEqual(["idempotency_store_error", "idempotency_store_error", "idempotency_bypassed"]);
    expect(ofName(events, "idempotency_bypassed")).toMatchObject([{ payload: { why: "store_error" } }]);
  });

  test("takes no success back when it refuses the completion, and the key stays held for its lease", async () => {
    const client = redis.connect();
    keepIn(new RedisStore(client));
    const Charge = chargeTask({ lease: "2s" }, async () => {
      await redis.connect().replicaof("127.0.0.1", NOWHERE);
    });
    const events = recordEvents();

    const result = await Charge.execute({ paymentId: "pay_1" });
    await client.replicaof("NO", "ONE");

    expect(result).toMatchObject({ status: "success", output: { chargeId: "ch_1" } });
    expect(new Set(ofName(events, "idempotency_store_error").map(({ payload }) => payload.operation))).toContain("complete");
    expect(slotEvents(events)).not.toContain("idempotency_completed");
    expect(slotEvents(events)).not.toContain("idempotency_released");
  });

  test("is completed by the same run, when it is promoted again in time", async () => {
    const client = redis.connect();
    keepIn(new RedisStore(client));
    const Charge = chargeTask({}, async () => {
      await client.replicaof("127.0.0.1", NOWHERE);
      void announced("idempotency_store_error").then(() => client.replicaof("NO", "ONE"));
    });
    const events = recordEvents();

    const result = await Charge.execute({ paymentId: "pay_1" });

    expect(result).toMatchObject({ status: "success", metadata: {} });
    expect(slotEvents(events).at(-1)).toBe("idempotency_completed");
    expect(await client.get(KEY)).toBe("completed");
  });

  test("costs a renewal, which is tried again, and then the lease", async () => {
    const client = redis.connect();
    keepIn(new RedisStore(client));
    const lost = announced("idempotency_lost");
    const Charge = chargeTask({ lease: "1500ms" }, async () => {
      await client.replicaof("127.0.0.1", NOWHERE);
      await lost;
      await client.replicaof("NO", "ONE");
    });
    const events = recordEvents();

    const result = await Charge.execute({ paymentId: "pay_1" });

    expect((await lost).payload).toEqual({ idempotencyKey: KEY, why: "expired" });
    expect(ofName(events, "idempotency_store_error").filter(({ payload }) => payload.operation === "renew").length).toBeGreaterThan(1);
    expect(result.status).toBe("success");
  });
});

describe("a server that pauses its clients", () => {
  const redis = useRedis();

  test("makes a call fail when its time limit is over, and what it claimed late is given back", async () => {
    const client = redis.connect();
    keepIn(new RedisStore(client));
    configure((config) => {
      config.storeTimeout = "200ms";
    });
    const Charge = chargeTask();
    await client.client("PAUSE", 4_000, "ALL");
    const startedAt = performance.now();

    const paused = await Charge.execute({ paymentId: "pay_1" });
    const took = performance.now() - startedAt;
    configure((config) => {
      config.storeTimeout = 5;
    });
    while ((await client.exists(KEY)) === 1); // the late claims were carried out, and are given back
    const next = await Charge.execute({ paymentId: "pay_1" });

    expect(paused).toMatchObject({ status: "failed", metadata: { code: "store_unavailable" } });
    expect(took).toBeLessThan(3_500); // two limits and a pause between them, and much patience with a busy machine
    expect(next.status).toBe("success");
    expect(Charge.runs).toBe(1);
  });

  test("delays a completion, which is repeated until it comes through", async () => {
    const client = redis.connect();
    keepIn(new RedisStore(client));
    configure((config) => {
      config.storeTimeout = "1s";
    });
    const Charge = chargeTask({}, async () => {
      await redis.connect().client("PAUSE", 1_500, "ALL");
    });
    const events = recordEvents();

    const first = await Charge.execute({ paymentId: "pay_1" });
    const second = await Charge.execute({ paymentId: "pay_1" });

    expect(first).toMatchObject({ status: "success", metadata: {} });
    expect(second.metadata).toMatchObject({ code: "duplicate", state: "completed" });
    expect(slotEvents(events).filter((name) => name !== "idempotency_store_error")).toEqual([
      "idempotency_claimed",
      "idempotency_completed",
      "idempotency_duplicate",
    ]);
  });
});

describe("a server that hangs as a whole", () => {
  const redis = useRedis();
  afterEach(() => {
    redis.server.thaw();
  });

  test("holds no call beyond its time limits, at the claim, at the completion and at the release", async () => {
    const client = redis.connect();
    keepIn(new RedisStore(client));
    configure((config) => {
      config.storeTimeout = "150ms";
    });
    const Charge = chargeTask({ lease: "600ms" }, (_, run) => {
      redis.server.freeze();
      if (run === 2) throw new Error("declined");
    });
    const events = recordEvents();
    const startedAt = performance.now();

    const atCompletion = await Charge.execute({ paymentId: "pay_1" });
    const atClaim = await Charge.execute({ paymentId: "pay_2" });
    redis.server.thaw();
    await client.ping();
    const atRelease = await Charge.execute({ paymentId: "pay_3" });
    const took = performance.now() - startedAt;

    expect(atCompletion.status).toBe("success");
    expect(atClaim).toMatchObject({ status: "failed", metadata: { code: "store_unavailable" } });
    expect(atRelease).toMatchObject({ status: "failed", reason: "declined" });
    const operations = new Set(ofName(events, "idempotency_store_error").map(({ payload }) => payload.operation));
    expect([...operations].toSorted()).toEqual(expect.arrayContaining(["claim", "complete", "release"]));
    expect(took).toBeLessThan(5_000);
  });
});

describe("a server that has forgotten the scripts", () => {
  const redis = useRedis();

  test.each([{}, { enableAutoPipelining: true }])(
    "is told them again in the middle of a run, and of a hundred at once: %j",
    async (options) => {
      const client = redis.connect(options);
      keepIn(new RedisStore(client));
      const Charge = chargeTask({}, async (_, run) => {
        if (run % 10 === 1) await client.script("FLUSH");
      });

      const alone = await Charge.execute({ paymentId: "pay_1" });
      const many = await Promise.all(Array.from({ length: 100 }, (_, at) => Charge.execute({ paymentId: `other_${at}` })));
      const again = await Promise.all(Array.from({ length: 100 }, (_, at) => Charge.execute({ paymentId: `other_${at}` })));

      expect(alone).toMatchObject({ status: "success", metadata: {} });
      expect(many.every(({ status, metadata }) => status === "success" && metadata["superseded"] === undefined)).toBe(true);
      expect(again.every(({ metadata }) => metadata.code === "duplicate")).toBe(true);
      expect(Charge.runs).toBe(101);
    },
  );
});
