import { describe, expect, test } from "vitest";
import { configure, idempotentBy, literal, lockWith, MemoryStore, retryOn, Task, timeout, TimeoutError } from "taskwright";
import { ManualClock } from "taskwright/testing";
import { inMemory } from "../idempotency/world.js";
import { deafTask, PausePoint, recordEvents, taskOf } from "../support/builders.js";
import { settle } from "../support/manual-clock.js";

const LOCK = "cmdx:lock:wallet:w1";

/** A machine whose event loop can stand still: time passes, and no timer fires. */
class StuckClock extends ManualClock {
  stoodStillMs = 0;

  override now(): number {
    return super.now() + this.stoodStillMs;
  }
}

/** Work that stops when its signal aborts, with the signal's reason. */
function listening(task: Task): Promise<never> {
  return new Promise((_, reject) => task.signal.addEventListener("abort", () => reject(task.signal.reason as Error)));
}

inMemory((world) => {
  describe("the deadline", () => {
    test("and an answer that come in one millisecond: the deadline was set first, and wins", async () => {
      const Slow = taskOf(() => new Promise((resolve) => world.clock.timer(1_000, () => resolve("done"))));
      timeout(1)(Slow);
      const run = Slow.execute();
      await world.pass(1_000);

      expect(await run).toMatchObject({ status: "failed", metadata: { code: "timeout" }, durationMs: 1_000 });
    });

    test("is nothing to work that is done before anybody could notice, since the event loop stood still", async () => {
      const clock = new StuckClock();
      configure((config) => {
        config.clock = clock;
      });
      const pause = new PausePoint();
      const events = recordEvents("attempt_timed_out");
      const Slow = taskOf(() => pause.pass().then(() => "done"));
      timeout(1)(Slow);
      const run = Slow.execute();
      await pause.reached;
      clock.stoodStillMs = 3_000;
      pause.resume();

      expect(await run).toMatchObject({ status: "success", output: "done", durationMs: 3_000 });
      await clock.advance(5_000);
      expect(events).toEqual([]);
    });

    test("never begins for a run whose caller was gone before: no work, and no timer", async () => {
      let works = 0;
      const Slow = taskOf(() => (works += 1));
      timeout(1)(Slow);

      expect(await Slow.execute({}, { signal: AbortSignal.abort() })).toMatchObject({ metadata: { code: "aborted" } });
      expect([works, world.clock.pending]).toEqual([0, 0]);
    });

    test("bears promises of a hostile kind", async () => {
      const Twice = taskOf(() => ({
        // oxlint-disable-next-line unicorn/no-thenable -- that is what is tried
        then(resolve: (value: string) => void, reject: (error: Error) => void) {
          resolve("first word");
          reject(new Error("second word"));
          throw new Error("third word");
        },
      }));
      timeout(1)(Twice);

      expect(await Twice.execute()).toMatchObject({ status: "success", output: "first word" });
      expect(world.clock.pending).toBe(0);
    });

    test("still holds for work that has heard that its lock is lost, and goes on", async () => {
      const { Deaf, pause } = deafTask();
      timeout(60)(Deaf);
      lockWith(literal("w1"), { scope: "wallet", ttl: 30 })(Deaf);
      const run = Deaf.execute();
      await pause.reached;
      await world.put(LOCK, "locked owner=another", 600_000);
      await world.pass(60_000);

      expect(await run).toMatchObject({ status: "failed", metadata: { code: "timeout" }, durationMs: 60_000 });
      pause.resume();
      await settle();
      expect(await world.raw(LOCK)).toBe("locked owner=another");
    });

    test("is inherited through an abstract base, together with its lock", async () => {
      abstract class Base extends Task {}
      timeout(1)(Base);
      lockWith(() => "w1", { scope: "wallet" })(Base);
      class Pay extends Base.with() {
        async work(): Promise<never> {
          return listening(this);
        }
      }
      const events = recordEvents("lock_acquired", "attempt_timed_out", "lock_released");
      const run = Pay.execute();
      await world.pass(1_000);

      expect(await run).toMatchObject({ metadata: { code: "timeout" } });
      expect(events.map(({ name }) => name)).toEqual(["lock_acquired", "attempt_timed_out", "lock_released"]);
    });
  });

  describe("a signal", () => {
    test("that was kept from the first attempt stays aborted in the second, which has one of its own", async () => {
      let first: AbortSignal | undefined;
      const Slow = taskOf((task) => {
        if (task.attempt > 1) return [first?.aborted, first?.reason instanceof TimeoutError, task.signal === first, task.signal.aborted];
        first = task.signal;
        return listening(task);
      });
      timeout(1)(Slow);
      retryOn(TimeoutError, { limit: 1, delay: 0 })(Slow);
      const run = Slow.execute();
      await world.pass(1_000);

      expect(await run).toMatchObject({ status: "success", output: [true, true, false, false] });
    });

    test("that aborts since the lock was lost ends the run as aborted, whatever is retried", async () => {
      let works = 0;
      const Pay = taskOf((task) => {
        works += 1;
        return listening(task);
      });
      lockWith(literal("w1"), { scope: "wallet", ttl: 30 })(Pay);
      timeout(60)(Pay);
      retryOn(Error, { limit: 3, delay: 0 })(Pay);
      const run = Pay.execute();
      await settle();
      await world.put(LOCK, "locked owner=another", 600_000);
      await world.pass(11_000);

      expect(await run).toMatchObject({ status: "failed", metadata: { code: "aborted" }, retries: 0 });
      expect(works).toBe(1);
    });
  });

  describe("work that goes on beyond its deadline", () => {
    test("and the run is called off while it is waited for: the answer comes at once, the rollback after the work", async () => {
      const { Deaf, pause, told } = deafTask();
      timeout(1)(Deaf);
      retryOn(TimeoutError, { limit: 1, delay: 10 })(Deaf);
      const controller = new AbortController();
      const run = Deaf.execute({}, { signal: controller.signal });
      await world.pass(1_500);
      controller.abort();

      expect(await run).toMatchObject({ metadata: { code: "aborted" }, durationMs: 1_500 });
      expect([told, world.clock.pending]).toEqual([[], 0]);
      pause.resume();
      await settle();
      expect(told).toEqual(["work came to rest", "rollback"]);
    });

    test("and its lock is lost while it is waited for: no attempt follows, and the other's lock is left alone", async () => {
      const { Deaf, pause } = deafTask();
      timeout(1)(Deaf);
      lockWith(literal("w1"), { scope: "wallet", ttl: 3 })(Deaf);
      retryOn(TimeoutError, { limit: 3, delay: 60 })(Deaf);
      const run = Deaf.execute();
      await pause.reached;
      await world.pass(1_000);
      await world.put(LOCK, "locked owner=another", 600_000);
      await world.pass(2_000);

      expect(await run).toMatchObject({ metadata: { code: "aborted" }, retries: 0 });
      pause.resume();
      await settle();
      expect(await world.raw(LOCK)).toBe("locked owner=another");
    });

    test("is rolled back by a task, which a deadline does not call off", async () => {
      const Refund = taskOf(() => "refunded");
      const pause = new PausePoint();
      const refunds: string[] = [];
      class Charge extends Task.with() {
        work(): Promise<void> {
          return pause.pass();
        }
        override async rollback(): Promise<void> {
          refunds.push((await Refund.execute()).status);
        }
      }
      timeout(1)(Charge);
      const run = Charge.execute();
      await world.pass(1_000);
      await run;
      pause.resume();
      await settle();

      expect(refunds).toEqual(["success"]);
    });

    test("beside an attempt that succeeds: the slot is completed, the lock is kept until the first has come to rest", async () => {
      const pause = new PausePoint();
      const Pay = taskOf((task) => (task.attempt === 1 ? pause.pass() : "paid"));
      lockWith(literal("w1"), { scope: "wallet" })(Pay);
      idempotentBy(literal("pay_1"))(Pay);
      timeout(1)(Pay);
      retryOn(TimeoutError, { limit: 1, delay: 0, overlap: true })(Pay);
      const run = Pay.execute();
      await world.pass(1_000);

      expect(await run).toMatchObject({ status: "success", output: "paid" });
      expect(await world.raw("cmdx:idem:Sample:pay_1")).toBe("completed");
      expect(await world.raw(LOCK)).toMatch(/^locked/);
      pause.resume();
      await settle();
      expect(await world.raw(LOCK)).toBeUndefined();
    });

    test("in every attempt is waited for before anything is undone and freed, in this order", async () => {
      const pauses = [new PausePoint(), new PausePoint()];
      class Pay extends Task.with() {
        async work(): Promise<void> {
          await pauses[this.attempt - 1]?.pass();
        }
        override rollback(): void {}
      }
      lockWith(literal("w1"), { scope: "wallet" })(Pay);
      idempotentBy(literal("pay_1"))(Pay);
      timeout(1)(Pay);
      retryOn(TimeoutError, { limit: 1, delay: 0, overlap: true })(Pay);
      const events = recordEvents();
      const run = Pay.execute();
      await world.pass(2_000);
      await run;
      for (const pause of pauses) pause.resume();
      await settle();

      expect(events.map(({ name }) => name)).toEqual([
        "task_started",
        "lock_acquired",
        "idempotency_claimed",
        "attempt_timed_out",
        "retry_scheduled",
        "task_retried",
        "attempt_timed_out",
        "retries_exhausted",
        "task_executed",
        "task_rolled_back",
        "idempotency_released",
        "lock_released",
      ]);
    });
  });

  test("a timeout of a nested run whose work has come to rest is one for the retries of the run around it", async () => {
    let works = 0;
    const Inner = taskOf((task) => {
      works += 1;
      return works === 1 ? listening(task) : "quoted";
    });
    timeout(1)(Inner);
    const Outer = taskOf(async () => (await Inner.executeBang()).status);
    retryOn(TimeoutError, { limit: 1, delay: 0 })(Outer);
    const run = Outer.execute();
    await world.pass(1_000);

    expect(await run).toMatchObject({ status: "success", retries: 1, durationMs: 1_000 });
  });

  test("runs with every policy leave no listener on a signal that lives on, and no timer of their own", async () => {
    const { signal } = new AbortController();
    let listeners = 0;
    const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)];
    Object.assign(signal, {
      addEventListener: (...args: Parameters<typeof add>) => (add(...args), (listeners += 1)),
      removeEventListener: (...args: Parameters<typeof remove>) => (remove(...args), (listeners -= 1)),
    });
    const store = new MemoryStore({ clock: world.clock });
    configure((config) => {
      config.store = store;
    });
    let works = 0;
    const Pay = taskOf(async () => {
      works += 1;
      if (works % 3 === 0) throw new Error("connection reset");
    });
    lockWith(literal("w1"), { scope: "wallet" })(Pay);
    timeout(1)(Pay);
    retryOn(Error, { delay: 0 })(Pay);
    for (let run = 0; run < 100; run += 1) {
      const answer = Pay.execute({}, { signal });
      await world.pass(1);
      await answer;
    }

    expect(works).toBe(149);
    expect([listeners, store.size]).toEqual([0, 0]);
    expect(world.clock.pending).toBeLessThanOrEqual(2); // the timer that all leases share, and the store's sweep
  });
});
