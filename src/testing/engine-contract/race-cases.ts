import type { Engine, EngineJob, Receipt } from "../../queue/port.js";
import type { EngineBench, EngineCase } from "./engine-bench.js";

export const raceCases: readonly EngineCase[] = [
  {
    name: "of 500 enqueues at once on one key exactly one is kept, and all others name it",
    run: (bench) => race(bench, () => bench.engine),
  },
  {
    name: "of 500 enqueues at once through two engines exactly one is kept",
    needs: "peer",
    run: (bench) => race(bench, (at) => (at % 2 === 0 ? bench.engine : bench.peer)),
  },
  {
    name: "of two enqueues at once exactly one is kept, round after round",
    needs: "peer",
    async run(bench) {
      for (let round = 0; round < 30; round += 1) {
        const pair = [bench.job({ key: `k${round}` }), bench.job({ key: `k${round}` })] as const;
        const receipts = await Promise.all([bench.enqueue(pair[0]), bench.enqueue(pair[1], bench.peer)]);
        oneKept(bench, pair, receipts);
      }
    },
  },
  {
    name: "batches at once over the same keys, in different orders, agree on one job for each",
    async run(bench) {
      const keys = Array.from({ length: 20 }, (_, at) => `k${at}`);
      const batches = Array.from({ length: 10 }, (_, at) => (at % 2 === 0 ? keys : keys.toReversed()).map((key) => bench.job({ key })));
      const receipts = await Promise.all(batches.map((jobs) => bench.engine.enqueue(jobs)));
      for (const key of keys) {
        const jobs = batches.flat().filter((job) => job.key === key);
        const received = batches.flatMap((batch, at) => (receipts[at] ?? []).filter((_, place) => batch[place]?.key === key));
        oneKept(bench, jobs, received);
      }
    },
  },
  {
    name: "enqueues while the holder finishes all resolve to a job that there is",
    async run(bench) {
      const { job, finish } = await bench.running({ key: "k" });
      const before = Array.from({ length: 25 }, () => bench.enqueue(bench.job({ key: "k" })));
      finish();
      const after = Array.from({ length: 25 }, () => bench.enqueue(bench.job({ key: "k" })));
      const receipts = await Promise.all([...before, ...after]);
      for (const id of new Set(receipts.map((receipt) => receipt.id))) await bench.becomes(id, "completed");
      await bench.becomes(job.id, "completed");
    },
  },
  {
    name: "while enqueues and workers go on, no two jobs of one key live at once, and no key is left behind",
    async run(bench) {
      const live = new Map<string, number>();
      let overlaps = 0;
      let runs = 0;
      await bench.work(
        async ({ key = "" }) => {
          const others = live.get(key) ?? 0;
          overlaps += others;
          live.set(key, others + 1);
          await bench.pass(1);
          live.set(key, (live.get(key) ?? 1) - 1);
          runs += 1;
          return { kind: runs % 7 === 0 ? "failed" : "completed", answer: "", reason: "by turns", retry: true };
        },
        { concurrency: 8 },
      );
      const keys = ["a", "b", "c", "d"];
      const receipts: Receipt[] = [];
      for (let round = 0; round < 40; round += 1) {
        const jobs = keys.map((key) => bench.job({ key, options: { attempts: 2, backoff: { type: "fixed", delayMs: 2 } } }));
        receipts.push(...(await Promise.all(jobs.map((job) => bench.enqueue(job)))));
      }
      const kept = receipts.filter(({ coalesced }) => !coalesced).map(({ id }) => id);
      for (const id of kept) await bench.eventually("the end of every job", async () => (await bench.engine.get(id))?.endedAt);
      bench.equal(overlaps, 0);
      bench.equal(
        receipts.filter(({ id }) => !kept.includes(id)),
        [],
      );
      for (const key of keys) bench.equal(await bench.engine.holder(key), undefined);
    },
  },
];

async function race(bench: EngineBench, engineFor: (at: number) => Engine): Promise<void> {
  const jobs = Array.from({ length: 500 }, () => bench.job({ key: "k" }));
  oneKept(bench, jobs, await Promise.all(jobs.map((job, at) => bench.enqueue(job, engineFor(at)))));
}

/** One job was kept under its own id, and all others resolved to it. */
function oneKept(bench: EngineBench, jobs: readonly EngineJob[], receipts: readonly Receipt[]): void {
  const winners = receipts.filter(({ coalesced }) => !coalesced);
  bench.equal(winners.length, 1);
  const [winner] = winners;
  bench.holds(
    jobs.some(({ id }) => id === winner?.id),
    "the one that was kept has the id of one of the jobs",
  );
  bench.holds(
    receipts.every(({ id }) => id === winner?.id),
    "all receipts name the job that was kept",
  );
}
