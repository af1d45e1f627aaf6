import { describe, expect, test } from "vitest";
import { LeaseLostError, MemoryStore, type Store } from "taskwright";
import { ChaosStore, ManualClock } from "taskwright/testing";
import { Lease, type LossReason } from "../../src/claims/lease.js";

const KEY = "lock:k";
const asItIs = <T>(answer: T): T => answer;
/** What of 30 s its holder counts on: all but a hundredth and two milliseconds. */
const SAFE_MS = 29_698;

/** A lease of 30 s on a key that its owner has just claimed. */
async function hold({
  store: broken,
  ...options
}: { maxHoldMs?: number; leaseMs?: number; storeTimeoutMs?: number; store?: (store: Store) => Store } = {}) {
  const clock = new ManualClock();
  const memory = new MemoryStore({ clock });
  const store = new ChaosStore(broken?.(memory) ?? memory);
  const lost: { why: LossReason; error: LeaseLostError; at: number }[] = [];
  const renewErrors: { error: unknown; at: number }[] = [];
  const settings = { leaseMs: 30_000, maxHoldMs: 3_600_000, storeTimeoutMs: 5_000, ...options };
  await store.set(KEY, "processing", { nx: true, owner: "me", ttlMs: settings.leaseMs });
  const renewedAt: number[] = [];
  const renew = store.renew.bind(store);
  store.renew = (...args) => {
    renewedAt.push(clock.now());
    return renew(...args);
  };
  const lease = new Lease(
    {
      store,
      clock,
      key: KEY,
      owner: "me",
      ...settings,
      onLost: (why, error) => lost.push({ why, error, at: clock.now() }),
      onRenewError: (error) => renewErrors.push({ error, at: clock.now() }),
    },
    clock.now(),
  );
  return { clock, memory, store, lease, lost, renewErrors, renewedAt };
}

describe("a lease", () => {
  test("is renewed at a third of its life, each time for its whole life", async () => {
    const { clock, store, memory, renewedAt, lost } = await hold();

    await clock.advance(95_000);

    expect(renewedAt).toEqual([10_000, 20_000, 30_000, 40_000, 50_000, 60_000, 70_000, 80_000, 90_000]);
    expect(store.calls.at(-1)).toMatchObject({ operation: "renew", key: KEY, options: { owner: "me", ttlMs: 30_000 } });
    expect(await memory.get(KEY)).toMatchObject({ value: "processing", owner: "me", expiresInMs: 25_000 });
    expect(lost).toEqual([]);
  });

  test("is not renewed once renewing was stopped, and is not called lost either", async () => {
    const { clock, lease, renewedAt, lost } = await hold();
    await clock.advance(15_000);

    lease.stopRenewing();
    await clock.advance(120_000);

    expect(renewedAt).toEqual([10_000]);
    expect(lost).toEqual([]);
    expect(lease.lost).toBe(false);
  });

  test("has one renewal under way at a time", async () => {
    const { clock, store, renewedAt } = await hold({ storeTimeoutMs: 60_000 });
    const slow = store.disturb("renew", "delay");

    await clock.advance(29_000);
    expect(renewedAt).toEqual([10_000]);
    slow.release();
    await clock.advance(1);

    expect(renewedAt).toEqual([10_000, 29_000]);
  });

  test("counts from before the renewal was sent, and not from its answer", async () => {
    const { clock, store, lease } = await hold({ storeTimeoutMs: 60_000 });
    const slow = store.disturb("renew", "delay-answer");
    await clock.advance(14_000);

    slow.release();
    await clock.advance(0);

    expect(lease.remainingMs).toBe(SAFE_MS - 4_000);
  });

  test.each([
    ["rejects", (store: Store) => Object.assign(Object.create(store) as Store, { renew: () => Promise.reject(new Error("down")) })],
    [
      "throws",
      (store: Store) =>
        Object.assign(Object.create(store) as Store, {
          renew: () => {
            throw new Error("down");
          },
        }),
    ],
  ])("whose store %s is tried again soon, is told each time, and is lost when its time is up", async (_name, broken) => {
    const real = (store: Store): Store =>
      broken({
        set: store.set.bind(store),
        get: store.get.bind(store),
        delete: store.delete.bind(store),
        renew: store.renew.bind(store),
        entries: store.entries.bind(store),
      });
    const { clock, renewedAt, renewErrors, lost, lease } = await hold({ store: real });

    await clock.advance(60_000);

    expect(renewedAt).toEqual([10_000, 13_000, 16_000, 19_000, 22_000, 25_000, 28_000]);
    expect(renewErrors.map(({ at }) => at)).toEqual(renewedAt);
    expect(renewErrors[0]?.error).toMatchObject({ message: "down" });
    expect(lost).toEqual([{ why: "expired", error: expect.any(LeaseLostError), at: SAFE_MS }]);
    expect(lost[0]?.error.message).toContain(KEY);
    expect(lease.lost).toBe(true);
  });

  test("goes on as before when a renewal that failed works the next time", async () => {
    const { clock, store, renewedAt, lost } = await hold();
    store.disturb("renew", "fail-before", { times: 2 });

    await clock.advance(40_000);

    expect(renewedAt).toEqual([10_000, 13_000, 16_000, 26_000, 36_000]);
    expect(lost).toEqual([]);
  });

  test("whose renewal never answers is given up after the store's time limit and tried again", async () => {
    const { clock, store, renewedAt, renewErrors, lost } = await hold();
    store.disturb("renew", "never-answer");

    await clock.advance(29_000);

    expect(renewErrors).toEqual([{ error: expect.objectContaining({ code: "store_timeout" }), at: 15_000 }]);
    expect(renewedAt).toEqual([10_000, 18_000, 28_000]);
    expect(lost).toEqual([]);
  });

  test("none of whose renewals ever answers is lost when its time is up, and not later", async () => {
    const { clock, store, lost } = await hold({ storeTimeoutMs: 3_600_000 });
    store.disturb("renew", "never-answer", { times: Infinity });

    await clock.advance(3_600_000);

    expect(lost).toEqual([{ why: "expired", error: expect.any(LeaseLostError), at: SAFE_MS }]);
  });

  test("that somebody else holds is lost at the next renewal, and told once", async () => {
    const { clock, memory, lost, renewedAt } = await hold();
    await memory.set(KEY, "processing", { ttlMs: 60_000, owner: "somebody-else" });

    await clock.advance(120_000);

    expect(lost).toEqual([{ why: "refused", error: expect.any(LeaseLostError), at: 10_000 }]);
    expect(renewedAt).toEqual([10_000]);
    expect(await memory.get(KEY)).toBeUndefined(); // it was never made to live longer
  });

  test("whose key has gone is lost, and the renewal does not bring it back", async () => {
    const { clock, memory, lost } = await hold();
    await memory.delete(KEY);

    await clock.advance(10_000);

    expect(lost.map(({ why }) => why)).toEqual(["refused"]);
    expect(await memory.get(KEY)).toBeUndefined();
  });

  test("is renewed until maxHold, and lost when what is left has run out", async () => {
    const { clock, lost, renewedAt } = await hold({ maxHoldMs: 35_000 });

    await clock.advance(120_000);

    expect(renewedAt).toEqual([10_000, 20_000, 30_000]);
    expect(lost).toEqual([{ why: "max_hold", error: expect.any(LeaseLostError), at: 30_000 + SAFE_MS }]);
  });

  test("that was granted late by a slow store is held for what is left of it only", async () => {
    const clock = new ManualClock();
    const memory = new MemoryStore({ clock });
    await memory.set(KEY, "processing", { nx: true, owner: "me", ttlMs: 30_000 });
    await clock.advance(29_000);
    const lost: LossReason[] = [];
    const lease = new Lease(
      {
        store: memory,
        clock,
        key: KEY,
        owner: "me",
        leaseMs: 30_000,
        maxHoldMs: 60_000,
        storeTimeoutMs: 5_000,
        onLost: (why) => lost.push(why),
        onRenewError: () => undefined,
      },
      0,
    );

    expect(lease.remainingMs).toBe(SAFE_MS - 29_000);
    await clock.advance(500); // its renewal was due long ago and comes at once
    expect(lease.remainingMs).toBeGreaterThan(25_000);
    expect(lost).toEqual([]);
  });

  test("that was noticed too late, since the process stood still, is lost at once and not renewed", async () => {
    const { clock, renewedAt, lost } = await hold();
    const standstill = clock.now;
    clock.now = () => standstill.call(clock) + 31_000;

    await clock.advance(10_000);

    expect(renewedAt).toEqual([]);
    expect(lost.map(({ why }) => why)).toEqual(["expired"]);
  });

  test("tells its loss once, whoever learns of it", async () => {
    const { clock, lease, lost } = await hold();

    lease.lose("refused");
    lease.lose("expired");
    await clock.advance(120_000);

    expect(lost.map(({ why }) => why)).toEqual(["refused"]);
  });

  describe("writes and frees only what is its own:", () => {
    test("a write replaces the value and ends the ownership", async () => {
      const { lease, memory } = await hold();

      expect(await lease.write("completed", 60_000, asItIs)).toMatchObject({ ok: true });
      expect(await memory.get(KEY)).toEqual({ value: "completed", expiresInMs: 60_000 });
    });

    test("a write and a release are refused when somebody else holds the key", async () => {
      const { lease, memory } = await hold();
      await memory.set(KEY, "processing", { ttlMs: 60_000, owner: "somebody-else" });

      expect(await lease.write("completed", 60_000, asItIs)).toMatchObject({ ok: false, held: { owner: "somebody-else" } });
      expect(await lease.release()).toBe("lost");
      expect(await memory.get(KEY)).toMatchObject({ value: "processing", owner: "somebody-else" });
    });

    test("a release frees the key and ends the renewals", async () => {
      const { clock, lease, memory, renewedAt } = await hold();

      expect(await lease.release()).toBe("freed");
      await clock.advance(120_000);

      expect(await memory.get(KEY)).toBeUndefined();
      expect(renewedAt).toEqual([]);
    });

    test("a release of a key that is free already has freed it: the client may have sent the call twice", async () => {
      const { lease, memory } = await hold();
      await memory.delete(KEY);

      expect(await lease.release()).toBe("freed");
    });

    test("a release after the end of the lease does not know, and says that it was lost", async () => {
      const { clock, lease } = await hold();
      lease.stopRenewing();
      await clock.advance(30_000);

      expect(await lease.release()).toBe("lost");
    });

    test.each(["write", "release"] as const)(
      "a %s that never answers ends with the lease, if that comes before the store's time limit",
      async (call) => {
        const { clock, lease, store } = await hold({ storeTimeoutMs: 3_600_000 });
        store.disturb(call === "write" ? "complete" : "delete", "never-answer");
        lease.stopRenewing();
        await clock.advance(20_000);
        let ended: number | undefined;

        const answer = Promise.resolve(call === "write" ? lease.write("completed", 60_000, asItIs) : lease.release()).catch(
          (error: unknown) => {
            ended = clock.now();
            return error;
          },
        );
        await clock.advance(10_000);

        expect(ended).toBe(SAFE_MS);
        expect(await answer).toMatchObject({ code: "store_timeout" });
      },
    );
  });
});
