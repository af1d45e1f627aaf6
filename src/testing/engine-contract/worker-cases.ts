import { completed, gate, type EngineCase } from "./engine-bench.js";

export const workerCases: readonly EngineCase[] = [
  {
    name: "a worker runs as many jobs at once as it is told, and no more",
    async run(bench) {
      let [running, most] = [0, 0];
      const { passed, open } = gate();
      await bench.work(
        async () => {
          running += 1;
          most = Math.max(most, running);
          await passed;
          running -= 1;
          return completed();
        },
        { concurrency: 3 },
      );
      const jobs = Array.from({ length: 12 }, () => bench.job());
      await bench.engine.enqueue(jobs);
      await bench.eventually("three jobs to run at once", () => running === 3);
      await bench.pass(50); // a fourth would have come by now
      open();
      for (const { id } of jobs) await bench.becomes(id, "completed");
      bench.equal(most, 3);
    },
  },
  {
    name: "jobs run in the order in which they were enqueued, those of a higher priority first",
    async run(bench) {
      const priorities = [0, 5, 0, 2_097_151, 1, 5];
      const jobs = priorities.map((priority) => bench.job({ options: { priority } }));
      for (const job of jobs) await bench.enqueue(job);
      const worker = await bench.work(completed, { concurrency: 1 });
      for (const { id } of jobs) await bench.becomes(id, "completed");
      bench.equal(
        worker.started.map(({ attempt }) => jobs.findIndex(({ id }) => id === attempt.id)),
        [3, 1, 5, 4, 0, 2],
      );
    },
  },
  {
    name: "two workers share the jobs: each runs once",
    async run(bench) {
      const other = await bench.work(completed, { concurrency: 2, engine: bench.peer });
      const worker = await bench.work(completed, { concurrency: 2 });
      const jobs = Array.from({ length: 40 }, () => bench.job());
      await bench.engine.enqueue(jobs);
      for (const { id } of jobs) await bench.becomes(id, "completed");
      const ran = [...worker.started, ...other.started].map(({ attempt }) => attempt.id);
      bench.equal(ran.toSorted(), jobs.map(({ id }) => id).toSorted());
    },
  },
  {
    name: "a worker takes jobs that another engine enqueues",
    needs: "peer",
    async run(bench) {
      const worker = await bench.work();
      const job = await bench.enqueued({}, bench.peer);
      await bench.becomes(job.id, "completed", bench.peer);
      bench.equal(worker.attemptsOf(job.id).length, 1);
    },
  },
  {
    name: "a worker that is stopped lets its jobs end, and takes no others",
    async run(bench) {
      const { job, worker, finish } = await bench.running();
      const stopped = worker.stop(20_000);
      const later = await bench.enqueued();
      await bench.pass(50);
      finish();
      await bench.passingTime(stopped);
      bench.equal((await bench.becomes(job.id, "completed")).answer, "done");
      await bench.pass(50);
      bench.equal((await bench.engine.get(later.id))?.state, "pending");
      bench.equal(worker.endingsOf(job.id), [{ state: "completed" }]);
    },
  },
  {
    name: "a worker that is stopped tells its jobs when the time is up, and hands back what they hand back",
    async run(bench) {
      const reasons: unknown[] = [];
      const worker = await bench.work(async ({ signal }) => {
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        reasons.push(signal.reason);
        return { kind: "handed_back", delayMs: 0 };
      });
      const job = await bench.enqueued({ key: "k" });
      await bench.eventually("the job to run", () => worker.started.length === 1);
      await bench.passingTime(worker.stop(60));
      bench.equal(reasons, ["stopped"]);
      bench.equal(await bench.engine.holder("k"), job.id);

      const next = await bench.work();
      const record = await bench.becomes(job.id, "completed");
      bench.equal(record.attempts, 1);
      bench.equal(
        next.attemptsOf(job.id).map(({ attempt }) => attempt),
        [1],
      );
      bench.equal(worker.told, []);
    },
  },
  {
    name: "what does not answer a worker that is stopped is found again by another, and a late answer counts no more",
    async run(bench) {
      let answerLate = (): void => {};
      const worker = await bench.work(async () => {
        await new Promise<void>((resolve) => (answerLate = resolve));
        return { kind: "completed", answer: "late" };
      });
      const job = await bench.enqueued({ key: "k" });
      await bench.eventually("the job to run", () => worker.started.length === 1);
      await bench.passingTime(worker.stop(20));
      bench.equal(await bench.engine.holder("k"), job.id);

      const next = await bench.work();
      await bench.eventually("the job to run again", () => next.attemptsOf(job.id).length === 1);
      answerLate();
      bench.equal((await bench.becomes(job.id, "completed")).answer, "done");
      bench.equal(worker.told, []);
      bench.equal(await bench.engine.holder("k"), undefined);
    },
  },
  {
    name: "a worker that is stopped twice stops once",
    async run(bench) {
      const worker = await bench.work();
      await bench.passingTime(Promise.all([worker.stop(), worker.stop(10)]));
      const job = await bench.enqueued();
      await bench.pass(50);
      bench.equal((await bench.engine.get(job.id))?.state, "pending");
    },
  },
  {
    name: "an engine that is closed leaves the jobs to others",
    needs: "peer",
    async run(bench) {
      const engine = bench.peer;
      const job = await bench.enqueued({ key: "k" }, engine);
      await bench.passingTime(engine.close());
      bench.equal(await bench.engine.holder("k"), job.id);
      await bench.work();
      await bench.becomes(job.id, "completed");
    },
  },
];
