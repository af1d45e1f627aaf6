import type { EngineCase } from "./engine-bench.js";

/** Whatever a person may take for a key: each is told from all others. */
const ODD_KEYS: readonly string[] = [
  "0",
  "1",
  "01",
  "a:b",
  "a:b:c",
  "0:1",
  ":",
  " ",
  "a b",
  "a",
  "A",
  "a\n",
  "a\tb",
  "%3A",
  "*",
  "{a}",
  "'; drop table job; --",
  "\\",
  '"',
  "__proto__",
  "constructor",
  "null",
  "undefined",
  "é",
  "e\u0301",
  "\u{1F4B8}",
  "auto:0b61aec43868556d404085007f42671c",
  "x".repeat(511),
  "x".repeat(512),
  "\u{1F4B8}".repeat(128),
];

export const keyCases: readonly EngineCase[] = [
  {
    name: "jobs without a key are all kept, each under its own id",
    async run(bench) {
      await bench.enqueued({ payload: "same" });
      await bench.enqueued({ payload: "same" });
      await bench.enqueued({ payload: "same" });
    },
  },
  {
    name: "a job whose key is held resolves to the holder, and says so",
    async run(bench) {
      const holder = await bench.enqueued({ key: "k" });
      const second = bench.job({ key: "k" });
      bench.coalesced(await bench.enqueue(second), holder);
      bench.equal(await bench.engine.get(second.id), undefined);
    },
  },
  {
    name: "the holder keeps its payload and its options",
    async run(bench) {
      const holder = await bench.enqueued({ key: "k", payload: "first", options: { priority: 3, attempts: 2 } });
      await bench.enqueue(bench.job({ key: "k", payload: "second", options: { priority: 9, attempts: 7, delayMs: 5_000 } }));
      const record = await bench.engine.get(holder.id);
      bench.equal([record?.payload, record?.options], ["first", holder.options]);
      const worker = await bench.work();
      await bench.becomes(holder.id, "completed");
      bench.equal(
        worker.started.map(({ attempt }) => [attempt.id, attempt.payload]),
        [[holder.id, "first"]],
      );
    },
  },
  {
    name: "jobs of different tasks share a key",
    async run(bench) {
      const holder = await bench.enqueued({ key: "k", task: "One" });
      bench.coalesced(await bench.enqueue(bench.job({ key: "k", task: "Other" })), holder);
      bench.equal((await bench.engine.get(holder.id))?.task, "One");
    },
  },
  {
    name: "namespaces share neither keys nor jobs",
    async run(bench) {
      const other = bench.elsewhere();
      const here = await bench.enqueued({ key: "k" });
      const there = await bench.enqueued({ key: "k" }, other);
      bench.equal(await other.get(here.id), undefined);
      const worker = await bench.work();
      await bench.becomes(here.id, "completed");
      bench.equal(worker.attemptsOf(there.id), []);
      bench.equal((await other.get(there.id))?.state, "pending");
    },
  },
  {
    name: "odd keys are held, and each is told from the others",
    async run(bench) {
      const jobs = ODD_KEYS.map((key) => bench.job({ key }));
      const receipts = await bench.engine.enqueue(jobs);
      for (const [at, job] of jobs.entries()) bench.fresh(receipts[at], job);
      for (const job of jobs) {
        const { key = "" } = job;
        bench.coalesced(await bench.enqueue(bench.job({ key })), job);
        bench.equal(await bench.engine.holder(key), job.id);
        bench.equal((await bench.engine.get(job.id))?.key, key);
      }
    },
  },
  {
    name: "a key is held while its job waits for its time, which a later enqueue does not change",
    async run(bench) {
      const holder = await bench.enqueued({ key: "k", options: { delayMs: 150 } });
      const at = bench.now();
      for (const delayMs of [0, 150, 10_000]) bench.coalesced(await bench.enqueue(bench.job({ key: "k", options: { delayMs } })), holder);
      const worker = await bench.work();
      await bench.becomes(holder.id, "completed");
      const [startedAt = 0] = worker.timesOf(holder.id);
      bench.holds(startedAt - at < 5_000, "the job waits for its own time, not for that of a later one");
      bench.equal(worker.started.length, 1);
    },
  },
  {
    name: "a key is held while its job runs: every enqueue resolves to it",
    async run(bench) {
      const { job, worker, finish } = await bench.running({ key: "k" });
      for (let count = 0; count < 5; count += 1) bench.coalesced(await bench.enqueue(bench.job({ key: "k" })), job);
      finish();
      await bench.becomes(job.id, "completed");
      bench.equal(worker.started.length, 1);
    },
  },
];
