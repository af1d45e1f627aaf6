import { setTimeout as pause } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";
import { resetConfiguration } from "taskwright";
import { inlineEngine, memoryEngine, Queue, type Handler, type Verdict } from "taskwright/queue";
import { PausePoint, rejectionOf, taskOf } from "../support/builders.js";
import { charge, chargeTask, through, world } from "./world.js";

afterEach(resetConfiguration);

/** A handler that never answers. */
const deaf: Handler = { became() {}, trouble() {}, run: () => new Promise<Verdict>(() => undefined) };

describe("a worker that nobody has", () => {
  test("takes no jobs: its queue was closed while it started", async () => {
    const { queue, source, settle } = world();
    const other = new Queue({ engine: source });
    const Charge = chargeTask();
    const starting = rejectionOf(queue.work([Charge]));
    await queue.close();
    expect(await starting).toMatchObject({ name: "QueueClosedError" });
    await other.enqueue(Charge, charge);
    await settle();
    expect(Charge.charged).toEqual([]);
  });

  test("takes no jobs: its start took too long", async () => {
    const late = through(memoryEngine(), () => async (method, perform) => {
      if (method === "work") await new Promise<void>((resolve) => place.clock.timer(2_000, resolve));
      return perform();
    });
    const place = world({ timeout: "1s", engine: late });
    const Charge = chargeTask();
    const starting = rejectionOf(place.queue.work([Charge]));
    await place.clock.advance(1_000);
    expect(await starting).toMatchObject({ name: "QueueUnavailableError" });
    await place.clock.advance(5_000);
    await place.queue.enqueue(Charge, charge);
    await place.clock.advance(100);
    expect(Charge.charged).toEqual([]);
  });
});

describe("an attempt whose worker stopped without its answer", () => {
  async function abandoned(attempts: number, cancels: boolean) {
    const place = world();
    const worker = await place.engine.work(deaf, { concurrency: 1 });
    const Charge = chargeTask(() => Promise.reject(new Error("declined")));
    const job = await place.queue.enqueue(Charge, charge, { uniqueKey: "k", attempts, backoff: 1 });
    await place.settle();
    const answer = cancels ? await job.cancel() : undefined;
    const stopped = worker.stop({ graceMs: 0 });
    await place.clock.advance(2_000);
    await stopped;
    await place.queue.work([Charge]);
    await place.clock.advance(10_000);
    return { ...place, Charge, answer, record: await job.look() };
  }

  test("is the last of a job that was cancelled meanwhile, whose key is free", async () => {
    const { Charge, answer, record, engine } = await abandoned(3, true);
    expect([answer, record?.state, Charge.charged]).toEqual(["requested", "cancelled", []]);
    expect(await engine.holder("k")).toBeUndefined();
  });

  test("is not counted against those that are allowed", async () => {
    const { Charge, record } = await abandoned(2, false);
    expect(Charge.charged).toHaveLength(2);
    expect(record).toMatchObject({ state: "dead", attempts: 3 });
  });
});

test("the inline engine runs an id once, also twice at once", async () => {
  const { queue } = world({ engine: inlineEngine() });
  const point = new PausePoint();
  const Charge = chargeTask(() => point.pass());
  const first = queue.enqueue(Charge, charge, { id: "a" });
  await point.reached;
  await queue.enqueue(Charge, charge, { id: "a" });
  point.resume();
  await first;
  expect(Charge.charged).toHaveLength(1);
});

test("an onError that throws is nobody's failure", async () => {
  const unhandled: unknown[] = [];
  const note = (error: unknown): void => void unhandled.push(error);
  process.on("unhandledRejection", note);
  const source = memoryEngine();
  const broken = through(source, (engine) => (method, perform, [handler]) => {
    if (method !== "work") return perform();
    const { run, ...rest } = bound(handler as Handler); // the first argument of `work`
    const lost = (): Promise<void> => Promise.reject(new Error("gone"));
    return engine.work({ ...rest, run: (attempt) => run({ ...attempt, progress: lost }) }, { concurrency: 1 });
  });
  const { queue, settle } = world({
    engine: broken,
    onError() {
      throw new Error("the logger is broken");
    },
  });
  const Sample = taskOf(async (task) => {
    task.progress(5);
    await pause(1);
    return "done";
  });
  await queue.work([Sample]);
  const job = await queue.enqueue(Sample);
  await expect.poll(async () => (await job.look())?.state).toBe("completed");
  await settle();
  process.off("unhandledRejection", note);
  expect(unhandled).toEqual([]);
});

function bound(handler: Handler): Handler {
  return {
    run: (attempt) => handler.run(attempt),
    became: (job, ending) => handler.became(job, ending),
    trouble: (error) => handler.trouble(error),
  };
}
