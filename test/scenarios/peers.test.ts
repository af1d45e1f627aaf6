import { afterEach, describe, expect, test } from "vitest";
import { idempotentBy, MemoryStore, resetConfiguration, Task, type Result } from "taskwright";
import { RedisStore } from "taskwright/redis";
import { ChaosStore } from "taskwright/testing";
import { z } from "zod";
import { PausePoint, useManualClock } from "../support/builders.js";
import { chargeKey, chargeTask } from "./fixtures/charge.js";
import { onEachStore, useRedis } from "./fixtures/stores.js";
import { announced, expectNothingUnhandled, keepIn } from "./fixtures/watch.js";

expectNothingUnhandled();
afterEach(() => {
  resetConfiguration();
});

const KEY = chargeKey("pay_1");

function statuses(results: readonly Result[]): string[] {
  return results.map(({ status }) => status).toSorted();
}

describe("a completed key whose time is up", () => {
  async function twoCalls() {
    const Charge = chargeTask();
    const results = await Promise.all([Charge.execute({ paymentId: "pay_1" }), Charge.execute({ paymentId: "pay_1" })]);
    return { results, runs: Charge.runs };
  }

  test("is claimed by one of two calls in memory, though nothing has swept it", async () => {
    const clock = useManualClock();
    const store = new MemoryStore({ clock });
    keepIn(store);
    await store.set(KEY, "completed", { ttlMs: 10 });
    await clock.advance(20);
    const kept = store.size;

    const { results, runs } = await twoCalls();

    expect(kept).toBe(1);
    expect(statuses(results)).toEqual(["skipped", "success"]);
    expect(runs).toBe(1);
  });

  const redis = useRedis();
  test("is claimed by one of two calls on Redis", async () => {
    const store = keepIn(new RedisStore(redis.connect()));
    await store.set(KEY, "completed", { ttlMs: 10 });
    while ((await store.get(KEY)) !== undefined);

    const { results, runs } = await twoCalls();

    expect(statuses(results)).toEqual(["skipped", "success"]);
    expect(runs).toBe(1);
  });
});

describe("a call that waits for another", () => {
  test("claims the key and runs soon after the other has failed", async () => {
    const clock = useManualClock();
    keepIn(new MemoryStore({ clock }));
    const Charge = chargeTask({ onDuplicate: "replay", waitFor: 5 }, async (_, run) => {
      if (run > 1) return;
      await new Promise<void>((resolve) => clock.timer(50, resolve));
      throw new Error("declined");
    });
    const first = Charge.execute({ paymentId: "pay_1" });
    const second = Charge.execute({ paymentId: "pay_1" });

    await clock.advance(150);

    expect((await first).status).toBe("failed");
    const result = await second;
    expect(result).toMatchObject({ status: "success", replayed: false });
    expect(result.durationMs).toBeGreaterThanOrEqual(50);
    expect(Charge.runs).toBe(2);
  });

  onEachStore((open) => {
    test("claims the key of one that has failed, and the next who wait replay what it gives", async () => {
      keepIn(open());
      const atWork = new PausePoint();
      const Charge = chargeTask({ onDuplicate: "replay" }, async (_, run) => {
        if (run > 1) return;
        await atWork.pass();
        throw new Error("declined");
      });
      const first = Charge.execute({ paymentId: "pay_1" });
      await atWork.reached;
      const waiting = [1, 2, 3].map(() => Charge.execute({ paymentId: "pay_1" }));
      atWork.resume();

      const results = await Promise.all(waiting);

      expect((await first).status).toBe("failed");
      expect(statuses(results)).toEqual(["success", "success", "success"]);
      expect(results.filter((result) => result.status === "success" && result.replayed)).toHaveLength(2);
      expect(Charge.runs).toBe(2);
    });

    test("claims the key of one that died, once its lease is over", async () => {
      const store = keepIn(open());
      await store.set(KEY, "processing", { nx: true, owner: "dead", ttlMs: 200 });

      const result = await chargeTask({ onDuplicate: "replay" }).execute({ paymentId: "pay_1" });

      expect(result).toMatchObject({ status: "success", replayed: false });
    });

    test("is a duplicate in the end, and never one that ran, when the other takes longer than it may wait", async () => {
      keepIn(open());
      const atWork = new PausePoint();
      const Charge = chargeTask({ onDuplicate: "replay", waitFor: "50ms" }, () => atWork.pass());
      const first = Charge.execute({ paymentId: "pay_1" });
      await atWork.reached;

      const second = await Charge.execute({ paymentId: "pay_1" });
      atWork.resume();
      await first;

      expect(second).toMatchObject({ status: "failed", retryable: true, metadata: { code: "duplicate", state: "processing" } });
      expect(Charge.runs).toBe(1);
    });
  });
});

// A key is never too long, so there is no code for that: see the tests of keys.
test("every way to be turned away has a code, or a state beside it, of its own", async () => {
  const atWork = new PausePoint();
  const chaos = new ChaosStore(new MemoryStore());
  keepIn(chaos);
  class Charge extends Task.with({ input: z.object({ paymentId: z.string().default(""), cents: z.number().default(1) }) }) {
    work(): unknown {
      return this.input.paymentId === "slow" ? atWork.pass() : undefined;
    }
  }
  idempotentBy("paymentId", { onMissingKey: "fail", onDuplicate: "fail", fingerprint: true })(Charge);
  const slow = Charge.execute({ paymentId: "slow" });
  await atWork.reached;
  await Charge.execute({ paymentId: "done" });

  const missing = await Charge.execute({ paymentId: " " });
  const mismatch = await Charge.execute({ paymentId: "done", cents: 2 });
  const processing = await Charge.execute({ paymentId: "slow" });
  const completed = await Charge.execute({ paymentId: "done" });
  chaos.disturb("claim", "fail-before", { times: 2 });
  const unavailable = await Charge.execute({ paymentId: "other" });
  atWork.resume();
  await slow;

  const told = [missing, mismatch, processing, completed, unavailable].map((result) => [
    result.metadata.code,
    result.metadata["state"],
    result.status === "failed" && result.error.name,
    result.status === "failed" && result.retryable,
  ]);
  expect(told).toEqual([
    ["missing_key", undefined, "MissingKeyError", false],
    ["fingerprint_mismatch", "completed", "FingerprintMismatchError", false],
    ["duplicate", "processing", "DuplicateError", true],
    ["duplicate", "completed", "DuplicateError", false],
    ["store_unavailable", undefined, "StoreUnavailableError", true],
  ]);
});

describe("a run that completes after another has claimed its key", () => {
  onEachStore((open) => {
    test("marks nothing: when the other fails, the next call runs", async () => {
      const store = keepIn(open());
      const works = [new PausePoint(), new PausePoint()] as const;
      const Charge = chargeTask({}, async (_, run) => {
        await works[run - 1]?.pass();
        if (run === 2) throw new Error("declined");
      });
      const first = Charge.execute({ paymentId: "pay_1" });
      await works[0].reached;
      await store.delete(KEY); // as if its lease had ended
      const second = Charge.execute({ paymentId: "pay_1" });
      await works[1].reached;

      works[0].resume();
      const overtaken = await first;
      works[1].resume();
      await second;
      const third = await Charge.execute({ paymentId: "pay_1" });
      const fourth = await Charge.execute({ paymentId: "pay_1" });

      expect(overtaken).toMatchObject({ status: "success", metadata: { superseded: true } });
      expect(third.status).toBe("success");
      expect(fourth.metadata).toMatchObject({ code: "duplicate", state: "completed", idempotencyKey: KEY });
      expect(Charge.runs).toBe(3);
    });
  });
});

describe("times of less than a second", () => {
  const redis = useRedis();

  test("are kept in milliseconds: a completion in the last part of a claim's life starts the whole retention", async () => {
    const client = redis.connect();
    const store = keepIn(new RedisStore(client));
    const Charge = chargeTask({ ttl: "4500ms", lease: "4500ms" }, async () => {
      await client.pexpire(KEY, 2_000); // most of its life is over
    });

    const result = await Charge.execute({ paymentId: "pay_1" });
    const left = (await store.get(KEY))?.expiresInMs ?? 0;

    expect(result).toMatchObject({ status: "success", metadata: {} });
    expect(left).toBeGreaterThan(2_000);
    expect(left).toBeLessThanOrEqual(4_500);
  });

  test("may be as short as a millisecond, and no write is refused for its expiry", async () => {
    const store = new RedisStore(redis.connect());
    for (let run = 0; run < 50; run += 1) {
      const key = chargeKey(`pay_${run}`);
      await store.set(key, "processing", { nx: true, owner: "one", ttlMs: 1 });
      await store.renew(key, { owner: "one", ttlMs: 1 });
      await store.set(key, "completed", { xx: true, owner: "one", ttlMs: 1 });
      await store.set(key, "completed", { ttlMs: 1 });
    }
    const last = chargeKey("pay_49");

    while ((await store.get(last)) !== undefined);

    expect(await store.get(last)).toBeUndefined();
  });
});

test("whoever waits hears of a completion that came while the store was slow to answer", async () => {
  const chaos = new ChaosStore(new MemoryStore());
  keepIn(chaos);
  const atWork = new PausePoint();
  const Charge = chargeTask({ onDuplicate: "replay" }, () => atWork.pass());
  const first = Charge.execute({ paymentId: "pay_1" });
  await atWork.reached;
  const slow = chaos.disturb("complete", "delay-answer");
  const second = Charge.execute({ paymentId: "pay_1" });
  const replayed = announced("idempotency_replayed");

  atWork.resume();
  await slow.met;
  await replayed; // before the first run has its answer
  slow.release();

  expect(await second).toMatchObject({ status: "success", replayed: true });
  expect((await first).status).toBe("success");
});
