import fc from "fast-check";
import { afterEach, expect, test } from "vitest";
import { resetConfiguration, Task, type Clock } from "taskwright";
import { memoryEngine, Queue, type EngineJob, type EngineSource, type Receipt, type Worker } from "taskwright/queue";
import { z } from "zod";
import { settle } from "../support/manual-clock.js";
import { through, world } from "./world.js";

afterEach(resetConfiguration);

const KEYS = ["a", "b", "c"] as const;

const step = fc.oneof(
  fc.record({ do: fc.constant("enqueue" as const), key: fc.constantFrom(...KEYS), delay: fc.nat(3) }),
  fc.record({ do: fc.constant("batch" as const), keys: fc.array(fc.constantFrom(...KEYS), { maxLength: 4 }) }),
  fc.record({ do: fc.constant("cancel" as const), which: fc.nat(30) }),
  fc.record({ do: fc.constant("replay" as const), which: fc.nat(30) }),
  fc.record({ do: fc.constant("pass" as const), seconds: fc.nat(4) }),
  fc.record({ do: fc.constant("turn" as const) }),
  fc.record({ do: fc.constant("stop" as const), grace: fc.nat(3) }),
  fc.record({ do: fc.constant("work" as const), concurrency: fc.integer({ min: 1, max: 3 }) }),
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

/** How each attempt ends, in order: after so many seconds, well or not. */
const endings = fc.array(fc.record({ seconds: fc.nat(3), fails: fc.boolean() }), { minLength: 1, maxLength: 20 });

/** An engine that holds every enqueue against what the keys were in that very step. */
function watched(ids: string[], wrong: string[]): EngineSource {
  return through(memoryEngine(), (engine) => async (method, perform, [given]) => {
    if (method !== "enqueue" || !Array.isArray(given)) return perform();
    const jobs = given as readonly EngineJob[]; // what the method takes
    const before = jobs.map(({ key = "" }) => engine.holder(key));
    const answer = perform(); // no turn passes between the two in the memory engine
    const held = new Map<string | undefined, string | undefined>();
    for (const [at, { key }] of jobs.entries()) if (!held.has(key)) held.set(key, await before[at]);
    for (const [at, { id, coalesced }] of ((await answer) as readonly Receipt[]).entries()) {
      const key = jobs[at]?.key;
      if (coalesced !== (held.get(key) !== undefined) || (coalesced && id !== held.get(key)))
        wrong.push(`${key}: ${id}, coalesced=${coalesced}, and ${held.get(key)} held it`);
      held.set(key, held.get(key) ?? id);
      ids.push(id);
    }
    return answer;
  });
}

/** A task whose attempts end as it is told, in order, and the keys that were at work twice at once. */
function jobTask(clock: Clock, ends: readonly { readonly seconds: number; readonly fails: boolean }[]) {
  const atWork = new Map<string, number>();
  const overlaps: string[] = [];
  let attempts = 0;
  class Job extends Task.with({ name: "by_chance", input: z.object({ key: z.string() }) }) {
    async work(): Promise<void> {
      const { key } = this.input;
      const end = ends[attempts++ % ends.length];
      atWork.set(key, (atWork.get(key) ?? 0) + 1);
      if ((atWork.get(key) ?? 0) > 1) overlaps.push(key);
      const { signal } = this;
      await new Promise<void>((resolve) => {
        clock.timer((end?.seconds ?? 0) * 1_000, resolve);
        signal.addEventListener("abort", () => resolve());
      });
      atWork.set(key, (atWork.get(key) ?? 0) - 1);
      if (end?.fails === true) throw new Error("by chance");
    }
  }
  return { Job, overlaps };
}

async function play(steps: readonly Step[], ends: readonly { readonly seconds: number; readonly fails: boolean }[]) {
  const [ids, wrong, workers]: [string[], string[], Worker[]] = [[], [], []];
  const { queue, source, engine, clock } = world({ engine: watched(ids, wrong), defaults: { attempts: 2, backoff: "1s" } });
  const { Job, overlaps } = jobTask(clock, ends);
  const some = (which: number): string => ids[which % Math.max(1, ids.length)] ?? "nobody";

  const perform = async (one: Step): Promise<unknown> => {
    switch (one.do) {
      case "enqueue":
        return queue.enqueue(Job, { key: one.key }, { uniqueKey: one.key, delay: one.delay });
      case "batch":
        return queue.enqueueMany(
          Job,
          one.keys.map((key) => ({ input: { key }, uniqueKey: key })),
        );
      case "cancel":
        return queue.cancel(some(one.which));
      case "replay":
        return queue.replay(some(one.which));
      case "pass":
        return clock.advance(one.seconds * 1_000);
      case "turn":
        return settle();
      case "stop": {
        const stopping = workers.shift()?.stop({ grace: one.grace });
        await clock.advance(one.grace * 1_000);
        return stopping;
      }
      case "work":
        return workers.push(await new Queue({ engine: source }).work([Job], { concurrency: one.concurrency }));
    }
  };
  /** Each live job with a key holds it, and nobody else does. */
  const check = async (): Promise<void> => {
    const records = [...new Set(ids)].map((id) => engine.get(id));
    const holders = KEYS.map((key) => engine.holder(key)); // in the same step
    const live = (await Promise.all(records)).filter((record) => record?.state === "pending" || record?.state === "running");
    for (const [at, key] of KEYS.entries()) {
      const found = live.filter((record) => record?.key === key).map((record) => record?.id);
      const held = await holders[at];
      if (found.length > 1 || found[0] !== held) wrong.push(`${key} is held by ${held}, and these are live: ${found.join(", ")}`);
    }
  };
  for (const one of steps) {
    await perform(one);
    await check();
  }
  await perform({ do: "work", concurrency: 3 });
  await clock.advance(60_000);
  const left = await Promise.all(KEYS.map((key) => engine.holder(key)));
  await Promise.all(workers.map((worker) => worker.stop()));
  return { wrong, overlaps, left };
}

test("whatever happens, no key has two live jobs or runs, calls hear the truth, and no key is stuck in the end", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), endings, async (steps, ends) => {
      expect(await play(steps, ends)).toEqual({ wrong: [], overlaps: [], left: [undefined, undefined, undefined] });
      resetConfiguration();
    }),
    { numRuns: 150 },
  );
});
