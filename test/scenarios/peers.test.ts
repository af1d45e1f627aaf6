import { afterEach, describe, expect, test } from "vitest";
import { idempotentBy, MemoryStore, resetConfiguration, Task, type Result } from "taskwright";
import { RedisStore } from "taskwright/redis";
import { ChaosStore } from "taskwright/testing";
import { z } from "zod";
import { ofName, PausePoint, recordEvents, useManualClock } from "../support/builders.js";
import { chargeKey, chargeTask } from "./fixtures/charge.js";
import { onEachStore, useRedis } from "./fixtures/stores.js";
import { announced, expectNothingUnhandled, keepIn, slotEvents } from "./fixtures/watch.js";

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

describe("a claim that took effect and whose answer was lost", () => {
  onEachStore((open) => {
    test("is recognised as its own by the caller, who runs, once", async () => {
      const chaos = new ChaosStore(open());
      keepIn(chaos);
      chaos.disturb("claim", "fail-after");
      const Charge = chargeTask();
      const events = recordEvents();

      const first = await Charge.execute({ paymentId: "pay_1" });
      const second = await Charge.execute({ paymentId: "pay_1" });

      expect(first).toMatchObject({ status: "success", metadata: {} });
      expect(second.metadata).toMatchObject({ code: "duplicate", state: "completed", idempotencyKey: KEY });
      expect(Charge.runs).toBe(1);
      const ofFirst = events.filter(({ runId }) => runId === first.runId);
      expect(slotEvents(ofFirst)).toEqual(["idempotency_store_error", "idempotency_claimed", "idempotency_completed"]);
    });
  });

  test("gives a whole lease when it is made again after the time limit, however short the lease", async () => {
    const clock = useManualClock();
    const chaos = new ChaosStore(new MemoryStore({ clock }));
    keepIn(chaos);
    chaos.disturb("claim", "lose-answer");
    const atWork = new PausePoint();
    const aborted: boolean[] = [];
    const Charge = chargeTask({ lease: 2 }, async (task) => {
      aborted.push(task.signal.aborted);
      await atWork.pass();
      aborted.push(task.signal.aborted);
    });
    const events = recordEvents();
    const run = Charge.execute({ paymentId: "pay_1" });

    await clock.advance(2_050); // the time limit of the first call, and a pause
    await atWork.reached;
    await clock.advance(10_000); // five leases
    const other = await Charge.execute({ paymentId: "pay_1" });
    atWork.resume();

    expect(await run).toMatchObject({ status: "success", metadata: {} });
    expect(aborted).toEqual([false, false]);
    expect(other.metadata).toMatchObject({ code: "duplicate", state: "processing" });
    expect(slotEvents(events)).not.toContain("idempotency_lost");
  });

  test("is not given back while its repetition is on its way", async () => {
    const clock = useManualClock();
    const store = new MemoryStore({ clock });
    const chaos = new ChaosStore(store);
    keepIn(chaos);
    const [first, second] = [chaos.disturb("claim", "delay-answer"), chaos.disturb("claim", "delay-answer")];
    const atWork = new PausePoint();
    const Charge = chargeTask({}, (_, run) => (run === 1 ? atWork.pass() : undefined));
    const run = Charge.execute({ paymentId: "pay_1" });
    await clock.advance(5_000 + 50);
    await second.met;

    first.release(); // too late for the first call; the second has been granted, and its answer is yet to come
    await clock.advance(0);
    second.release();
    await atWork.reached;
    const held = await store.get(KEY);
    const other = await Charge.execute({ paymentId: "pay_1" });
    atWork.resume();
    const result = await run;

    expect(held).toMatchObject({ owner: result.runId });
    expect(other.metadata).toMatchObject({ code: "duplicate", state: "processing" });
    expect(result).toMatchObject({ status: "success", metadata: {} });
    expect(Charge.runs).toBe(1);
  });

  test("is given back when it comes while another claim of a run that waits is refused, once that run has given up", async () => {
    const clock = useManualClock();
    const store = new MemoryStore({ clock });
    const chaos = new ChaosStore(store);
    keepIn(chaos);
    const late = chaos.disturb("claim", "delay");
    const Charge = chargeTask({ onDuplicate: { processing: "wait" }, waitFor: 10 });
    const given = Charge.execute({ paymentId: "pay_1" });
    await clock.advance(5_000);
    await store.set(KEY, "processing", { nx: true, owner: "other", ttlMs: 60_000 });
    await clock.advance(20_000); // its repetition is refused, and it has waited in vain
    const duplicate = await given;
    await store.delete(KEY);

    late.release(); // the very first call takes effect now
    await clock.advance(0);

    expect(duplicate).toMatchObject({ status: "failed", metadata: { code: "duplicate", state: "processing" } });
    expect(await store.get(KEY)).toBeUndefined();
    expect(Charge.runs).toBe(0);
  });

  test("is given back when it comes after the caller has given up, so the next one runs", async () => {
    const clock = useManualClock();
    const store = new MemoryStore({ clock });
    const chaos = new ChaosStore(store);
    keepIn(chaos);
    const late = chaos.disturb("claim", "delay", { times: 2 });
    const Charge = chargeTask();
    const given = Charge.execute({ paymentId: "pay_1" });
    await clock.advance(5_000 + 50 + 5_000);
    const gaveUp = await given;

    late.release(); // both calls take effect now
    await clock.advance(0);
    const held = await store.get(KEY);
    const next = await Charge.execute({ paymentId: "pay_1" });

    expect(gaveUp).toMatchObject({ status: "failed", retryable: true, metadata: { code: "store_unavailable" } });
    expect(held).toBeUndefined();
    expect(next.status).toBe("success");
    expect(Charge.runs).toBe(1);
  });

  test("is given back when it comes after its run has ended", async () => {
    const clock = useManualClock();
    const store = new MemoryStore({ clock });
    const chaos = new ChaosStore(store);
    keepIn(chaos);
    const late = chaos.disturb("claim", "delay");
    const Charge = chargeTask({}, (_, run) => {
      if (run === 1) throw new Error("declined");
    });
    const given = Charge.execute({ paymentId: "pay_1" });
    await clock.advance(5_050);
    const failed = await given;

    late.release(); // the first of the two calls takes effect now
    await clock.advance(0);

    expect(failed).toMatchObject({ status: "failed", reason: "declined" });
    expect(await store.get(KEY)).toBeUndefined();
  });
});

describe("a completion whose answer was lost", () => {
  onEachStore((open) => {
    test.each(["fail-after", "fail-before"] as const)("is written again, and counts as done (%s)", async (fault) => {
      const chaos = new ChaosStore(open());
      const store = keepIn(chaos);
      chaos.disturb("complete", fault);
      const Charge = chargeTask();
      const events = recordEvents();

      const first = await Charge.execute({ paymentId: "pay_1" });
      const second = await Charge.execute({ paymentId: "pay_1" });

      expect(first).toMatchObject({ status: "success", metadata: {} });
      expect(second.metadata).toMatchObject({ code: "duplicate", state: "completed" });
      expect((await store.get(KEY))?.value).toBe("completed");
      const ofFirst = events.filter(({ runId }) => runId === first.runId);
      expect(slotEvents(ofFirst)).toEqual(["idempotency_claimed", "idempotency_store_error", "idempotency_completed"]);
    });
  });

  test("is no loss to a renewal that meets the completed slot meanwhile", async () => {
    const clock = useManualClock();
    const chaos = new ChaosStore(new MemoryStore({ clock }));
    keepIn(chaos);
    chaos.disturb("complete", "lose-answer");
    const Charge = chargeTask({ lease: 6 });
    const events = recordEvents();
    const run = Charge.execute({ paymentId: "pay_1" });

    await clock.advance(6_000);

    expect(await run).toMatchObject({ status: "success", metadata: {} });
    expect(slotEvents(events)).toEqual(["idempotency_claimed", "idempotency_store_error", "idempotency_completed"]);
  });

  test("that never comes through leaves the success standing and the slot held, and says so", async () => {
    const clock = useManualClock();
    const store = new MemoryStore({ clock });
    const chaos = new ChaosStore(store);
    keepIn(chaos);
    chaos.disturb("complete", "fail-before", { times: Infinity });
    const Charge = chargeTask({ lease: 60 });
    const events = recordEvents();
    const run = Charge.execute({ paymentId: "pay_1" });

    await clock.advance(60_000);
    const result = await run;
    const left = ofName(events, "idempotency_store_error").map(({ payload }) => payload.operation);

    expect(result).toMatchObject({ status: "success", output: { chargeId: "ch_1" } });
    expect(new Set(left)).toEqual(new Set(["complete"]));
    expect(slotEvents(events)).not.toContain("idempotency_released");
    expect(chaos.calls.filter(({ operation }) => operation === "delete")).toEqual([]);
  });
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
    const Charge = chargeTask({ ttl: "2500ms", lease: "2500ms" }, async () => {
      await client.pexpire(KEY, 700); // most of its life is over
    });

    const result = await Charge.execute({ paymentId: "pay_1" });
    const left = (await store.get(KEY))?.expiresInMs ?? 0;

    expect(result).toMatchObject({ status: "success", metadata: {} });
    expect(left).toBeGreaterThan(700);
    expect(left).toBeLessThanOrEqual(2_500);
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
