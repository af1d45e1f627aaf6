import { afterEach, describe, expect, test } from "vitest";
import { configure, idempotentBy, MemoryStore, resetConfiguration, shutdown, resume, Task, type Store } from "taskwright";
import type { JobRef } from "taskwright/queue";
import { z } from "zod";
import { deferred, PausePoint, taskOf, warningsOf } from "../support/builders.js";
import { charge, chargeTask, pausedTask, world } from "./world.js";

afterEach(resetConfiguration);

describe("a job", () => {
  test("is completed by a skip as by a success", async () => {
    const { queue, settle } = world();
    const Skips = taskOf((task) => task.skip("nothing to do"));
    await queue.work([Skips]);
    const job = await queue.enqueue(Skips);
    await settle();
    expect(await job.look()).toMatchObject({ state: "completed", attempts: 1, result: { status: "skipped", reason: "nothing to do" } });
  });

  test("is tried again after a failure while attempts are left, and is one result in the end", async () => {
    const { queue, clock } = world();
    const Charge = chargeTask((charged) => {
      if (charged.length < 3) throw new Error("declined");
    });
    await queue.work([Charge]);
    const job = await queue.enqueue(Charge, charge, { attempts: 3, backoff: { type: "exponential", delay: "1s" } });
    await clock.advance(0);
    expect(await job.look()).toMatchObject({ state: "pending", attempts: 1, result: { status: "failed", reason: "declined" } });
    await clock.advance(1_000);
    expect(Charge.charged).toHaveLength(2);
    await clock.advance(2_000);
    expect(await job.look()).toMatchObject({ state: "completed", attempts: 3, reason: undefined });
    expect(await job.result()).toMatchObject({ status: "success", output: { customerId: 42 } });
  });

  test("is tried once unless it says otherwise, and is then dead with the reason", async () => {
    const { queue, settle } = world();
    const Charge = chargeTask(() => Promise.reject(new Error("declined")));
    await queue.work([Charge]);
    const job = await queue.enqueue(Charge, charge);
    await settle();
    expect(await job.look()).toMatchObject({ state: "dead", attempts: 1, reason: "declined" });
    expect(await job.result()).toMatchObject({ status: "failed", reason: "declined" });
  });

  test("is dead at once when its failure is not to be retried, whatever attempts are left", async () => {
    const { queue, settle } = world();
    const Fails = taskOf((task) => task.fail("card stolen", { code: "stolen" }, { retryable: false }));
    await queue.work([Fails]);
    const job = await queue.enqueue(Fails, undefined, { attempts: 5 });
    await settle();
    expect(await job.look()).toMatchObject({ state: "dead", attempts: 1, reason: "card stolen" });
  });

  test("is dead at once when the task is wrong, or its input does not fit on the worker", async () => {
    const { queue, settle } = world();
    const Broken = chargeTask();
    const Charge = chargeTask();
    await queue.work([Broken]);
    const wrong = await queue.enqueue(Charge, { customerId: 1 } as typeof charge, { attempts: 5, checkInput: false });
    await settle();
    expect(await wrong.look()).toMatchObject({ state: "dead", attempts: 1, reason: expect.stringContaining("amountCents") });
    Object.defineProperty(Broken, "execute", { value: () => Promise.reject(new Error("no such column")) });
    const broken = await queue.enqueue(Charge, charge, { attempts: 5 });
    await settle();
    expect(await broken.look()).toMatchObject({ state: "dead", attempts: 1, reason: "no such column" });
    expect(Broken.charged).toEqual([]);
  });

  test("has failed when its attempt takes too long, and is tried again", async () => {
    const { queue, clock } = world();
    const reasons: unknown[] = [];
    class Slow extends Task.with() {
      async work(): Promise<string> {
        const { signal } = this;
        if (this.job?.attempt === 2) return "done";
        return new Promise(() => signal.addEventListener("abort", () => reasons.push(signal.reason)));
      }
    }
    await queue.work([Slow]);
    const job = await queue.enqueue(Slow, {}, { attempts: 2, timeout: "10s", backoff: 0 });
    await clock.advance(9_999);
    expect((await job.look())?.state).toBe("running");
    await clock.advance(1);
    expect(reasons).toMatchObject([{ name: "TimeoutError" }]);
    expect(await job.result()).toMatchObject({ status: "success", output: "done" });
  });

  test("waits for its delay", async () => {
    const { queue, clock } = world();
    const Charge = chargeTask();
    await queue.work([Charge]);
    await queue.enqueue(Charge, charge, { delay: "1m" });
    await clock.advance(59_999);
    expect(Charge.charged).toEqual([]);
    await clock.advance(1);
    expect(Charge.charged).toEqual([42]);
  });

  test("is not part of the run that happens to be around", async () => {
    const { queue, settle } = world();
    const depths: number[] = [];
    const Inner = taskOf(() => depths.push(1));
    Inner.telemetry.subscribe("task_started", ({ depth, parentId }) => depths.push(depth, parentId === undefined ? -1 : -2));
    const { queue: other } = world();
    const Outer = taskOf(async () => {
      await queue.work([Inner]);
      await other.close();
    });
    await queue.enqueue(Inner);
    await Outer.execute();
    await settle();
    expect(depths).toEqual([0, -1, 1]);
  });
});

describe("a task on a queue", () => {
  test("knows its job, whose id is the same in all attempts, and knows none elsewhere", async () => {
    const { queue, clock } = world();
    const jobs: (JobRef | undefined)[] = [];
    const Nested = taskOf((task) => jobs.push(task.job));
    class Sample extends Task.with() {
      async work(): Promise<void> {
        jobs.push(this.job);
        if (this.job?.attempt === 1) throw new Error("once more");
        await Nested.execute();
      }
    }
    await queue.work([Sample]);
    const { id } = await queue.enqueue(Sample, {}, { uniqueKey: "k", attempts: 2, backoff: 0 });
    await clock.advance(0);
    await Nested.execute();
    expect(jobs).toEqual([{ id, key: "k", attempt: 1 }, { id, key: "k", attempt: 2 }, undefined, undefined]);
  });

  test("tells how far it is, and speaks to nobody outside a job", async () => {
    const { queue, settle } = world();
    const pause = new PausePoint();
    const Long = taskOf(async (task) => {
      task.progress(10);
      task.progress(40);
      await pause.pass();
    });
    await queue.work([Long]);
    const job = await queue.enqueue(Long);
    await settle();
    expect((await job.look())?.progress).toBe(40);
    pause.resume();
    expect((await Long.execute()).status).toBe("success");
  });

  test.each([-1, 101, Number.NaN, "50" as unknown as number])("cannot be %s per cent done", async (percent) => {
    const Wrong = taskOf((task) => task.progress(percent));
    expect(await Wrong.execute()).toMatchObject({ status: "failed", reason: expect.stringContaining("from 0 to 100") });
  });
});

describe("a job that is cancelled", () => {
  test("while it is pending never runs", async () => {
    const { queue, settle } = world();
    const Charge = chargeTask();
    const job = await queue.enqueue(Charge, charge);
    expect(await job.cancel()).toBe("cancelled");
    expect(await queue.cancel(job.id)).toBe("finished");
    expect(await queue.cancel("nobody")).toBe("unknown");
    await queue.work([Charge]);
    await settle();
    expect(Charge.charged).toEqual([]);
  });

  test("while it runs is told by its signal, and is not tried again", async () => {
    const { queue, settle } = world();
    const { Paused, pause } = pausedTask();
    await queue.work([Paused]);
    const job = await queue.enqueue(Paused, charge, { attempts: 5 });
    await pause.reached;
    expect(await job.cancel()).toBe("requested");
    await settle();
    expect(await job.look()).toMatchObject({ state: "cancelled", attempts: 1 });
    expect(await job.result()).toMatchObject({ status: "failed", metadata: { code: "aborted" } });
  });
});

describe("a worker", () => {
  test("that stops lets its jobs end", async () => {
    const { queue, settle } = world();
    const { Paused, pause } = pausedTask();
    const worker = await queue.work([Paused]);
    const job = await queue.enqueue(Paused, charge);
    const next = await queue.enqueue(Paused, charge);
    await pause.reached;
    const stopped = worker.stop({ grace: "10s" });
    await settle();
    pause.resume();
    await stopped;
    expect((await job.look())?.state).toBe("completed");
    expect((await next.look())?.state).toBe("pending");
  });

  test("that may not wait longer hands its jobs back, and they cost no attempt", async () => {
    const { queue, clock, settle } = world();
    const { Paused, pause } = pausedTask();
    const worker = await queue.work([Paused]);
    const job = await queue.enqueue(Paused, charge);
    await pause.reached;
    const stopped = worker.stop({ grace: "10s" });
    await clock.advance(10_000);
    await stopped;
    expect(await job.look()).toMatchObject({ state: "pending", attempts: 0 });
    await queue.work([Paused]);
    pause.resume();
    await settle();
    expect(await job.look()).toMatchObject({ state: "completed", attempts: 1 });
  });

  test("hands back a job of a task that it was not told of, and another takes it", async () => {
    const { queue, clock } = world();
    const Charge = chargeTask();
    const Other = taskOf(() => undefined);
    await queue.work([Other]);
    const warnings = await warningsOf(async () => {
      await queue.enqueue(Charge, charge);
      await clock.advance(0);
    });
    expect(warnings.map(({ message }) => message)).toEqual([expect.stringContaining("a job of charge_customer, which it was not told of")]);
    await queue.work([Charge]);
    await clock.advance(2_000);
    expect(Charge.charged).toEqual([42]);
  });

  test("hands its job back while the process shuts down", async () => {
    const { queue, clock } = world();
    const Charge = idempotent();
    await queue.work([Charge]);
    await shutdown({ grace: 0 });
    const job = await queue.enqueue(Charge, { paymentId: "a" });
    await clock.advance(50);
    expect(await job.look()).toMatchObject({ state: "pending", attempts: 0 });
    resume();
    await clock.advance(1_000);
    expect((await job.look())?.state).toBe("completed");
  });
});

/** A task whose effect is protected by a key, with the number of its effects. */
function idempotent(work: () => unknown = () => undefined) {
  @idempotentBy("paymentId", { ttl: "10m", lease: "5m" })
  class Charge extends Task.with({ input: z.object({ paymentId: z.string() }) }) {
    static effects = 0;
    async work(): Promise<void> {
      await work();
      Charge.effects += 1;
    }
  }
  return Charge;
}

/** The store of a worker that dies: from then on nothing of it reaches the storage, which lives on. */
function mortal(store: Store): { readonly store: Store; die(): void } {
  let dead = false;
  const proxy = new Proxy(store, {
    get: (target, key) => {
      const value: unknown = Reflect.get(target, key);
      if (typeof value !== "function") return value;
      return (...args: unknown[]): unknown => (dead ? new Promise(() => undefined) : Reflect.apply(value, target, args));
    },
  });
  return { store: proxy, die: () => (dead = true) };
}

describe("a job of an idempotent task", () => {
  test("whose work was done before is completed as a duplicate", async () => {
    const { queue, settle } = world();
    const Charge = idempotent();
    await Charge.execute({ paymentId: "a" });
    await queue.work([Charge]);
    const job = await queue.enqueue(Charge, { paymentId: "a" });
    await settle();
    expect(await job.look()).toMatchObject({ state: "completed", result: { status: "skipped", metadata: { code: "duplicate" } } });
    expect(Charge.effects).toBe(1);
  });

  test("that is delivered twice has one effect", async () => {
    const { queue, clock, settle } = world();
    const Charge = idempotent();
    const worker = await queue.work([Charge], { concurrency: 2 });
    const jobs = await queue.enqueueMany(Charge, [{ input: { paymentId: "a" } }, { input: { paymentId: "a" } }]);
    await settle();
    await clock.advance(60_000);
    expect(Charge.effects).toBe(1);
    expect(await Promise.all(jobs.map(async (job) => (await job.look())?.state))).toEqual(["completed", "completed"]);
    await worker.stop();
  });

  test("is not completed as a duplicate of a run that is still at work, but waits for what comes of it", async () => {
    const { queue, clock } = world();
    const gate = deferred();
    const Charge = idempotent(() => gate.promise);
    const direct = Charge.execute({ paymentId: "a" });
    await queue.work([Charge]);
    const job = await queue.enqueue(Charge, { paymentId: "a" });
    await clock.advance(60_000);
    expect((await job.look())?.state).not.toBe("completed");
    expect(await job.look()).toMatchObject({ attempts: 0 });
    gate.resolve();
    await direct;
    await clock.advance(20_000);
    expect(await job.look()).toMatchObject({ state: "completed", attempts: 1, result: { status: "skipped" } });
    expect(Charge.effects).toBe(1);
  });

  test("does the work itself when the run that held the key has failed", async () => {
    const { queue, clock } = world();
    const gate = deferred();
    let first = true;
    const Charge = idempotent(async () => {
      if (!first) return;
      first = false;
      await gate.promise;
      throw new Error("declined");
    });
    const direct = Charge.execute({ paymentId: "a" });
    await queue.work([Charge]);
    const job = await queue.enqueue(Charge, { paymentId: "a" });
    await clock.advance(1_000);
    gate.resolve();
    await direct;
    await clock.advance(20_000);
    expect(await job.look()).toMatchObject({ state: "completed", result: { status: "success" } });
    expect(Charge.effects).toBe(1);
  });

  test("whose worker died with the claim in its hands is done once the claim has ended", async () => {
    const { queue, clock } = world();
    const storage = new MemoryStore({ clock });
    const first = mortal(storage);
    const pause = new PausePoint();
    const Charge = idempotent(() => (Charge.effects === 0 && !died ? pause.pass() : undefined));
    let died = false;
    configure((config) => {
      config.store = first.store;
    });
    const worker = await queue.work([Charge]);
    const job = await queue.enqueue(Charge, { paymentId: "a" }, { attempts: 2 });
    await pause.reached;
    // The worker goes away without a word; its claim stays in the store.
    died = true;
    first.die();
    configure((config) => {
      config.store = storage;
    });
    const stopped = worker.stop({ grace: 0 });
    await clock.advance(2_000);
    await stopped;
    await queue.work([Charge]);
    await clock.advance(60_000);
    expect((await job.look())?.state).not.toBe("completed");
    expect(Charge.effects).toBe(0);
    await clock.advance(300_000);
    expect(await job.look()).toMatchObject({ state: "completed", result: { status: "success" } });
    expect(Charge.effects).toBe(1);
  });
});
