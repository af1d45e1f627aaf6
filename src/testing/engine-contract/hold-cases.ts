import type { Verdict } from "../../queue/port.js";
import { completed, failed, type EngineBench, type EngineCase } from "./engine-bench.js";

export const holdCases: readonly EngineCase[] = [
  {
    name: "a key is free once its job is completed",
    run: (bench) => freeAfter(bench, completed()),
  },
  {
    name: "a key is free once its job is dead, though attempts were left",
    run: (bench) => freeAfter(bench, failed({ retry: false })),
  },
  {
    name: "a key is free once its running job is cancelled",
    run: (bench) => freeAfter(bench, { kind: "cancelled" }),
  },
  {
    name: "a key is held between attempts, and free after the last",
    async run(bench) {
      const held: boolean[] = [];
      const worker = await bench.work(async ({ key = "" }) => {
        held.push((await bench.engine.holder(key)) !== undefined);
        return failed();
      });
      const waits = await bench.enqueued({ key: "waits", options: { attempts: 3, backoff: { type: "fixed", delayMs: 60_000 } } });
      await bench.eventually("an attempt to fail", () => worker.endingsOf(waits.id).length === 1);
      bench.coalesced(await bench.enqueue(bench.job({ key: "waits" })), waits);

      held.length = 0;
      const job = await bench.enqueued({ key: "k", options: { attempts: 3, backoff: { type: "fixed", delayMs: 20 } } });
      await bench.becomes(job.id, "dead");
      bench.equal(held, [true, true, true]);
      await bench.enqueued({ key: "k" });
    },
  },
  {
    name: "several keyed jobs between attempts do not get into each other's way",
    async run(bench) {
      const seen = new Set<string>();
      await bench.work(({ id }) => (seen.has(id) ? completed() : (seen.add(id), failed())));
      const options = { attempts: 2, backoff: { type: "fixed", delayMs: 50 }, delayMs: 20 } as const;
      const jobs = ["a", "b", "c", "d"].map((key) => bench.job({ key, options }));
      await bench.engine.enqueue(jobs);
      for (const { id } of jobs) bench.equal((await bench.becomes(id, "completed")).attempts, 2);
    },
  },
  {
    name: "a key is free once its pending job is cancelled",
    async run(bench) {
      for (const delayMs of [0, 60_000]) {
        const job = await bench.enqueued({ key: "k", options: { delayMs } });
        bench.equal(await bench.engine.cancel(job.id), "cancelled");
        bench.equal(await bench.engine.holder("k"), undefined);
      }
      await bench.enqueued({ key: "k" });
    },
  },
  {
    name: "a key is free once its job is cancelled between attempts",
    async run(bench) {
      const worker = await bench.work(() => failed());
      const job = await bench.enqueued({ key: "k", options: { attempts: 2, backoff: { type: "fixed", delayMs: 60_000 } } });
      await bench.eventually("the first attempt to fail", () => worker.endingsOf(job.id).length === 1);
      bench.equal(await bench.engine.cancel(job.id), "cancelled");
      await bench.enqueued({ key: "k", options: { delayMs: 60_000 } });
      bench.equal(worker.attemptsOf(job.id).length, 1);
    },
  },
  {
    name: "who holds a key is told, and nobody once it is free",
    async run(bench) {
      bench.equal(await bench.engine.holder("k"), undefined);
      const { job, finish } = await bench.running({ key: "k" });
      bench.equal(await bench.engine.holder("k"), job.id);
      finish();
      await bench.becomes(job.id, "completed");
      bench.equal(await bench.engine.holder("k"), undefined);
    },
  },
  {
    name: "a key is held by the job that came after the one that freed it",
    async run(bench) {
      const { job, finish } = await bench.running({ key: "k" });
      finish();
      await bench.becomes(job.id, "completed");
      const next = await bench.enqueued({ key: "k", options: { delayMs: 60_000 } });
      await bench.engine.forget(job.id);
      bench.equal(await bench.engine.holder("k"), next.id);
      bench.coalesced(await bench.enqueue(bench.job({ key: "k" })), next);
    },
  },
];

/** As soon as a worker has been told of the end, the key is free: from then on the next job is kept. */
async function freeAfter(bench: EngineBench, verdict: Verdict): Promise<void> {
  const { job, worker, finish } = await bench.running({ key: "k", options: { attempts: 3 } });
  bench.coalesced(await bench.enqueue(bench.job({ key: "k" })), job);
  finish(verdict);
  await bench.eventually("the end to be told", () => worker.endingsOf(job.id).length === 1);
  const next = await bench.enqueued({ key: "k" });
  await bench.becomes(next.id, "completed");
}
