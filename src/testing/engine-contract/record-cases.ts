import { completed, DEFAULTS, failed, gate, type EngineBench, type EngineCase } from "./engine-bench.js";

/** Texts that a storage may be tempted to read, to tidy or to refuse. */
const PAYLOADS: readonly string[] = [
  "",
  " ",
  "{}",
  "null",
  "0",
  '{"b":1,"a":{"z":null,"y":[1,2]}}',
  '{"a":1,"a":2}',
  '{"text":"\\u0000 \\ud83d\\ude00"}',
  "[1.0,1e400,-0]",
  'a "quoted" \\ text\r\n\twith lines',
  "z\u00e4h \u2028 \u{1F4B8} \uffff",
  "\u0001\u001f\u007f",
  "not json: {",
  "undefined",
  "x".repeat(100_000),
];

export const recordCases: readonly EngineCase[] = [
  {
    name: "what was never there is not found",
    async run(bench) {
      bench.equal(await bench.engine.get("nothing"), undefined);
      bench.equal(await bench.engine.holder("nothing"), undefined);
      bench.equal(await bench.engine.forget("nothing"), false);
      bench.equal(await bench.engine.settled("nothing", { timeoutMs: 10_000 }), undefined);
      bench.equal(await bench.engine.dead({ limit: 10, offset: 0 }), []);
      bench.equal(await bench.engine.schedules(), []);
    },
  },
  {
    name: "payloads come back as they were given, to the worker and to who asks",
    async run(bench) {
      const worker = await bench.work(({ payload }) => ({ kind: "completed", answer: payload }));
      const jobs = PAYLOADS.map((payload) => bench.job({ payload }));
      await bench.engine.enqueue(jobs);
      for (const { id, payload } of jobs) {
        const record = await bench.becomes(id, "completed");
        bench.equal([record.payload, record.answer], [payload, payload]);
        bench.equal(
          worker.attemptsOf(id).map((attempt) => attempt.payload),
          [payload],
        );
      }
    },
  },
  {
    name: "answers of failures come back as they were given",
    async run(bench) {
      await bench.work(({ payload }) => ({ kind: "failed", answer: payload, reason: `failed: ${payload}`, retry: false }));
      const jobs = PAYLOADS.map((payload) => bench.job({ payload }));
      await bench.engine.enqueue(jobs);
      for (const { id, payload } of jobs) {
        const { answer, reason } = await bench.becomes(id, "dead");
        bench.equal([answer, reason], [payload, `failed: ${payload}`]);
      }
    },
  },
  {
    name: "an attempt is given all that the job was enqueued with",
    async run(bench) {
      const options = { ...DEFAULTS, priority: 7, attempts: 3, delayMs: 10, backoff: { type: "exponential", delayMs: 123 } } as const;
      const worker = await bench.work();
      const job = await bench.enqueued({ key: "k:1", task: "Charge", payload: "[1]", options });
      await bench.becomes(job.id, "completed");
      const [attempt] = worker.attemptsOf(job.id);
      const given = [attempt?.id, attempt?.task, attempt?.payload, attempt?.key, attempt?.options, attempt?.attempt];
      bench.equal(given, [job.id, "Charge", "[1]", "k:1", options, 1]);
      bench.equal(attempt?.signal.aborted, false);
    },
  },
  {
    name: "a job's record tells its life: pending, running, completed",
    async run(bench) {
      const before = bench.epoch();
      const job = await bench.enqueued({ key: "k" });
      const pending = await bench.engine.get(job.id);
      const { enqueuedAt = 0 } = pending ?? {};
      const { id, task, payload, key, options } = job;
      const start = { id, task, payload, key, options, enqueuedAt, answer: undefined, reason: undefined, endedAt: undefined };
      bench.equal(pending, { ...start, state: "pending", attempts: 0, progress: 0 });
      bench.holds(Math.abs(enqueuedAt - before) < 60_000, "a job is enqueued at the time at which it is");

      const finish = await held(bench, id);
      bench.equal(await bench.engine.get(id), { ...start, state: "running", attempts: 1, progress: 0 });
      finish();
      const record = await bench.becomes(id, "completed");
      bench.equal({ ...record, endedAt: undefined }, { ...start, state: "completed", attempts: 1, progress: 0, answer: "done" });
      bench.holds((record.endedAt ?? 0) >= enqueuedAt, "a job ends after it was enqueued");
    },
  },
  {
    name: "the record of a dead job has the last answer and the reason",
    async run(bench) {
      await bench.work(({ attempt }) => ({ kind: "failed", answer: `answer ${attempt}`, reason: `reason ${attempt}`, retry: true }));
      const { id } = await bench.enqueued({ options: { attempts: 2 } });
      const { answer, reason, attempts, endedAt } = await bench.becomes(id, "dead");
      bench.equal([answer, reason, attempts, typeof endedAt], ["answer 2", "reason 2", 2, "number"]);
    },
  },
  {
    name: "progress is seen while the job runs, and begins anew with each attempt",
    async run(bench) {
      const gates = [gate(), gate()] as const;
      await bench.work(async (attempt) => {
        if (attempt.attempt === 1) await attempt.progress(42);
        await gates[attempt.attempt === 1 ? 0 : 1].passed;
        return attempt.attempt === 1 ? failed() : completed();
      });
      const { id } = await bench.enqueued({ options: { attempts: 2 } });
      await bench.eventually("the progress", async () => (await bench.engine.get(id))?.progress === 42);
      gates[0].open();
      await bench.eventually("the second attempt", async () => {
        const record = await bench.engine.get(id);
        return record?.state === "running" && record.attempts === 2 && record.progress === 0;
      });
      gates[1].open();
      await bench.becomes(id, "completed");
    },
  },
  {
    name: "who waits for the end of a job is given its record",
    async run(bench) {
      const { job, finish } = await bench.running();
      const waiting = bench.engine.settled(job.id, { timeoutMs: 30_000 });
      finish();
      const record = await bench.passingTime(waiting);
      bench.equal([record?.id, record?.state, record?.answer], [job.id, "completed", "done"]);
      bench.equal(await bench.engine.settled(job.id, { timeoutMs: 30_000 }), record);
    },
  },
  {
    name: "who waits for the end of a job waits through its attempts, and for a dead one as well",
    async run(bench) {
      await bench.work(() => failed());
      const { id } = await bench.enqueued({ options: { attempts: 2, backoff: { type: "fixed", delayMs: 40 } } });
      const record = await bench.passingTime(bench.engine.settled(id, { timeoutMs: 30_000 }));
      bench.equal([record?.state, record?.attempts], ["dead", 2]);
    },
  },
  {
    name: "who waits for the end of a job is told when it is cancelled",
    async run(bench) {
      const { id } = await bench.enqueued({ options: { delayMs: 60_000 } });
      const waiting = bench.engine.settled(id, { timeoutMs: 30_000 });
      await bench.engine.cancel(id);
      bench.equal((await bench.passingTime(waiting))?.state, "cancelled");
    },
  },
  {
    name: "who waits for the end of a job waits no longer than it was told",
    async run(bench) {
      const { id } = await bench.enqueued();
      bench.equal(await bench.passingTime(bench.engine.settled(id, { timeoutMs: 60 })), undefined);
      bench.equal((await bench.engine.get(id))?.state, "pending");
    },
  },
  {
    name: "the end of a job is seen through another engine",
    needs: "peer",
    async run(bench) {
      const { job, finish } = await bench.running({ key: "k" });
      bench.equal((await bench.peer.get(job.id))?.state, "running");
      bench.equal(await bench.peer.holder("k"), job.id);
      const waiting = bench.peer.settled(job.id, { timeoutMs: 30_000 });
      finish();
      bench.equal((await bench.passingTime(waiting))?.state, "completed");
      bench.equal(await bench.peer.holder("k"), undefined);
    },
  },
  {
    name: "a job is remembered for its own time, whatever the times of others",
    async run(bench) {
      await bench.work(({ payload }) => (payload === "fails" ? failed() : completed()));
      const keepMs = { completed: 300, dead: 300 };
      const long = await bench.enqueued();
      const longDead = await bench.enqueued({ payload: "fails" });
      const short = await bench.enqueued({ options: { keepMs } });
      const shortDead = await bench.enqueued({ payload: "fails", options: { keepMs } });
      for (const { id } of [short, shortDead]) {
        await bench.eventually("the end", async () => (await bench.engine.settled(id, { timeoutMs: 1 })) !== undefined || true);
        await bench.eventually("the job to be forgotten", async () => (await bench.engine.get(id)) === undefined);
      }
      for (let count = 0; count < 3; count += 1) await bench.becomes((await bench.enqueued({ options: { keepMs } })).id, "completed");
      bench.equal((await bench.engine.get(long.id))?.state, "completed");
      bench.equal((await bench.engine.get(longDead.id))?.state, "dead");
      bench.equal(
        (await bench.engine.dead({ limit: 10, offset: 0 })).map(({ id }) => id),
        [longDead.id],
      );
    },
  },
];

/** Has a worker take the job, and gives the way to let it complete. */
async function held(bench: EngineBench, id: string): Promise<() => void> {
  const { passed, open } = gate();
  const worker = await bench.work(async () => {
    await passed;
    return completed();
  });
  await bench.eventually("the job to run", () => worker.attemptsOf(id).length === 1);
  return open;
}
