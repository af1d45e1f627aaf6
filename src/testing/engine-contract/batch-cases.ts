import type { EngineCase } from "./engine-bench.js";

export const batchCases: readonly EngineCase[] = [
  {
    name: "a batch of none is answered with nothing",
    async run(bench) {
      bench.equal(await bench.engine.enqueue([]), []);
    },
  },
  {
    name: "a batch is answered in its order, with duplicates of jobs under way and within itself",
    async run(bench) {
      const { job: running, finish } = await bench.running({ key: "k1" });
      const [first, plain, holder, duplicate, last] = ["k1", undefined, "k2", "k2", undefined].map((key) =>
        bench.job({ ...(key !== undefined && { key }), options: { delayMs: 50 } }),
      ) as [never, never, never, never, never]; // five in, five out
      const receipts = await bench.engine.enqueue([first, plain, holder, duplicate, last]);
      bench.equal(receipts.length, 5);
      bench.coalesced(receipts[0], running);
      bench.fresh(receipts[1], plain);
      bench.fresh(receipts[2], holder);
      bench.coalesced(receipts[3], holder);
      bench.fresh(receipts[4], last);
      finish();
    },
  },
  {
    name: "a batch of ten with one key is one job and ten receipts",
    async run(bench) {
      const jobs = Array.from({ length: 10 }, () => bench.job({ key: "k" }));
      const receipts = await bench.engine.enqueue(jobs);
      const [holder] = jobs;
      bench.equal(
        receipts,
        jobs.map((_, at) => ({ id: holder?.id, coalesced: at > 0 })),
      );
      const worker = await bench.work();
      await bench.becomes(holder?.id ?? "", "completed");
      bench.equal(worker.started.length, 1);
    },
  },
  {
    name: "a batch may mix delays and priorities",
    async run(bench) {
      const options = [{}, { delayMs: 30 }, { priority: 5 }, { delayMs: 30, priority: 5 }, {}];
      const jobs = options.map((each, at) => bench.job({ key: `k${at % 4}`, options: each }));
      const receipts = await bench.engine.enqueue(jobs);
      bench.equal(
        receipts.map(({ coalesced }) => coalesced),
        [false, false, false, false, true],
      );
      await bench.work();
      for (const { id } of jobs.slice(0, 4)) await bench.becomes(id, "completed");
    },
  },
  {
    name: "a batch that is repeated with the same ids is answered as before, and keeps nothing twice",
    async run(bench) {
      const jobs = ["k1", undefined, "k1", "k2", undefined].map((key) => bench.job({ ...(key !== undefined && { key }) }));
      const receipts = await bench.engine.enqueue(jobs);
      bench.equal(await bench.engine.enqueue(jobs), receipts);
      const worker = await bench.work();
      for (const { id } of receipts) await bench.becomes(id, "completed");
      await bench.pass(50);
      bench.equal(worker.started.length, 4);
    },
  },
  {
    name: "a batch of which a part is there already is completed by its repetition",
    async run(bench) {
      const jobs = Array.from({ length: 6 }, (_, at) => bench.job({ key: `k${at}` }));
      await bench.engine.enqueue(jobs.slice(0, 3));
      const receipts = await bench.engine.enqueue(jobs);
      for (const [at, job] of jobs.entries()) bench.fresh(receipts[at], job);
      const worker = await bench.work();
      for (const { id } of jobs) await bench.becomes(id, "completed");
      bench.equal(worker.started.length, 6);
    },
  },
  {
    name: "a job that is enqueued once more after its end is not run again, and does not take its key back",
    async run(bench) {
      const worker = await bench.work();
      const job = await bench.enqueued({ key: "k" });
      await bench.becomes(job.id, "completed");
      bench.fresh(await bench.enqueue(job), job);
      bench.equal(await bench.engine.holder("k"), undefined);
      const next = await bench.enqueued({ key: "k" });
      await bench.becomes(next.id, "completed");
      bench.equal(worker.attemptsOf(job.id).length, 1);
      bench.equal((await bench.engine.get(job.id))?.state, "completed");
    },
  },
  {
    name: "a batch that meets a key which a repeated job has left behind is kept whole",
    async run(bench) {
      await bench.work();
      const job = await bench.enqueued({ key: "k1" });
      await bench.becomes(job.id, "completed");
      await bench.enqueue(job);
      const jobs = ["k1", "k2", "k1", undefined].map((key) =>
        bench.job({ ...(key !== undefined && { key }), options: { delayMs: 60_000 } }),
      );
      const receipts = await bench.engine.enqueue(jobs);
      bench.equal(
        receipts,
        [0, 1, 0, 3].map((holder, at) => ({ id: jobs[holder]?.id, coalesced: holder !== at })),
      );
      bench.equal(await bench.engine.holder("k1"), jobs[0]?.id);
    },
  },
];
