import type { EntryPage } from "../../stores/store.js";
import type { Bench, ContractCase } from "./contract-case.js";

/** Empty pages are allowed, but not for ever. */
const MOST_PAGES = 100_000;

export const entriesCases: readonly ContractCase[] = [
  {
    name: "a listing shows every entry under the prefix, and no other",
    async run(bench) {
      const wanted = Array.from({ length: 25 }, (_, at) => `${bench.prefix}wanted:${at}`);
      const others = [`${bench.prefix}wante`, `${bench.prefix}other:1`, `${bench.prefix}Wanted:1`, `x${bench.prefix}wanted:1`];
      for (const key of [...wanted, ...others]) await bench.claim(key, "a");
      bench.equal(await keysUnder(bench, `${bench.prefix}wanted:`), wanted.toSorted());
      for (const key of others) await bench.store.delete(key);
    },
  },
  {
    name: "a listing goes from page to page to its end, however small the pages",
    async run(bench) {
      const keys = Array.from({ length: 12 }, () => bench.key());
      for (const key of keys) await bench.claim(key, "a");
      bench.equal(await keysUnder(bench, bench.prefix, 1), keys.toSorted());
      bench.equal(await keysUnder(bench, bench.prefix, 5), keys.toSorted());
      bench.equal(await keysUnder(bench, bench.prefix, 1_000), keys.toSorted());
    },
  },
  {
    name: "a listing of nothing ends, and is empty",
    async run(bench) {
      bench.equal(await keysUnder(bench, bench.prefix), []);
    },
  },
  {
    name: "a listed entry has its value, its owner if it has one, and its life",
    async run(bench) {
      const [held, completed] = [await bench.claimed("a", 10_000), await bench.claimed("b")];
      await bench.complete(completed, "b", 10_000);
      const entries = new Map(
        (await pagesUnder(bench, bench.prefix)).flatMap((page) => page.entries).map(({ key, ...entry }) => [key, entry]),
      );
      bench.entry(entries.get(held), { value: "processing", owner: "a" }, 10_000);
      bench.entry(entries.get(completed), { value: "completed" }, 10_000);
    },
  },
  {
    name: "every character of a prefix means itself",
    async run(bench) {
      for (const sign of ["*", "?", "[ab]", "[^a]", "\\", "a-z", "^", "]", "%", "_", "{a,b}", "é", "👍"]) {
        const prefix = `${bench.key()}:${sign}`;
        const [own, decoys] = [`${prefix}:1`, [`${prefix.slice(0, -sign.length)}a:1`, `${prefix.slice(0, -sign.length)}ab:1`]];
        for (const key of [own, ...decoys]) await bench.claim(key, "a");
        bench.equal(await keysUnder(bench, `${prefix}:`), [own]);
      }
    },
  },
  {
    name: "a limit that is no whole number from 1 rejects",
    async run(bench) {
      for (const limit of [0, -1, 1.5, Number.NaN]) {
        await bench.rejects(async () => bench.store.entries({ prefix: bench.prefix, limit }), `a limit of ${limit}`);
      }
    },
  },
];

/** A key may come twice while others write; here nobody does, but a store may still repeat itself. */
async function keysUnder(bench: Bench, prefix: string, limit?: number): Promise<readonly string[]> {
  const pages = await pagesUnder(bench, prefix, limit);
  return [...new Set(pages.flatMap((page) => page.entries.map(({ key }) => key)))].toSorted();
}

async function pagesUnder(bench: Bench, prefix: string, limit?: number): Promise<readonly EntryPage[]> {
  const pages: EntryPage[] = [];
  let cursor: string | undefined;
  do {
    const page: EntryPage = await bench.store.entries({
      prefix,
      ...(limit !== undefined && { limit }),
      ...(cursor !== undefined && { cursor }),
    });
    pages.push(page);
    bench.holds(pages.length < MOST_PAGES, "the listing ends");
    cursor = page.cursor;
  } while (cursor !== undefined);
  return pages;
}
