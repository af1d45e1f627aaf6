import type { Count, Store } from "../../stores/store.js";
import { LONG_MS, SHORT_MS, type Bench, type ContractCase } from "./contract-case.js";

const MANY = 50;

/** What a store that counts must keep to. Stores that do not are not asked. */
export const countCases: readonly ContractCase[] = [
  {
    name: "the first count answers 1 and the life that was asked for, and each further one adds 1 to it",
    needs: "count",
    async run(bench) {
      const key = bench.key();
      counted(bench, await countIn(bench.store, key, 10_000), 1, 10_000);
      counted(bench, await countIn(bench.store, key, LONG_MS), 2, 10_000);
      counted(bench, await countIn(bench.store, key, LONG_MS), 3, 10_000);
      await bench.finds(key, { value: "3" }, 10_000);
    },
  },
  {
    name: "many counts at once all answer differently, and end with their number",
    needs: "count",
    async run(bench) {
      const key = bench.key();
      const counts = await Promise.all(Array.from({ length: MANY }, () => countIn(bench.store, key)));
      bench.equal(
        counts.map(({ count }) => count).toSorted((a, b) => a - b),
        Array.from({ length: MANY }, (_, at) => at + 1),
      );
    },
  },
  {
    name: "counts on different keys know nothing of each other",
    needs: "count",
    async run(bench) {
      const [one, other] = [bench.key(), bench.key()];
      await countIn(bench.store, one);
      await countIn(bench.store, one);
      counted(bench, await countIn(bench.store, other), 1, LONG_MS);
    },
  },
  {
    name: "a count whose life is over begins again from 1, with a life of its own",
    needs: "count",
    async run(bench) {
      const key = bench.key();
      await countIn(bench.store, key, SHORT_MS);
      await countIn(bench.store, key, SHORT_MS);
      await bench.advance(SHORT_MS);
      counted(bench, await countIn(bench.store, key, 10_000), 1, 10_000);
    },
  },
  {
    name: "a count begins anew after it was deleted",
    needs: "count",
    async run(bench) {
      const key = bench.key();
      await countIn(bench.store, key);
      await bench.store.delete(key);
      counted(bench, await countIn(bench.store, key), 1, LONG_MS);
    },
  },
  {
    name: "a count on something that is none rejects, and leaves it as it is",
    needs: "count",
    async run(bench) {
      const [held, written] = [await bench.claimed("a"), bench.key()];
      await bench.store.set(written, "completed", { ttlMs: LONG_MS });
      await bench.rejects(() => countIn(bench.store, held), "a count on a claim");
      await bench.rejects(() => countIn(bench.store, written), "a count on a value");
      await bench.finds(held, { value: "processing", owner: "a" });
      await bench.finds(written, { value: "completed" });
    },
  },
  {
    name: "a count with a life that is no whole number of milliseconds rejects",
    needs: "count",
    async run(bench) {
      for (const ttlMs of [0, -1, 1.5, Number.NaN])
        await bench.rejects(() => countIn(bench.store, bench.key(), ttlMs), `a life of ${ttlMs}`);
    },
  },
];

/** These cases are run on stores that count, and on no others. */
async function countIn(store: Store, key: string, ttlMs: number = LONG_MS): Promise<Count> {
  if (store.count === undefined) throw new Error("The store does not count");
  return store.count(key, { ttlMs });
}

function counted(bench: Bench, { count, expiresInMs }: Count, expected: number, atMostMs: number): void {
  bench.equal(count, expected);
  bench.holds(expiresInMs > 0 && expiresInMs <= atMostMs, `a count of ${atMostMs} ms has ${expiresInMs} ms to live`);
}
