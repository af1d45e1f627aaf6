import { describe, expect, test } from "vitest";
import { memoryEngine } from "../../src/queue/engines/memory/engine.js";
import type { Attempt, Ending, Engine, EngineJob, Handler, Verdict } from "../../src/queue/port.js";
import { deferred, useManualClock } from "../support/builders.js";
import { settle } from "../support/manual-clock.js";

let ids = 0;
function jobOf(job: Partial<Omit<EngineJob, "options">> & { options?: Partial<EngineJob["options"]> } = {}): EngineJob {
  const options = {
    delayMs: 0,
    priority: 0,
    attempts: 1,
    backoff: { type: "fixed", delayMs: 1_000 },
    keepMs: { completed: 60_000, dead: 60_000 },
    ...job.options,
  } as const;
  return { id: `job-${++ids}`, task: "Sample", payload: "{}", ...job, options };
}

/** A handler that answers as the function says, and what it was told. */
function handlerOf(run: (attempt: Attempt) => Verdict | Promise<Verdict>) {
  const told: Ending[] = [];
  const handler: Handler = {
    run: async (attempt) => run(attempt),
    became: (_, ending) => void told.push(ending),
    trouble: () => undefined,
  };
  return { handler, told };
}

const done: Verdict = { kind: "completed", answer: "done" };
const failed: Verdict = { kind: "failed", answer: "why", reason: "it broke", retry: true };

function open(): { engine: Engine; clock: ReturnType<typeof useManualClock> } {
  const clock = useManualClock();
  return { engine: memoryEngine()("test"), clock };
}

describe("the memory engine", () => {
  test("runs a job once a worker is there, and remembers how it ended", async () => {
    const { engine, clock } = open();
    const { handler, told } = handlerOf(() => done);
    const job = jobOf();
    await engine.enqueue([job]);
    expect(await engine.get(job.id)).toMatchObject({ state: "pending", attempts: 0 });
    await engine.work(handler, { concurrency: 1 });
    await settle();
    expect(await engine.get(job.id)).toMatchObject({ state: "completed", answer: "done", attempts: 1, endedAt: clock.epoch() });
    expect(told).toEqual([{ state: "completed" }]);
  });

  test("takes jobs by priority, and then in order of coming, as many at once as its workers allow", async () => {
    const { engine } = open();
    const taken: string[] = [];
    const gate = deferred();
    const { handler } = handlerOf(async ({ payload }) => {
      taken.push(payload);
      await gate.promise;
      return done;
    });
    await engine.enqueue([
      jobOf({ payload: "a" }),
      jobOf({ payload: "b" }),
      jobOf({ payload: "c", options: { priority: 5 } }),
      jobOf({ payload: "d", options: { priority: 5 } }),
      jobOf({ payload: "e" }),
    ]);
    await engine.work(handler, { concurrency: 1 });
    await engine.work(handler, { concurrency: 2 });
    await settle();
    expect(taken).toEqual(["c", "d", "a"]);
    gate.resolve();
    await settle();
    expect(taken).toEqual(["c", "d", "a", "b", "e"]);
  });

  test("tries again after the wait, twice as long each time, and lets the job die when its attempts are used up", async () => {
    const { engine, clock } = open();
    const attempts: number[] = [];
    const { handler, told } = handlerOf(({ attempt }) => {
      attempts.push(attempt);
      return failed;
    });
    const job = jobOf({ key: "k", options: { attempts: 3, backoff: { type: "exponential", delayMs: 1_000 } } });
    await engine.enqueue([job]);
    await engine.work(handler, { concurrency: 1 });
    await settle();
    expect(await engine.holder("k")).toBe(job.id);
    await clock.advance(1_000);
    expect(attempts).toEqual([1, 2]);
    await clock.advance(1_999);
    expect(attempts).toEqual([1, 2]);
    await clock.advance(1);
    expect(told).toEqual([
      { state: "pending", delayMs: 1_000 },
      { state: "pending", delayMs: 2_000 },
      { state: "dead", reason: "it broke" },
    ]);
    expect(await engine.holder("k")).toBeUndefined();
    expect((await engine.dead({ limit: 10, offset: 0 })).map(({ id }) => id)).toEqual([job.id]);
  });

  test("does not count what was handed back", async () => {
    const { engine, clock } = open();
    const attempts: number[] = [];
    const { handler, told } = handlerOf(({ attempt }) => {
      attempts.push(attempt);
      return attempts.length === 1 ? { kind: "handed_back", delayMs: 500 } : done;
    });
    const job = jobOf();
    await engine.enqueue([job]);
    await engine.work(handler, { concurrency: 1 });
    await clock.advance(500);
    expect(attempts).toEqual([1, 1]);
    expect(told).toEqual([{ state: "completed" }]);
  });

  test("leaves work that does not stop in time to another worker, and hears nothing more of it", async () => {
    const { engine, clock } = open();
    const deaf = deferred<Verdict>();
    const signals: unknown[] = [];
    const first = handlerOf(({ signal }) => {
      signal.addEventListener("abort", () => signals.push(signal.reason));
      return deaf.promise;
    });
    const job = jobOf({ key: "k" });
    await engine.enqueue([job]);
    const worker = await engine.work(first.handler, { concurrency: 1 });
    await settle();
    const stopped = worker.stop({ graceMs: 1_000 });
    await clock.advance(1_000);
    expect(signals).toEqual(["stopped"]);
    await clock.advance(1_000);
    await stopped;
    expect(await engine.get(job.id)).toMatchObject({ state: "pending", key: "k" });
    const second = handlerOf(() => done);
    await engine.work(second.handler, { concurrency: 1 });
    await settle();
    deaf.resolve(failed);
    await settle();
    expect(await engine.get(job.id)).toMatchObject({ state: "completed", attempts: 2 });
    expect(first.told).toEqual([]);
  });

  test("forgets jobs when their time is up, and leaves no timer behind", async () => {
    const { engine, clock } = open();
    const job = jobOf({ options: { keepMs: { completed: 1_000, dead: 1_000 } } });
    await engine.enqueue([job]);
    const worker = await engine.work(handlerOf(() => done).handler, { concurrency: 1 });
    await settle();
    await clock.advance(999);
    expect(await engine.get(job.id)).toBeDefined();
    await clock.advance(1);
    expect(await engine.get(job.id)).toBeUndefined();
    await worker.stop({ graceMs: 0 });
    await engine.close();
    expect(clock.pending).toBe(0);
  });

  test("enqueues at each tick of a schedule, and coalesces where the key is held", async () => {
    const { engine, clock } = open();
    const gates = [deferred(), deferred()];
    let runs = 0;
    const { handler } = handlerOf(async () => {
      await gates[runs++]?.promise;
      return done;
    });
    const { options } = jobOf();
    await engine.schedule({ name: "s", every: { intervalMs: 1_000 }, task: "Sample", payload: "{}", key: "k", options });
    await engine.work(handler, { concurrency: 5 });
    await clock.advance(3_000);
    expect(runs).toBe(1);
    gates[0]?.resolve();
    await clock.advance(1_000);
    expect(runs).toBe(2);
    expect(await engine.unschedule("s")).toBe(true);
    gates[1]?.resolve();
    await clock.advance(5_000);
    expect(runs).toBe(2);
  });

  test("ticks by the clock on the wall in the schedule's time zone", async () => {
    const { engine, clock } = open(); // 2030-01-01T00:00Z
    const at: string[] = [];
    const { handler } = handlerOf(() => {
      at.push(new Date(clock.epoch()).toISOString());
      return done;
    });
    const { options } = jobOf();
    const every = { cron: "30 9 * * *", timeZone: "Asia/Tokyo" };
    await engine.schedule({ name: "s", every, task: "Sample", payload: "{}", options });
    await engine.work(handler, { concurrency: 1 });
    await clock.advance(86_400_000);
    expect(at).toEqual(["2030-01-01T00:30:00.000Z"]);
  });
});
