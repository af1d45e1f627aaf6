import type { ContractCase } from "./contract-case.js";
import { SHORT_MS } from "./contract-case.js";

const MANY = 200;

export const fenceCases: readonly ContractCase[] = [
  {
    name: "a fence is a whole number that JavaScript counts exactly",
    async run(bench) {
      const fence = bench.granted(await bench.claim(bench.key(), "a"));
      bench.holds(Number.isSafeInteger(fence) && fence > 0, `${fence} is a positive safe integer`);
    },
  },
  {
    name: "the fence grows from claim to claim after releases",
    async run(bench) {
      const key = bench.key();
      let before = 0;
      for (let claims = 0; claims < MANY; claims += 1) {
        const fence = bench.granted(await bench.claim(key, "a"));
        bench.holds(fence > before, `${fence} is more than ${before}`);
        before = fence;
        await bench.store.delete(key, { owner: "a" });
      }
    },
  },
  {
    name: "the fence grows after an expiry",
    async run(bench) {
      const key = bench.key();
      const before = bench.granted(await bench.claim(key, "a", SHORT_MS));
      await bench.advance(SHORT_MS);
      const fence = bench.granted(await bench.claim(key, "b"));
      bench.holds(fence > before, `${fence} is more than ${before}`);
    },
  },
  {
    name: "the fence grows after a completion and a deletion",
    async run(bench) {
      const key = bench.key();
      const before = bench.granted(await bench.claim(key, "a"));
      await bench.complete(key, "a");
      await bench.store.delete(key);
      const fence = bench.granted(await bench.claim(key, "b"));
      bench.holds(fence > before, `${fence} is more than ${before}`);
    },
  },
  {
    name: "the fence does not fall when a holder repeats its claim",
    async run(bench) {
      const key = bench.key();
      const before = bench.granted(await bench.claim(key, "a"));
      const fence = bench.granted(await bench.claim(key, "a"));
      bench.holds(fence >= before, `${fence} is not less than ${before}`);
    },
  },
  {
    name: "the fence grows from store to store",
    needs: "peer",
    async run(bench) {
      const key = bench.key();
      let before = 0;
      for (let claims = 0; claims < MANY; claims += 1) {
        const store = claims % 2 === 0 ? bench.store : bench.peer;
        const fence = bench.granted(await bench.claim(key, "a", SHORT_MS, store));
        bench.holds(fence > before, `${fence} is more than ${before}`);
        before = fence;
        await store.delete(key);
      }
    },
  },
  {
    name: "the fence grows after a restart of the process",
    async run(bench) {
      const key = bench.key();
      const before = bench.granted(await bench.claim(key, "a"));
      await bench.store.delete(key);
      await bench.advance(1);
      const restarted = await bench.restart();
      const fence = bench.granted(await restarted.set(key, "processing", { nx: true, owner: "b", ttlMs: SHORT_MS }));
      bench.holds(fence > before, `${fence} is more than ${before}`);
    },
  },
];
