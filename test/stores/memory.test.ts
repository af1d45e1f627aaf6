import { describe, expect, test } from "vitest";
import { isDefinitionError, MemoryStore } from "taskwright";
import { ManualClock } from "taskwright/testing";

const MILLION = 1_000_000;

const claim = (store: MemoryStore, key: string, ttlMs: number) => store.set(key, "processing", { nx: true, owner: "a", ttlMs });

describe("the sweep of a MemoryStore", () => {
  test("has no timer before the first entry, and none once the last is gone", async () => {
    const clock = new ManualClock();
    const store = new MemoryStore({ clock });
    expect(clock.pending).toBe(0);
    await claim(store, "a", 1_000);
    await claim(store, "b", 1_000);
    expect(clock.pending).toBe(1);
    await clock.advance(31_000);
    expect(clock.pending).toBe(0);
    await claim(store, "c", 1_000);
    expect(clock.pending).toBe(1);
  });

  test("clears away what is over and nothing else", async () => {
    const clock = new ManualClock();
    const store = new MemoryStore({ clock, sweepEveryMs: 1_000 });
    for (let at = 0; at < 20_000; at += 1) await claim(store, `over:${at}`, 500);
    for (let at = 0; at < 100; at += 1) await claim(store, `live:${at}`, 60_000);
    expect(store.size).toBe(20_100);
    await clock.advance(2_000);
    expect(store.size).toBe(100);
    expect(await store.get("live:99")).toEqual({ value: "processing", owner: "a", expiresInMs: 58_000 });
  });

  test("goes on with what was renewed or written over meanwhile", async () => {
    const clock = new ManualClock();
    const store = new MemoryStore({ clock, sweepEveryMs: 1_000 });
    await claim(store, "renewed", 1_500);
    await claim(store, "reclaimed", 500);
    await clock.advance(1_000);
    await store.renew("renewed", { owner: "a", ttlMs: 10_000 });
    await claim(store, "reclaimed", 10_000);
    await clock.advance(5_000);
    expect(store.size).toBe(2);
    await clock.advance(10_000);
    expect(store.size).toBe(0);
  });

  test("works in slices, so that nothing stands still while a million entries go", async () => {
    const removed: number[] = [];
    const clock = new ManualClock();
    const watched = {
      now: () => clock.now(),
      epoch: () => clock.epoch(),
      timer: (ms: number, callback: () => void) =>
        clock.timer(ms, () => {
          const before = store.size;
          callback();
          removed.push(before - store.size);
        }),
    };
    const store = new MemoryStore({ clock: watched });
    for (let at = 0; at < MILLION; at += 1) void claim(store, `cmdx:idem:ChargeCustomer:pay_${at}`, 10_000);
    expect(store.size).toBe(MILLION);

    await clock.advance(60_000);

    expect(store.size).toBe(0);
    expect(removed.reduce((sum, count) => sum + count)).toBe(MILLION);
    expect(Math.max(...removed)).toBeLessThan(2_000); // a part of a millisecond; how long slices take is measured by `npm run bench`
  }, 60_000);
});

describe("a MemoryStore", () => {
  test("measures lives by the clock that never jumps", async () => {
    const clock = new ManualClock();
    const store = new MemoryStore({ clock });
    await claim(store, "key", 60_000);
    clock.jump(3_600_000);
    expect(await store.get("key")).toMatchObject({ expiresInMs: 60_000 });
    clock.jump(-7_200_000);
    await clock.advance(60_000);
    expect(await store.get("key")).toBeUndefined();
  });

  test("keeps its fence growing while the wall clock jumps back", async () => {
    const clock = new ManualClock();
    const store = new MemoryStore({ clock });
    const first = await claim(store, "key", 10);
    clock.jump(-3_600_000);
    await clock.advance(10);
    const second = await claim(store, "key", 10);
    expect(first.ok && second.ok && second.fence > first.fence).toBe(true);
  });

  test("begins its fence at the time of its making, in microseconds", async () => {
    const clock = new ManualClock(Date.UTC(2031, 4, 5));
    const result = await claim(new MemoryStore({ clock }), "key", 10);
    expect(result).toEqual({ ok: true, fence: Date.UTC(2031, 4, 5) * 1_000 });
  });

  test("keeps keys apart that end alike", async () => {
    const store = new MemoryStore();
    const keys = Array.from({ length: 5_000 }, (_, at) => `${at}:the same long ending`);
    for (const key of keys) await claim(store, key, 60_000);
    expect(store.size).toBe(5_000);
    const found = await Promise.all(keys.map(async (key) => store.get(key)));
    expect(found.every((entry) => entry?.owner === "a")).toBe(true);
  });

  test("lists a hundred thousand entries page by page, each once", async () => {
    const store = new MemoryStore();
    for (let at = 0; at < 100_000; at += 1) void claim(store, `${at % 2 === 0 ? "even" : "odd"}:${at}`, 60_000);
    const found = new Set<string>();
    let entries = 0;
    let cursor: string | undefined;
    do {
      const page = await store.entries({ prefix: "even:", limit: 500, ...(cursor !== undefined && { cursor }) });
      expect(page.entries.length).toBeLessThanOrEqual(500);
      for (const { key } of page.entries) found.add(key);
      entries += page.entries.length;
      cursor = page.cursor;
    } while (cursor !== undefined);
    expect([found.size, entries]).toEqual([50_000, 50_000]);
  });

  test("refuses a cursor that it never handed out", async () => {
    await expect(new MemoryStore().entries({ prefix: "", cursor: "nonsense" })).rejects.toThrow(/cursor "nonsense"/);
  });

  test("refuses options that it does not have, or of the wrong kind", () => {
    // @ts-expect-error there is no such option
    expect(() => new MemoryStore({ maxEntries: 10 })).toThrow(/has no option "maxEntries"/);
    expect(() => new MemoryStore({ sweepEveryMs: 0 })).toThrow(expect.toSatisfy(isDefinitionError));
  });
});
