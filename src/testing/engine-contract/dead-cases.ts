import { failed, type EngineBench, type EngineCase } from "./engine-bench.js";

export const deadCases: readonly EngineCase[] = [
  {
    name: "dead jobs are listed, the latest first, page by page",
    async run(bench) {
      const ids = await died(bench, 5);
      const list = async (limit: number, offset: number): Promise<string[]> =>
        (await bench.engine.dead({ limit, offset })).map(({ id }) => id);
      const latestFirst = ids.toReversed();
      bench.equal(await list(10, 0), latestFirst);
      bench.equal(await list(2, 0), latestFirst.slice(0, 2));
      bench.equal(await list(2, 3), latestFirst.slice(3, 5));
      bench.equal(await list(2, 5), []);
      bench.equal(await list(0, 0), []);
      const [first] = await bench.engine.dead({ limit: 1, offset: 0 });
      bench.equal(first, await bench.engine.get(latestFirst[0] ?? ""));
    },
  },
  {
    name: "completed and cancelled jobs are not among the dead",
    async run(bench) {
      const [dead = ""] = await died(bench, 1);
      await bench.work(({ payload }) => (payload === "cancels" ? { kind: "cancelled" } : { kind: "completed", answer: "" }));
      const done = await bench.enqueued();
      const cancelled = await bench.enqueued({ payload: "cancels" });
      const early = await bench.enqueued({ options: { delayMs: 60_000 } });
      await bench.engine.cancel(early.id);
      await bench.becomes(done.id, "completed");
      await bench.becomes(cancelled.id, "cancelled");
      bench.equal(
        (await bench.engine.dead({ limit: 10, offset: 0 })).map(({ id }) => id),
        [dead],
      );
    },
  },
  {
    name: "what has ended can be forgotten, once; what has not stays",
    async run(bench) {
      const [dead = ""] = await died(bench, 1);
      const { job, finish } = await bench.running({ key: "k" });
      const pending = await bench.enqueued({ options: { delayMs: 60_000 } });
      bench.equal(await bench.engine.forget(job.id), false);
      bench.equal(await bench.engine.forget(pending.id), false);
      finish();
      await bench.becomes(job.id, "completed");
      await bench.engine.cancel(pending.id);
      for (const id of [dead, job.id, pending.id]) {
        bench.equal(await bench.engine.forget(id), true);
        bench.equal(await bench.engine.get(id), undefined);
        bench.equal(await bench.engine.forget(id), false);
        bench.equal(await bench.engine.cancel(id), "unknown");
      }
      bench.equal(await bench.engine.dead({ limit: 10, offset: 0 }), []);
    },
  },
  {
    name: "a dead job that is enqueued anew under another id takes its key again, or resolves to who has it",
    async run(bench) {
      const [id = ""] = await died(bench, 1, "k");
      const { task, payload, key = "" } = (await bench.engine.get(id)) ?? bench.job();
      const again = await bench.enqueued({ task, payload, key, options: { delayMs: 60_000 } });
      bench.coalesced(await bench.enqueue(bench.job({ task, payload, key })), again);
      await bench.engine.forget(id);
      bench.equal(await bench.engine.holder("k"), again.id);
    },
  },
];

/** Jobs that died, in order, each in a moment of its own. */
async function died(bench: EngineBench, count: number, key?: string): Promise<readonly string[]> {
  const worker = await bench.work(() => failed());
  const ids: string[] = [];
  for (let at = 0; at < count; at += 1) {
    const { id } = await bench.enqueued(key === undefined ? {} : { key });
    await bench.becomes(id, "dead");
    await bench.pass(3);
    ids.push(id);
  }
  await bench.passingTime(worker.stop());
  return ids;
}
