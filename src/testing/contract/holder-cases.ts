import { LONG_MS, SHORT_MS, type ContractCase } from "./contract-case.js";

export const holderCases: readonly ContractCase[] = [
  {
    name: "the holder completes: the value is new, nobody holds it any more, its life counts from now",
    async run(bench) {
      const key = await bench.claimed("a", 10_000);
      bench.granted(await bench.complete(key, "a"));
      const entry = await bench.store.get(key);
      bench.entry(entry, { value: "completed" });
      bench.holds((entry?.expiresInMs ?? 0) > 10_000, "the life counts from the completion");
    },
  },
  {
    name: "a completion by somebody else is refused, tells who holds the key, and changes nothing",
    async run(bench) {
      const key = await bench.claimed("a", 10_000);
      bench.refused(await bench.complete(key, "b"), { value: "processing", owner: "a" }, 10_000);
      await bench.finds(key, { value: "processing", owner: "a" }, 10_000);
    },
  },
  {
    name: "a completion repeated is refused, and tells that it was done",
    async run(bench) {
      const key = await bench.claimed("a");
      bench.granted(await bench.complete(key, "a", 10_000));
      bench.refused(await bench.complete(key, "a"), { value: "completed" }, 10_000);
      await bench.finds(key, { value: "completed" }, 10_000);
    },
  },
  {
    name: "a completion without an owner writes over whoever holds the key",
    async run(bench) {
      const key = await bench.claimed("a");
      bench.granted(await bench.store.set(key, "completed", { xx: true, ttlMs: LONG_MS }));
      await bench.finds(key, { value: "completed" });
    },
  },
  {
    name: "a completion of an absent key is refused, finds nothing, and creates nothing",
    async run(bench) {
      const key = bench.key();
      bench.refused(await bench.complete(key, "a"), undefined);
      bench.refused(await bench.store.set(key, "completed", { xx: true, ttlMs: LONG_MS }), undefined);
      await bench.finds(key, undefined);
    },
  },
  {
    name: "the holder releases once, and the key is free",
    async run(bench) {
      const key = await bench.claimed("a");
      bench.equal(await bench.store.delete(key, { owner: "a" }), true);
      await bench.finds(key, undefined);
      bench.equal(await bench.store.delete(key, { owner: "a" }), false);
      bench.granted(await bench.claim(key, "b"));
    },
  },
  {
    name: "a release by somebody else does nothing",
    async run(bench) {
      const key = await bench.claimed("a", 10_000);
      bench.equal(await bench.store.delete(key, { owner: "b" }), false);
      await bench.finds(key, { value: "processing", owner: "a" }, 10_000);
    },
  },
  {
    name: "a completed key cannot be released by the run that completed it",
    async run(bench) {
      const key = await bench.claimed("a");
      await bench.complete(key, "a");
      bench.equal(await bench.store.delete(key, { owner: "a" }), false);
      await bench.finds(key, { value: "completed" });
    },
  },
  {
    name: "a deletion without an owner removes whatever is there, and tells when nothing is",
    async run(bench) {
      const key = await bench.claimed("a");
      bench.equal(await bench.store.delete(key), true);
      await bench.finds(key, undefined);
      bench.equal(await bench.store.delete(key), false);
    },
  },
  {
    name: "the holder renews: the life counts from now, longer or shorter, and nothing else changes",
    async run(bench) {
      const key = await bench.claimed("a", 10_000);
      bench.equal(await bench.store.renew(key, { owner: "a", ttlMs: LONG_MS }), true);
      const entry = await bench.store.get(key);
      bench.entry(entry, { value: "processing", owner: "a" });
      bench.holds((entry?.expiresInMs ?? 0) > 10_000, "the life is longer");
      bench.equal(await bench.store.renew(key, { owner: "a", ttlMs: 5_000 }), true);
      await bench.finds(key, { value: "processing", owner: "a" }, 5_000);
    },
  },
  {
    name: "a renewal by somebody else does not lengthen a life",
    async run(bench) {
      const key = await bench.claimed("a", 10_000);
      bench.equal(await bench.store.renew(key, { owner: "b", ttlMs: LONG_MS }), false);
      await bench.finds(key, { value: "processing", owner: "a" }, 10_000);
    },
  },
  {
    name: "a renewal of a completed key does not lengthen its life",
    async run(bench) {
      const key = await bench.claimed("a");
      await bench.complete(key, "a", 10_000);
      bench.equal(await bench.store.renew(key, { owner: "a", ttlMs: LONG_MS }), false);
      await bench.finds(key, { value: "completed" }, 10_000);
    },
  },
  {
    name: "a renewal of an absent key creates nothing",
    async run(bench) {
      const key = bench.key();
      bench.equal(await bench.store.renew(key, { owner: "a", ttlMs: LONG_MS }), false);
      await bench.finds(key, undefined);
    },
  },
  {
    name: "a run that lost its lease to another can neither complete, renew, release nor claim again",
    async run(bench) {
      const key = await bench.claimed("late", SHORT_MS);
      await bench.advance(SHORT_MS);
      bench.granted(await bench.claim(key, "next", 10_000));
      const held = { value: "processing", owner: "next" };
      bench.refused(await bench.complete(key, "late"), held, 10_000);
      bench.equal(await bench.store.renew(key, { owner: "late", ttlMs: LONG_MS }), false);
      bench.equal(await bench.store.delete(key, { owner: "late" }), false);
      bench.refused(await bench.claim(key, "late"), held, 10_000);
      await bench.finds(key, held, 10_000);
    },
  },
  {
    name: "a write without conditions is always done, and leaves the given owner or none",
    async run(bench) {
      const key = await bench.claimed("a");
      bench.granted(await bench.store.set(key, "mine", { owner: "b", ttlMs: LONG_MS }));
      await bench.finds(key, { value: "mine", owner: "b" });
      bench.granted(await bench.store.set(key, "nobody's", { ttlMs: LONG_MS }));
      await bench.finds(key, { value: "nobody's" });
    },
  },
  {
    name: "an owner is only itself: no beginning, no end and no pattern of another",
    async run(bench) {
      const key = await bench.claimed("worker-12.a");
      for (const other of [
        "a",
        ".a",
        "12.a",
        "worker-12",
        "worker.12.a",
        "xworker-12.a",
        "worker-12.a2",
        "%S+",
        "*",
        "owner=worker-12.a",
      ]) {
        bench.refused(await bench.complete(key, other), { value: "processing", owner: "worker-12.a" });
        bench.equal(await bench.store.renew(key, { owner: other, ttlMs: LONG_MS }), false);
        bench.equal(await bench.store.delete(key, { owner: other }), false);
      }
      bench.equal(await bench.store.delete(key, { owner: "worker-12.a" }), true);
    },
  },
  {
    name: "an owner that is empty or has a space in it rejects, and nothing is written",
    async run(bench) {
      for (const owner of ["", "a b", " "]) {
        const key = bench.key();
        await bench.rejects(() => bench.claim(key, owner), `a claim by ${JSON.stringify(owner)}`);
        await bench.finds(key, undefined);
      }
    },
  },
];
