import { LONG_MS, type ContractCase } from "./contract-case.js";

/** Texts that a careless store changes: by trimming, parsing, cutting or taking for its own. */
const texts: readonly string[] = [
  "processing",
  'processing {"run":"0190","fingerprint":"q2w"}',
  'completed {"output":"[{\\"chargeId\\":1},\\"ch_1\\"]"}',
  "",
  " leading and trailing ",
  "two\nlines\r\nand\ta tab",
  "nothing \u0000 at all",
  "Grüße, 你好, שלום, 👩‍👩‍👧‍👦",
  "null",
  "0",
  "processing owner=somebody",
  "completed owner=",
  "owner=somebody",
  ' {"note":"a owner=b"} owner=c owner=d',
  "$1 %s %d {0} * ? [a-z] \\ ' \"",
];

const LARGE = "0123456789abcdef".repeat(2 ** 16);

export const valueCases: readonly ContractCase[] = [
  {
    name: "a value comes back as it was, with an owner and without",
    async run(bench) {
      for (const value of texts) {
        const key = bench.key();
        bench.granted(await bench.store.set(key, value, { nx: true, owner: "a", ttlMs: LONG_MS }));
        await bench.finds(key, { value, owner: "a" });
        bench.refused(await bench.claim(key, "b"), { value, owner: "a" });
        bench.granted(await bench.store.set(key, value, { xx: true, owner: "a", ttlMs: LONG_MS }));
        await bench.finds(key, { value });
        bench.refused(await bench.claim(key, "b"), { value });
        bench.granted(await bench.store.set(key, value, { ttlMs: LONG_MS }));
        await bench.finds(key, { value });
      }
    },
  },
  {
    name: "a value that looks as if somebody held it gives nobody a right to it",
    async run(bench) {
      const key = bench.key();
      await bench.store.set(key, "processing owner=a", { ttlMs: LONG_MS });
      bench.refused(await bench.claim(key, "a"), { value: "processing owner=a" });
      bench.refused(await bench.complete(key, "a"), { value: "processing owner=a" });
      bench.equal(await bench.store.renew(key, { owner: "a", ttlMs: LONG_MS }), false);
      bench.equal(await bench.store.delete(key, { owner: "a" }), false);
    },
  },
  {
    name: "a value of a million characters comes back whole",
    async run(bench) {
      const key = await bench.claimed("a");
      bench.granted(await bench.store.set(key, LARGE, { xx: true, owner: "a", ttlMs: LONG_MS }));
      const entry = await bench.store.get(key);
      bench.equal(entry?.value.length, LARGE.length);
      bench.holds(entry?.value === LARGE, "the value is the same");
    },
  },
  {
    name: "a key may hold any characters",
    async run(bench) {
      const keys = texts.map((text) => `${bench.key()}:${text}`);
      for (const [at, key] of keys.entries()) bench.granted(await bench.claim(key, `owner-${at}`));
      for (const [at, key] of keys.entries()) await bench.finds(key, { value: "processing", owner: `owner-${at}` });
      for (const [at, key] of keys.entries()) bench.equal(await bench.store.delete(key, { owner: `owner-${at}` }), true);
    },
  },
];
