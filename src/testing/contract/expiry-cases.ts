import { LONG_MS, SHORT_MS, type Bench, type ContractCase } from "./contract-case.js";

const BEYOND_TIMERS_MS = 2 ** 31 + 60_000;

/** What is expired is absent, whichever method looks. */
const absence: readonly ContractCase[] = [
  {
    name: "an entry whose time is up is absent for get",
    async run(bench) {
      await bench.finds(await bench.expired("a"), undefined);
    },
  },
  {
    name: "an entry whose time is up does not stand in the way of a claim",
    async run(bench) {
      const key = await bench.expired("a");
      bench.granted(await bench.claim(key, "b"));
      await bench.finds(key, { value: "processing", owner: "b" });
    },
  },
  {
    name: "of two claims at once on an entry whose time is up, one is granted and the other refused",
    async run(bench) {
      const key = await bench.expired("a");
      const results = await Promise.all([bench.claim(key, "b"), bench.claim(key, "c")]);
      bench.equal(results.filter(({ ok }) => ok).length, 1);
    },
  },
  {
    name: "an entry whose time is up cannot be completed, neither by its last owner nor without one",
    async run(bench) {
      bench.refused(await bench.complete(await bench.expired("a"), "a"), undefined);
      const key = await bench.expired("a");
      bench.refused(await bench.store.set(key, "completed", { xx: true, ttlMs: LONG_MS }), undefined);
      await bench.finds(key, undefined);
    },
  },
  {
    name: "an entry whose time is up cannot be deleted, neither by its last owner nor without one",
    async run(bench) {
      bench.equal(await bench.store.delete(await bench.expired("a"), { owner: "a" }), false);
      bench.equal(await bench.store.delete(await bench.expired("a")), false);
    },
  },
  {
    name: "an entry whose time is up is not brought back by a renewal of its last owner",
    async run(bench) {
      const key = await bench.expired("a");
      bench.equal(await bench.store.renew(key, { owner: "a", ttlMs: LONG_MS }), false);
      await bench.finds(key, undefined);
    },
  },
  {
    name: "an entry whose time is up is not listed",
    async run(bench) {
      await bench.expired("a");
      const page = await bench.store.entries({ prefix: bench.prefix });
      bench.equal(page.entries.length, 0);
    },
  },
];

const lives: readonly ContractCase[] = [
  {
    name: "every write has an expiry, of claim, completion, renewal and plain write alike",
    async run(bench) {
      const claimed = await bench.claimed("a", SHORT_MS);
      const completed = await bench.claimed("a");
      const renewed = await bench.claimed("a");
      const written = bench.key();
      await bench.complete(completed, "a", SHORT_MS);
      await bench.store.renew(renewed, { owner: "a", ttlMs: SHORT_MS });
      await bench.store.set(written, "written", { ttlMs: SHORT_MS });
      await bench.advance(SHORT_MS);
      for (const key of [claimed, completed, renewed, written]) await bench.finds(key, undefined);
    },
  },
  {
    name: "the shortest life is one millisecond",
    async run(bench) {
      const key = bench.key();
      bench.granted(await bench.claim(key, "a", 1));
      await bench.advance(1);
      await bench.finds(key, undefined);
    },
  },
  {
    name: "a life that is no whole number of milliseconds from 1 rejects, and nothing is written",
    async run(bench) {
      for (const ttlMs of [0, -1, 0.5, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
        const key = bench.key();
        await bench.rejects(() => bench.claim(key, "a", ttlMs), `a claim for ${ttlMs} ms`);
        await bench.finds(key, undefined);
        const held = await bench.claimed("a");
        await bench.rejects(() => bench.complete(held, "a", ttlMs), `a completion for ${ttlMs} ms`);
        await bench.rejects(async () => bench.store.renew(held, { owner: "a", ttlMs }), `a renewal for ${ttlMs} ms`);
        await bench.finds(held, { value: "processing", owner: "a" });
      }
    },
  },
  {
    name: "a life longer than a timer can wait does not end early",
    async run(bench) {
      const key = await bench.claimed("a", BEYOND_TIMERS_MS);
      await bench.advance(SHORT_MS);
      const entry = await bench.store.get(key);
      bench.entry(entry, { value: "processing", owner: "a" }, BEYOND_TIMERS_MS);
      bench.holds((entry?.expiresInMs ?? 0) > 2 ** 31, "more than 24 days are left");
    },
  },
];

/** To the millisecond. */
const boundary: readonly ContractCase[] = [
  {
    name: "a claim holds until the last millisecond of its life, and not at its end",
    needs: "clock",
    async run(bench) {
      const key = await bench.claimed("a", 1_000);
      await bench.advance(999);
      await bench.finds(key, { value: "processing", owner: "a" }, 1);
      bench.refused(await bench.claim(key, "b"), { value: "processing", owner: "a" }, 1);
      await bench.advance(1);
      await bench.finds(key, undefined);
      bench.granted(await bench.claim(key, "b"));
    },
  },
  {
    name: "a completion, a renewal and a release count in the last millisecond, and not at its end",
    needs: "clock",
    async run(bench) {
      await atTheEdge(bench, 999, true);
      await atTheEdge(bench, 1_000, false);
    },
  },
  {
    name: "a completed key is remembered until the last millisecond of its life, and not at its end",
    needs: "clock",
    async run(bench) {
      const key = await bench.claimed("a", 1_000);
      await bench.advance(500);
      await bench.complete(key, "a", 1_000);
      await bench.advance(999);
      await bench.finds(key, { value: "completed" }, 1);
      await bench.advance(1);
      await bench.finds(key, undefined);
    },
  },
  {
    name: "a life longer than a timer can wait ends when its time is up",
    needs: "clock",
    async run(bench) {
      const key = await bench.claimed("a", BEYOND_TIMERS_MS);
      await bench.advance(BEYOND_TIMERS_MS - 1);
      await bench.finds(key, { value: "processing", owner: "a" });
      await bench.advance(1);
      await bench.finds(key, undefined);
    },
  },
  {
    name: "what is shown has some life left, up to the very end",
    async run(bench) {
      const key = await bench.claimed("a", SHORT_MS);
      for (let looks = 0; looks < 100_000; looks += 1) {
        const [entry, claim] = await Promise.all([bench.store.get(key), bench.claim(key, "b")]);
        if (claim.ok) return;
        if (entry !== undefined) bench.entry(entry, { value: "processing", owner: "a" }, SHORT_MS);
        bench.refused(claim, { value: "processing", owner: "a" }, SHORT_MS);
        if (looks % 100 === 99) await bench.advance(1);
      }
      bench.holds(false, "the entry ends");
    },
  },
];

async function atTheEdge(bench: Bench, afterMs: number, stillHeld: boolean): Promise<void> {
  const [completed, renewed, released] = [
    await bench.claimed("a", 1_000),
    await bench.claimed("a", 1_000),
    await bench.claimed("a", 1_000),
  ];
  await bench.advance(afterMs);
  bench.equal((await bench.complete(completed, "a")).ok, stillHeld);
  bench.equal(await bench.store.renew(renewed, { owner: "a", ttlMs: LONG_MS }), stillHeld);
  bench.equal(await bench.store.delete(released, { owner: "a" }), stillHeld);
}

export const expiryCases: readonly ContractCase[] = [...absence, ...lives, ...boundary];
