import { LONG_MS, type Bench, type ContractCase } from "./contract-case.js";

const MANY = 50;
const owners: readonly string[] = Array.from({ length: MANY }, (_, at) => `owner-${at}`);

export const claimCases: readonly ContractCase[] = [
  {
    name: "a claim on an absent key is granted, and is there to be read",
    async run(bench) {
      const key = bench.key();
      bench.granted(await bench.claim(key, "a"));
      await bench.finds(key, { value: "processing", owner: "a" });
    },
  },
  {
    name: "a claim on a held key is refused, and tells value, owner and life of what it lost to",
    async run(bench) {
      const key = await bench.claimed("a", 10_000);
      bench.refused(await bench.claim(key, "b"), { value: "processing", owner: "a" }, 10_000);
    },
  },
  {
    name: "a claim on a completed key is refused, and tells that nobody holds it",
    async run(bench) {
      const key = await bench.claimed("a");
      await bench.complete(key, "a");
      bench.refused(await bench.claim(key, "b"), { value: "completed" });
      bench.refused(await bench.claim(key, "a"), { value: "completed" });
    },
  },
  {
    name: "a refused claim changes nothing",
    async run(bench) {
      const key = await bench.claimed("a", 10_000);
      await bench.store.set(key, "other", { nx: true, owner: "b", ttlMs: LONG_MS });
      await bench.finds(key, { value: "processing", owner: "a" }, 10_000);
    },
  },
  {
    name: "a claim repeated by its holder is granted, with its new value and life",
    async run(bench) {
      const key = await bench.claimed("a", 10_000);
      bench.granted(await bench.store.set(key, "processing again", { nx: true, owner: "a", ttlMs: LONG_MS }));
      const entry = await bench.store.get(key);
      bench.entry(entry, { value: "processing again", owner: "a" });
      bench.holds((entry?.expiresInMs ?? 0) > 10_000, "the life counts from the repetition");
    },
  },
  {
    name: "a claim without an owner is granted once",
    async run(bench) {
      const key = bench.key();
      bench.granted(await bench.store.set(key, "taken", { nx: true, ttlMs: LONG_MS }));
      bench.refused(await bench.store.set(key, "taken", { nx: true, ttlMs: LONG_MS }), { value: "taken" });
    },
  },
  {
    name: "a claim without an owner is refused by one that has an owner",
    async run(bench) {
      const key = await bench.claimed("a");
      bench.refused(await bench.store.set(key, "taken", { nx: true, ttlMs: LONG_MS }), { value: "processing", owner: "a" });
    },
  },
  {
    name: "of many claims at once exactly one is granted, and all others name the winner",
    run: (bench) => race(bench, () => bench.store),
  },
  {
    name: "of many claims at once through two stores exactly one is granted",
    needs: "peer",
    run: (bench) => race(bench, (at) => (at % 2 === 0 ? bench.store : bench.peer)),
  },
  {
    name: "many claims at once on different keys are all granted",
    async run(bench) {
      const keys = owners.map(() => bench.key());
      const results = await Promise.all(keys.map((key, at) => bench.claim(key, owners[at] ?? "")));
      for (const result of results) bench.granted(result);
      for (const [at, key] of keys.entries()) await bench.finds(key, { value: "processing", owner: owners[at] ?? "" });
    },
  },
  {
    name: "what one store writes, another sees at once",
    needs: "peer",
    async run(bench) {
      const key = await bench.claimed("a");
      bench.refused(await bench.claim(key, "b", LONG_MS, bench.peer), { value: "processing", owner: "a" });
      bench.refused(await bench.complete(key, "b", LONG_MS, bench.peer), { value: "processing", owner: "a" });
      bench.granted(await bench.complete(key, "a", LONG_MS, bench.peer));
      await bench.finds(key, { value: "completed" });
    },
  },
  {
    name: "keys are told apart by their whole length",
    async run(bench) {
      const long = `${bench.key()}:${"x".repeat(300)}`;
      bench.granted(await bench.claim(`${long}1`, "a"));
      bench.granted(await bench.claim(`${long}2`, "b"));
      await bench.finds(`${long}1`, { value: "processing", owner: "a" });
    },
  },
  {
    name: "a write that asks for both nx and xx rejects",
    async run(bench) {
      const key = bench.key();
      await bench.rejects(async () => bench.store.set(key, "both", { nx: true, xx: true, ttlMs: LONG_MS }), "nx with xx");
      await bench.finds(key, undefined);
    },
  },
];

async function race(bench: Bench, storeOf: (at: number) => Bench["store"]): Promise<void> {
  const key = bench.key();
  const results = await Promise.all(owners.map((owner, at) => bench.claim(key, owner, LONG_MS, storeOf(at))));
  const winners = owners.filter((_, at) => results[at]?.ok === true);
  bench.equal(winners.length, 1);
  const held = { value: "processing", owner: winners[0] ?? "" };
  for (const result of results) if (!result.ok) bench.refused(result, held);
  await bench.finds(key, held);
}
