import { completed, failed, type EngineCase } from "./engine-bench.js";

export const cancelCases: readonly EngineCase[] = [
  {
    name: "a pending job that is cancelled never runs, and is remembered as cancelled",
    async run(bench) {
      const jobs = [await bench.enqueued({ key: "k" }), await bench.enqueued({ options: { delayMs: 30 } })];
      for (const { id, payload, key, options } of jobs) {
        bench.equal(await bench.engine.cancel(id), "cancelled");
        const record = await bench.engine.get(id);
        bench.equal(
          [
            record?.id,
            record?.task,
            record?.state,
            record?.payload,
            record?.key,
            record?.options,
            record?.attempts,
            typeof record?.endedAt,
          ],
          [id, "Task", "cancelled", payload, key, options, 0, "number"],
        );
      }
      const worker = await bench.work();
      await bench.pass(100);
      bench.equal(worker.started, []);
      bench.equal((await bench.engine.settled(jobs[0]?.id ?? "", { timeoutMs: 1 }))?.state, "cancelled");
    },
  },
  {
    name: "a job that was cancelled is not kept again under its id, and does not take its key back",
    async run(bench) {
      const job = await bench.enqueued({ key: "k" });
      bench.equal(await bench.engine.cancel(job.id), "cancelled");
      await bench.enqueue(job);
      bench.equal((await bench.engine.get(job.id))?.state, "cancelled");
      const next = await bench.enqueued({ key: "k" });
      const worker = await bench.work();
      await bench.becomes(next.id, "completed");
      bench.equal(worker.attemptsOf(job.id).length, 0);
      bench.equal((await bench.engine.get(job.id))?.state, "cancelled");
      bench.equal(await bench.engine.forget(job.id), true);
      bench.equal(await bench.engine.get(job.id), undefined);
    },
  },
  {
    name: "what has ended is not cancelled any more, and what there is not is unknown",
    async run(bench) {
      await bench.work(({ payload }) => (payload === "fails" ? failed() : completed()));
      const done = await bench.enqueued();
      const dead = await bench.enqueued({ payload: "fails" });
      await bench.becomes(done.id, "completed");
      await bench.becomes(dead.id, "dead");
      const pending = await bench.enqueued({ options: { delayMs: 60_000 } });
      await bench.engine.cancel(pending.id);
      for (const { id } of [done, dead, pending]) bench.equal(await bench.engine.cancel(id), "finished");
      bench.equal(await bench.engine.cancel("nothing"), "unknown");
      bench.equal((await bench.engine.get(done.id))?.state, "completed");
      bench.equal((await bench.engine.get(dead.id))?.state, "dead");
    },
  },
  {
    name: "a running job is told that it is cancelled, and is cancelled when its worker says so",
    async run(bench) {
      const reasons: unknown[] = [];
      const worker = await bench.work(async ({ signal }) => {
        await aborted(signal);
        reasons.push(signal.reason);
        return { kind: "cancelled", answer: "stopped half-way" };
      });
      const job = await bench.enqueued({ key: "k", options: { attempts: 3 } });
      await bench.eventually("the job to run", () => worker.started.length === 1);
      bench.equal(await bench.engine.cancel(job.id), "requested");
      const record = await bench.becomes(job.id, "cancelled");
      bench.equal([record.answer, record.attempts, record.reason], ["stopped half-way", 1, undefined]);
      bench.equal(reasons, ["cancelled"]);
      await bench.eventually("the end to be told", () => worker.told.length > 0);
      bench.equal(worker.told, [{ id: job.id, task: job.task, attempt: 1, ending: { state: "cancelled" } }]);
      bench.equal(await bench.engine.holder("k"), undefined);
      bench.equal(await bench.engine.dead({ limit: 10, offset: 0 }), []);
    },
  },
  {
    name: "a running job is told when another engine cancels it",
    needs: "peer",
    async run(bench) {
      const worker = await bench.work(async ({ signal }) => {
        await aborted(signal);
        return { kind: "cancelled" };
      });
      const job = await bench.enqueued({ key: "k" });
      await bench.eventually("the job to run", () => worker.started.length === 1);
      bench.equal(await bench.peer.cancel(job.id), "requested");
      await bench.becomes(job.id, "cancelled", bench.peer);
      bench.equal(await bench.peer.holder("k"), undefined);
    },
  },
  {
    name: "a job that is cancelled too late completes",
    async run(bench) {
      const { job, finish } = await bench.running();
      bench.equal(await bench.engine.cancel(job.id), "requested");
      finish(completed());
      bench.equal((await bench.becomes(job.id, "completed")).answer, "done");
    },
  },
  {
    name: "a job that is cancelled while it runs is not tried again when it fails",
    async run(bench) {
      const { job, worker, finish } = await bench.running({ options: { attempts: 3 } });
      bench.equal(await bench.engine.cancel(job.id), "requested");
      finish(failed());
      await bench.becomes(job.id, "cancelled");
      await bench.pass(50);
      bench.equal(worker.attemptsOf(job.id).length, 1);
    },
  },
  {
    name: "a job may say by itself that it is cancelled",
    async run(bench) {
      await bench.work(() => ({ kind: "cancelled", answer: "by itself" }));
      const job = await bench.enqueued({ options: { attempts: 3 } });
      const record = await bench.becomes(job.id, "cancelled");
      bench.equal([record.answer, record.attempts], ["by itself", 1]);
    },
  },
  {
    name: "a pending job that many cancel at once is cancelled, and all of them hear of it",
    async run(bench) {
      for (let round = 0; round < 5; round += 1) {
        const { id } = await bench.enqueued({ key: "k", options: { delayMs: 60_000 } });
        const answers = await Promise.all(Array.from({ length: 8 }, () => bench.engine.cancel(id)));
        bench.holds(answers.includes("cancelled"), "one of them cancels it");
        bench.holds(
          answers.every((answer) => answer === "cancelled" || answer === "finished"),
          `nobody is told anything else: ${answers.join(", ")}`,
        );
        bench.equal((await bench.engine.get(id))?.state, "cancelled");
        bench.equal(await bench.engine.holder("k"), undefined);
      }
    },
  },
  {
    name: "many jobs that are cancelled while workers take them either run or are cancelled, and hold no key",
    async run(bench) {
      const worker = await bench.work(async ({ signal }) => {
        await bench.pass(1);
        return signal.aborted ? { kind: "cancelled" } : completed();
      });
      const jobs = Array.from({ length: 40 }, (_, at) => bench.job({ key: `k${at}` }));
      await bench.engine.enqueue(jobs);
      const answers = await Promise.all(jobs.map(({ id }) => bench.engine.cancel(id)));
      for (const [at, { id, key = "" }] of jobs.entries()) {
        const record = await bench.eventually("the end", async () => {
          const found = await bench.engine.get(id);
          return found?.endedAt === undefined ? undefined : found;
        });
        const ran = worker.attemptsOf(id).length;
        bench.holds(answers[at] !== "cancelled" || ran === 0, "what was cancelled in time does not run");
        bench.holds(record.state === "cancelled" || (record.state === "completed" && ran === 1), "a job is cancelled, or has run once");
        bench.equal(await bench.engine.holder(key), undefined);
      }
    },
  },
];

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve());
  });
}
