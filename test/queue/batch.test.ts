import { afterEach, describe, expect, test } from "vitest";
import { resetConfiguration } from "taskwright";
import { memoryEngine, queued, type EngineSource } from "taskwright/queue";
import { mistakeIn, rejectionOf } from "../support/builders.js";
import { charge, chargeTask, through, world } from "./world.js";

afterEach(resetConfiguration);

/** A memory engine that notes how many jobs it is asked to enqueue at once. */
function counting(): { readonly engine: EngineSource; readonly calls: number[] } {
  const calls: number[] = [];
  const engine = through(memoryEngine(), () => (method, perform, [jobs]) => {
    if (method === "enqueue" && Array.isArray(jobs)) calls.push(jobs.length);
    return perform();
  });
  return { engine, calls };
}

const fifty = Array.from({ length: 50 }, () => ({ input: charge }));

describe("many jobs at once", () => {
  test("answer in their order: what is held, what comes twice, and what has no key", async () => {
    const { queue, engine } = world();
    const Charge = chargeTask();
    const active = await queue.enqueue(Charge, charge, { uniqueKey: "k1" });
    const jobs = await queue.enqueueMany(Charge, [
      { input: charge, uniqueKey: "k1" },
      { input: charge },
      { input: charge, uniqueKey: "k2" },
      { input: { ...charge, amountCents: 7 }, idempotencyKey: "k2" },
      { input: charge },
    ]);
    const ids = jobs.map(({ id }) => id);

    expect(ids).toHaveLength(5);
    expect(new Set(ids).size).toBe(4);
    expect(ids[0]).toBe(active.id);
    expect(ids[2]).toBe(ids[3]);
    expect(jobs.map(({ coalesced }) => coalesced)).toEqual([true, false, false, true, false]);
    expect((await engine.get(ids[2] ?? ""))?.payload).toContain("1000");
  });

  test("are one call of the engine, with keys and without", async () => {
    const { engine, calls } = counting();
    const { queue } = world({ engine });
    const Charge = chargeTask();
    await queue.enqueueMany(Charge, fifty);
    await queue.enqueueMany(Charge, [{ input: charge }, { input: charge, uniqueKey: "k" }]);
    expect(calls).toEqual([50, 2]);
  });

  test("without a key are each a job", async () => {
    const { queue } = world();
    const jobs = await queue.enqueueMany(chargeTask(), fifty);
    expect(new Set(jobs.map(({ id }) => id)).size).toBe(50);
  });

  test("derive their keys as the task says, and each entry may say otherwise", async () => {
    const { queue } = world();
    const Charge = chargeTask();
    queued({ idempotent: true })(Charge);
    const jobs = await queue.enqueueMany(Charge, [
      { input: charge },
      { input: charge },
      { input: charge, idempotent: false },
      { input: charge, uniqueKey: "k" },
    ]);
    expect(jobs.map(({ coalesced }) => coalesced)).toEqual([false, true, false, false]);
    expect(jobs[1]?.id).toBe(jobs[0]?.id);
  });

  test("of one entry are as a single call", async () => {
    const { queue } = world();
    const Charge = chargeTask();
    const single = await queue.enqueue(Charge, charge, { uniqueKey: "k" });
    const [many] = await queue.enqueueMany(Charge, [{ input: charge, uniqueKey: "k" }]);
    expect(many).toMatchObject({ id: single.id, coalesced: true });
  });

  test("of no entry are no call", async () => {
    const { engine, calls } = counting();
    const { queue } = world({ engine });
    expect(await queue.enqueueMany(chargeTask(), [])).toEqual([]);
    expect(calls).toEqual([]);
  });

  test("are not enqueued at all when one is wrong", async () => {
    const { engine, calls } = counting();
    const { queue } = world({ engine });
    const wrong = { input: { customerId: 1 } as typeof charge };
    expect(await rejectionOf(queue.enqueueMany(chargeTask(), [{ input: charge }, wrong]))).toMatchObject({ code: "invalid_input" });
    const misspelt = [{ input: charge, uniquekey: "k" }];
    expect(mistakeIn(await rejectionOf(queue.enqueueMany(chargeTask(), misspelt)))).toContain('entry 0 has no option "uniquekey"');
    expect(calls).toEqual([]);
  });
});
