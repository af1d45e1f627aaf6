import type { BenchWorker } from "./bench-worker.js";
import { completed, failed, gate, type EngineCase } from "./engine-bench.js";

/** Clocks and timers are not of one mind about a millisecond or two. */
const SLACK_MS = 3;

export const attemptCases: readonly EngineCase[] = [
  {
    name: "a job that fails is tried again until its attempts are used up, and then it is dead",
    async run(bench) {
      const worker = await bench.work(() => failed());
      const job = await bench.enqueued({ options: { attempts: 3 } });
      const record = await bench.becomes(job.id, "dead");
      bench.equal(record.attempts, 3);
      bench.equal(
        worker.attemptsOf(job.id).map(({ attempt }) => attempt),
        [1, 2, 3],
      );
      await bench.eventually("the end to be told", () => worker.told.length === 3);
      const again = { state: "pending", delayMs: 0 } as const;
      bench.equal(byAttempt(worker), [
        { id: job.id, task: job.task, attempt: 1, ending: again },
        { id: job.id, task: job.task, attempt: 2, ending: again },
        { id: job.id, task: job.task, attempt: 3, ending: { state: "dead", reason: "it did not work" } },
      ]);
    },
  },
  {
    name: "a job that fails for good is dead at once",
    async run(bench) {
      const worker = await bench.work(() => failed({ retry: false }));
      const job = await bench.enqueued({ options: { attempts: 5 } });
      bench.equal((await bench.becomes(job.id, "dead")).attempts, 1);
      await bench.eventually("the end to be told", () => worker.told.length === 1);
      bench.equal(worker.endingsOf(job.id), [{ state: "dead", reason: "it did not work" }]);
    },
  },
  {
    name: "a job that works at last is completed, with the answer of that attempt",
    async run(bench) {
      const worker = await bench.work(({ attempt }) => (attempt < 3 ? failed() : completed()));
      const job = await bench.enqueued({ options: { attempts: 5 } });
      const { attempts, answer, reason } = await bench.becomes(job.id, "completed");
      bench.equal([attempts, answer, reason], [3, "done", undefined]);
      await bench.eventually("the end to be told", () => worker.told.length === 3);
      bench.equal(byAttempt(worker).at(-1), { id: job.id, task: job.task, attempt: 3, ending: { state: "completed" } });
    },
  },
  {
    name: "between attempts a job is pending, with the answer of the last",
    async run(bench) {
      const worker = await bench.work(() => failed());
      const job = await bench.enqueued({ options: { attempts: 2, backoff: { type: "fixed", delayMs: 60_000 } } });
      await bench.eventually("the first attempt to fail", () => worker.told.length === 1);
      const record = await bench.engine.get(job.id);
      bench.equal([record?.state, record?.attempts, record?.answer, record?.reason], ["pending", 1, "why not", undefined]);
      bench.equal(worker.endingsOf(job.id), [{ state: "pending", delayMs: 60_000 }]);
    },
  },
  {
    name: "the wait between attempts is fixed, or twice as long each time",
    async run(bench) {
      const worker = await bench.work(() => failed());
      const fixed = await bench.enqueued({ options: { attempts: 3, backoff: { type: "fixed", delayMs: 80 } } });
      const growing = await bench.enqueued({ options: { attempts: 4, backoff: { type: "exponential", delayMs: 40 } } });
      for (const { id } of [fixed, growing]) await bench.becomes(id, "dead");
      for (const [{ id }, waits] of [
        [fixed, [80, 80]],
        [growing, [40, 80, 160]],
      ] as const) {
        const times = worker.timesOf(id);
        const gaps = times.slice(1).map((time, at) => time - (times[at] ?? 0));
        bench.equal(gaps.length, waits.length);
        bench.holds(
          gaps.every((gap, at) => gap >= (waits[at] ?? 0) - SLACK_MS),
          `waits of ${gaps.join(", ")} ms are at least ${waits.join(", ")}`,
        );
        const told = byAttempt(worker).filter((each) => each.id === id);
        bench.equal(
          told.flatMap(({ ending }) => (ending.state === "pending" ? [ending.delayMs] : [])),
          [...waits],
        );
      }
    },
  },
  {
    name: "a job with a delay does not run before its time, nor hold up others",
    async run(bench) {
      const worker = await bench.work();
      const at = bench.now();
      const late = await bench.enqueued({ options: { delayMs: 200 } });
      const prompt = await bench.enqueued();
      await bench.becomes(prompt.id, "completed");
      await bench.becomes(late.id, "completed");
      const [startedAt = 0] = worker.timesOf(late.id);
      bench.holds(startedAt - at >= 200 - SLACK_MS, `the job ran after ${startedAt - at} ms, not before 200`);
    },
  },
  {
    name: "a job that is handed back runs again after the delay, holds its key, and has used no attempt",
    async run(bench) {
      let times = 0;
      const { passed, open } = gate();
      const worker = await bench.work(() => ((times += 1) <= 2 ? { kind: "handed_back", delayMs: 60 } : passed.then(completed)));
      const job = await bench.enqueued({ key: "k", options: { attempts: 1 } });
      await bench.eventually("the job to be handed back", () => worker.started.length >= 1);
      bench.coalesced(await bench.enqueue(bench.job({ key: "k" })), job);
      open();
      const record = await bench.becomes(job.id, "completed");
      bench.equal(record.attempts, 1);
      bench.equal(
        worker.attemptsOf(job.id).map(({ attempt }) => attempt),
        [1, 1, 1],
      );
      const [first = 0, second = 0, third = 0] = worker.timesOf(job.id);
      bench.holds(second - first >= 60 - SLACK_MS && third - second >= 60 - SLACK_MS, "it runs again after the delay, and not before");
      await bench.eventually("the end to be told", () => worker.told.length > 0);
      bench.equal(worker.endingsOf(job.id), [{ state: "completed" }]);
    },
  },
  {
    name: "a job that is handed back is pending meanwhile, and not completed",
    async run(bench) {
      const worker = await bench.work(() => ({ kind: "handed_back", delayMs: 60_000 }));
      const job = await bench.enqueued({ key: "k" });
      await bench.eventually("the job to run", () => worker.started.length === 1);
      const record = await bench.becomes(job.id, "pending");
      bench.equal([record.attempts, record.endedAt], [0, undefined]);
      bench.equal(await bench.engine.holder("k"), job.id);
    },
  },
];

/** What was told of the attempts, in their order: it may come in another. */
function byAttempt({ told }: BenchWorker): BenchWorker["told"] {
  return told.toSorted((one, other) => one.attempt - other.attempt);
}
