import { afterEach, describe, expect, test } from "vitest";
import { LeaseLostError, MemoryStore, resetConfiguration, type Store } from "taskwright";
import { RedisStore } from "taskwright/redis";
import { ChaosStore } from "taskwright/testing";
import { deferred, ofName, PausePoint, recordEvents, useManualClock } from "../support/builders.js";
import { chargeKey, chargeTask } from "./fixtures/charge.js";
import { onEachStore, useRedis } from "./fixtures/stores.js";
import { announced, expectNothingUnhandled, keepIn, slotEvents } from "./fixtures/watch.js";

expectNothingUnhandled();
afterEach(() => {
  resetConfiguration();
});

const KEY = chargeKey("pay_1");

/** What is in the slot, but for the time that is left, which only shrinks. */
async function slotOf(store: Store): Promise<object | undefined> {
  const entry = await store.get(KEY);
  return entry === undefined ? undefined : { value: entry.value, owner: entry.owner };
}

describe("a run that lost to another", () => {
  onEachStore((open) => {
    test.each(["skip", "fail"] as const)("leaves the slot as it is and frees it for nobody, when it is to %s", async (rule) => {
      const store = keepIn(open());
      const atWork = new PausePoint();
      const Charge = chargeTask({ onDuplicate: rule }, () => atWork.pass());
      const first = Charge.execute({ paymentId: "pay_1" });
      await atWork.reached;
      const before = await slotOf(store);
      const lifeBefore = (await store.get(KEY))?.expiresInMs ?? 0;

      const second = await Charge.execute({ paymentId: "pay_1" });
      const after = await slotOf(store);
      const lifeAfter = (await store.get(KEY))?.expiresInMs ?? 0;
      const third = await Charge.execute({ paymentId: "pay_1" });
      atWork.resume();

      expect(second).toMatchObject({
        status: rule === "skip" ? "skipped" : "failed",
        metadata: { code: "duplicate", state: "processing" },
      });
      expect(third.metadata).toMatchObject({ code: "duplicate", state: "processing" });
      expect(after).toEqual(before);
      expect(lifeAfter).toBeLessThanOrEqual(lifeBefore);
      expect(await first).toMatchObject({ status: "success" });
      expect([Charge.runs, Charge.rollbacks]).toEqual([1, 0]);
    });

    test("leaves the slot as it is after it has waited in vain", async () => {
      const store = keepIn(open());
      const atWork = new PausePoint();
      const Charge = chargeTask({ onDuplicate: { processing: "wait" }, waitFor: "40ms" }, () => atWork.pass());
      const first = Charge.execute({ paymentId: "pay_1" });
      await atWork.reached;
      const before = await slotOf(store);

      const second = await Charge.execute({ paymentId: "pay_1" });
      const after = await slotOf(store);
      atWork.resume();

      expect(second).toMatchObject({ status: "failed", metadata: { code: "duplicate", state: "processing" } });
      expect(after).toEqual(before);
      expect(await first).toMatchObject({ status: "success" });
    });

    test("leaves a completed slot as it is when its request is another one", async () => {
      const store = keepIn(open());
      const Charge = chargeTask({ fingerprint: true });
      await Charge.execute({ paymentId: "pay_1", amountCents: 100 });
      const before = await slotOf(store);

      const other = await Charge.execute({ paymentId: "pay_1", amountCents: 999 });
      const same = await Charge.execute({ paymentId: "pay_1", amountCents: 100 });

      expect(other).toMatchObject({ status: "failed", metadata: { code: "fingerprint_mismatch", state: "completed" } });
      expect(same).toMatchObject({ status: "skipped", metadata: { code: "duplicate", state: "completed" } });
      expect(await slotOf(store)).toEqual(before);
      expect([Charge.runs, Charge.rollbacks]).toEqual([1, 0]);
    });
  });
});

describe("a claim without a lease of its own", () => {
  const redis = useRedis();

  test("is held for the default lease, also before another store on the same server", async () => {
    keepIn(new RedisStore(redis.connect()));
    const atWork = new PausePoint();
    const Charge = chargeTask({}, () => atWork.pass());
    const first = Charge.execute({ paymentId: "pay_1" });
    await atWork.reached;

    keepIn(new RedisStore(redis.connect()));
    const second = await Charge.execute({ paymentId: "pay_1" });
    const left = (await redis.connect().pttl(KEY)) / 1_000;
    atWork.resume();
    await first;

    expect(second.metadata).toMatchObject({ code: "duplicate", state: "processing" });
    expect(left).toBeGreaterThan(290);
    expect(left).toBeLessThanOrEqual(300);
    expect(Charge.runs).toBe(1);
  });

  test("is not taken over when another program wrote it without saying whose it is", async () => {
    const client = redis.connect();
    keepIn(new RedisStore(client));
    await client.set(KEY, "processing", "PX", 60_000);
    const Charge = chargeTask();

    const result = await Charge.execute({ paymentId: "pay_1" });

    expect(result.metadata).toMatchObject({ code: "duplicate", state: "processing" });
    expect(await client.get(KEY)).toBe("processing");
    expect(Charge.runs).toBe(0);
  });
});

describe("a run that has outlived its lease", () => {
  onEachStore((open) => {
    test("does not free the key for a third when it fails", async () => {
      const store = keepIn(open());
      const [first, second] = [new PausePoint(), new PausePoint()];
      const Charge = chargeTask({}, async (_, run) => {
        await (run === 1 ? first : second).pass();
        if (run === 1) throw new Error("declined");
      });
      const events = recordEvents();
      const early = Charge.execute({ paymentId: "pay_1" });
      await first.reached;
      await store.delete(KEY); // as if its lease had ended

      const late = Charge.execute({ paymentId: "pay_1" });
      await second.reached;
      first.resume();
      const failed = await early;
      const third = await Charge.execute({ paymentId: "pay_1" });
      second.resume();

      expect(failed).toMatchObject({ status: "failed", reason: "declined" });
      expect(third.metadata).toMatchObject({ code: "duplicate", state: "processing" });
      expect(await late).toMatchObject({ status: "success" });
      expect(Charge.runs).toBe(2);
      const ofFirst = events.filter(({ runId }) => runId === failed.runId);
      expect(slotEvents(ofFirst)).toEqual(["idempotency_claimed", "idempotency_lost"]);
    });

    test("does not complete the slot of the one that came after, and says so", async () => {
      const store = keepIn(open());
      const [first, second] = [new PausePoint(), new PausePoint()];
      const Charge = chargeTask({}, (_, run) => (run === 1 ? first : second).pass());
      const events = recordEvents();
      const early = Charge.execute({ paymentId: "pay_1" });
      await first.reached;
      await store.delete(KEY); // as if its lease had ended
      const late = Charge.execute({ paymentId: "pay_1" });
      await second.reached;
      const held = await slotOf(store);

      first.resume();
      const superseded = await early;

      expect(superseded).toMatchObject({ status: "success", metadata: { superseded: true } });
      expect(ofName(events, "idempotency_lost")).toMatchObject([{ runId: superseded.runId, payload: { why: "refused" } }]);
      expect(ofName(events, "idempotency_completed")).toEqual([]);
      expect(await slotOf(store)).toEqual(held);
      second.resume();
      expect((await late).metadata).toEqual({});
    });

    test("learns of it from a renewal that is refused, which brings back no record", async () => {
      const store = keepIn(open());
      const lost = announced("idempotency_lost");
      const stopped = deferred<unknown>();
      const Charge = chargeTask({ lease: "1500ms" }, async ({ signal }) => {
        await store.delete(KEY); // as if its lease had ended
        signal.addEventListener("abort", () => stopped.resolve(signal.reason));
        await stopped.promise;
      });

      const result = await Charge.execute({ paymentId: "pay_1" });

      expect((await lost).payload).toEqual({ idempotencyKey: KEY, why: "refused" });
      expect(await stopped.promise).toBeInstanceOf(LeaseLostError);
      expect(result).toMatchObject({ status: "success", metadata: { superseded: true } });
      expect(await store.get(KEY)).toBeUndefined();
    });

    test("cannot lengthen the claim of the one that came after", async () => {
      const store = open();
      await store.set(KEY, "processing", { nx: true, owner: "first", ttlMs: 30_000 });
      await store.delete(KEY);
      await store.set(KEY, "processing", { nx: true, owner: "second", ttlMs: 500 });

      const renewed = await store.renew(KEY, { owner: "first", ttlMs: 60_000 });
      const entry = await store.get(KEY);

      expect(renewed).toBe(false);
      expect(entry).toMatchObject({ owner: "second" });
      expect(entry?.expiresInMs).toBeLessThanOrEqual(500);
    });
  });

  test("makes no room for a third while the second is at work", async () => {
    const clock = useManualClock();
    const store = new ChaosStore(new MemoryStore({ clock }));
    keepIn(store);
    store.disturb("renew", "fail-before", { times: Infinity });
    const works = [new PausePoint(), new PausePoint(), new PausePoint()] as const;
    const Charge = chargeTask({ lease: "50ms" }, (_, run) => works[run - 1]?.pass());
    const events = recordEvents("idempotency_lost");

    const first = Charge.execute({ paymentId: "pay_1" });
    await clock.advance(60);
    const second = Charge.execute({ paymentId: "pay_1" });
    await works[1].reached;
    works[0].resume();
    const [overtaken, third] = [await first, await Charge.execute({ paymentId: "pay_1" })];
    works[1].resume();
    await second;
    const fourth = await Charge.execute({ paymentId: "pay_1" });

    expect(overtaken).toMatchObject({ status: "success", metadata: { superseded: true } });
    expect(ofName(events, "idempotency_lost")).toMatchObject([{ runId: overtaken.runId, payload: { why: "expired" } }]);
    expect(third.metadata).toMatchObject({ code: "duplicate", state: "processing" });
    expect(fourth.metadata).toMatchObject({ code: "duplicate", state: "completed" });
    expect(Charge.runs).toBe(2);
  });
});

// The store asks for the owner and not for the fence: a token that nobody else has cannot come twice. The fence is for resources
// beyond the store, so it must grow whatever becomes of the entry.
describe("the fence", () => {
  async function fenceOf(store: Store, owner: string): Promise<number> {
    const claim = await store.set(KEY, "processing", { nx: true, owner, ttlMs: 20 });
    if (!claim.ok) throw new Error("the key is free here");
    return claim.fence;
  }

  onEachStore((open) => {
    test("grows over deletion, completion and expiry, and the early owner is refused", async () => {
      const store = open();
      const fences = [await fenceOf(store, "first")];
      await store.delete(KEY, { owner: "first" });
      fences.push(await fenceOf(store, "second"));
      await store.set(KEY, "completed", { xx: true, owner: "second", ttlMs: 1 });
      while ((await store.get(KEY)) !== undefined); // expired
      fences.push(await fenceOf(store, "third"));

      const early = await store.set(KEY, "completed", { xx: true, owner: "first", ttlMs: 1_000 });

      expect(fences.toSorted((a, b) => a - b)).toEqual(fences);
      expect(new Set(fences).size).toBe(3);
      expect(early).toMatchObject({ ok: false, held: { owner: "third" } });
    });
  });

  test("grows over a new process with an empty memory", async () => {
    const before = await fenceOf(new MemoryStore(), "first");
    await new Promise((resolve) => setTimeout(resolve, 2)); // no process starts faster
    const after = await fenceOf(new MemoryStore(), "second");

    expect(after).toBeGreaterThan(before);
  });

  const redis = useRedis();
  test("grows over a restart of the server that forgot everything", async () => {
    const before = await fenceOf(new RedisStore(redis.connect()), "first");
    await redis.server.kill();
    await redis.server.start();
    const after = await fenceOf(new RedisStore(redis.connect()), "second");

    expect(after).toBeGreaterThan(before);
  });

  onEachStore((open) => {
    test("is shown to the work, together with the key and the owner", async () => {
      const store = keepIn(open());
      const claims: unknown[] = [];
      const Charge = chargeTask({}, async (task, run) => {
        claims.push(task.claim);
        if (run === 1) await store.delete(KEY); // as if its lease had ended
        if (run === 1) await Charge.execute({ paymentId: "pay_1" });
      });
      const result = await Charge.execute({ paymentId: "pay_1" });

      const [first, second] = claims as { key: string; owner: string; fence: number }[]; // as they are noted above
      expect(first).toMatchObject({ key: KEY, owner: result.runId });
      expect(second?.fence).toBeGreaterThan(first?.fence ?? 0);
    });
  });
});
