import { describe, expect, test } from "vitest";
import { configure, idempotentBy, literal, lockWith, MemoryStore, settings, Task, timeout, type LockOptions, type Store } from "taskwright";
import { z } from "zod";
import { inMemory } from "../idempotency/world.js";
import { deafTask, PausePoint, recordEvents, swallow, taskOf } from "../support/builders.js";
import { settle } from "../support/manual-clock.js";

const KEY = "cmdx:lock:wallet:w1";

inMemory((world) => {
  /** A task under the lock of this one wallet. */
  function locked(work: (task: Task) => unknown, options: LockOptions = {}) {
    const Locked = taskOf(work);
    lockWith(literal("w1"), { scope: "wallet", ...options })(Locked);
    return Locked;
  }

  /** A store that answers to claims as it likes. */
  function answeringClaims(set: () => unknown): Store {
    const memory = new MemoryStore({ clock: world.clock });
    return {
      get: (key) => memory.get(key),
      set: set as Store["set"], // wrong on purpose
      delete: (key, options) => memory.delete(key, options),
      renew: (key, options) => memory.renew(key, options),
      entries: (options) => memory.entries(options),
    };
  }

  describe("runs that wait for each other", () => {
    test("by the locks of two wallets both have their answer, and leave no lock", async () => {
      class Debit extends Task.with({ input: z.object({ wallet: z.string() }) }) {
        work(): void {}
      }
      lockWith("wallet", { scope: "wallet", wait: 5 })(Debit);
      class Transfer extends Task.with({ input: z.object({ from: z.string(), to: z.string() }) }) {
        async work(): Promise<void> {
          await settle(); // the other has its first lock by then
          await Debit.executeBang({ wallet: this.input.to });
        }
      }
      lockWith("from", { scope: "wallet" })(Transfer);
      const both = [Transfer.execute({ from: "a", to: "b" }), Transfer.execute({ from: "b", to: "a" })];
      await world.pass(10_000);

      // Whose wait is over first fails, and frees the lock that the other has waited for.
      expect((await Promise.all(both)).map(({ status, metadata }) => metadata.code ?? status).toSorted()).toEqual(["locked", "success"]);
      expect((await world.store.entries({ prefix: "" })).entries).toEqual([]);
    });

    test("the one for a slot with a lock in its hands, the other for that lock: waitFor ends it", async () => {
      const Inner = locked(() => "done", { wait: 10 });
      class Pay extends Task.with({ input: z.object({ wallet: z.string().optional() }), output: z.object({ paid: z.boolean() }) }) {
        async work(): Promise<{ paid: boolean }> {
          await settle();
          await Inner.executeBang();
          return { paid: true };
        }
      }
      lockWith("wallet", { scope: "wallet" })(Pay);
      idempotentBy(literal("pay_1"), { onDuplicate: "replay", waitFor: 5 })(Pay);
      const first = Pay.execute({}); // has the slot, and wants the lock
      const second = Pay.execute({ wallet: "w1" }); // has the lock, and wants the slot
      await world.pass(20_000);

      expect(await first).toMatchObject({ status: "success", output: { paid: true } });
      expect(await second).toMatchObject({ status: "failed", metadata: { code: "duplicate", state: "processing" }, durationMs: 5_000 });
    });

    test("as a rollback does for the lock of its own run: it is told at once", async () => {
      const Undo = locked(() => "undone", { wait: 600 });
      const codes: unknown[] = [];
      class Charge extends Task.with() {
        work(): void {
          throw new Error("declined");
        }
        override async rollback(): Promise<void> {
          codes.push((await Undo.execute()).metadata.code);
        }
      }
      lockWith(literal("w1"), { scope: "wallet" })(Charge);

      expect(await Charge.execute()).toMatchObject({ status: "failed", durationMs: 0 });
      expect(codes).toEqual(["locked"]);
    });
  });

  describe("a lock inside an attempt that times out", () => {
    test("is held until its own work has come to rest; then the next who waits gets in", async () => {
      const { Deaf, pause } = deafTask();
      lockWith(literal("w1"), { scope: "wallet", wait: 60 })(Deaf);
      const Outer = taskOf(() => Deaf.execute());
      timeout(1)(Outer);
      const run = Outer.execute();
      await world.pass(1_000);
      expect(await run).toMatchObject({ metadata: { code: "timeout" } });
      const next = Deaf.execute();
      await world.pass(5_000);
      expect(await world.raw(KEY)).toMatch(/^locked/);
      pause.resume();

      expect(await next).toMatchObject({ status: "success", durationMs: 5_000 });
      expect(await world.raw(KEY)).toBeUndefined();
    });

    test("is waited for no longer than the attempt lasts, and no timer is left", async () => {
      await world.put(KEY, "locked owner=another", 600_000);
      const Inner = locked(() => "done", { wait: 600 });
      const codes: unknown[] = [];
      const Outer = taskOf(async () => codes.push((await Inner.execute()).metadata.code));
      timeout(1)(Outer);
      const timers = world.clock.pending;
      const run = Outer.execute();
      await world.pass(1_000);

      expect(await run).toMatchObject({ metadata: { code: "timeout" } });
      expect(codes).toEqual(["aborted"]);
      expect(world.clock.pending).toBeLessThanOrEqual(timers + 1); // the one that all leases and time limits share
    });
  });

  describe("times", () => {
    test("a wait of two months asks as seldom as any other, and ends when it is called off", async () => {
      await world.put(KEY, "locked owner=another", 90 * 86_400_000);
      const controller = new AbortController();
      const run = locked(() => "done", { wait: "60d" }).execute({}, { signal: controller.signal });
      await world.pass(5_000);
      expect(world.store.calls.length).toBeLessThan(45);
      controller.abort();

      expect(await run).toMatchObject({ metadata: { code: "aborted" } });
    });

    test("a ttl of one millisecond locks, and lets go", async () => {
      expect(await locked(() => "done", { ttl: "1ms" }).execute()).toMatchObject({ status: "success" });
      expect(await world.raw(KEY)).toBeUndefined();
    });

    test("the wall clock may jump by days: nothing is lost, nobody gets in", async () => {
      const pause = new PausePoint();
      const Pay = locked(() => pause.pass(), { wait: 5 });
      timeout(600)(Pay);
      const events = recordEvents("lock_lost", "attempt_timed_out");
      const run = Pay.execute();
      await pause.reached;
      world.clock.jump(-86_400_000);
      await world.pass(60_000);
      world.clock.jump(2 * 86_400_000);
      const second = Pay.execute();
      await world.pass(5_000);

      expect(await second).toMatchObject({ metadata: { code: "locked" }, durationMs: 5_000 });
      pause.resume();
      expect(await run).toMatchObject({ status: "success" });
      expect(events).toEqual([]);
    });
  });

  describe("many who wait", () => {
    test("follow each other without a pause, also when each of them fails", async () => {
      const pause = new PausePoint();
      let works = 0;
      const Pay = locked(
        async () => {
          works += 1;
          if (works === 1) await pause.pass();
          throw new Error("declined");
        },
        { wait: 60 },
      );
      const runs = Array.from({ length: 10 }, () => Pay.execute());
      await pause.reached;
      await settle();
      pause.resume();

      expect((await Promise.all(runs)).map(({ durationMs }) => durationMs)).toEqual(Array.from({ length: 10 }, () => 0));
      expect(works).toBe(10);
    });

    test("for one payment, with a slot behind the lock, all get the first one's output", async () => {
      const pause = new PausePoint();
      let works = 0;
      class Pay extends Task.with({ output: z.object({ charge: z.number() }) }) {
        async work(): Promise<{ charge: number }> {
          works += 1;
          await pause.pass();
          return { charge: works };
        }
      }
      lockWith(literal("w1"), { scope: "wallet", wait: 60 })(Pay);
      idempotentBy(literal("pay_1"), { onDuplicate: "replay" })(Pay);
      const runs = [Pay.execute(), Pay.execute(), Pay.execute()];
      await pause.reached;
      await world.pass(10_000);
      pause.resume();

      expect((await Promise.all(runs)).map((result) => result.status === "success" && [result.output.charge, result.replayed])).toEqual([
        [1, false],
        [1, true],
        [1, true],
      ]);
    });

    test("a run that waits in vain is told once, and says who holds the lock", async () => {
      await world.put(KEY, "locked owner=another", 600_000);
      const events = recordEvents();
      const run = locked(() => "done", { wait: 2 }).execute();
      await world.pass(2_000);

      expect(await run).toMatchObject({ metadata: { code: "locked", heldBy: "another" }, durationMs: 2_000 });
      expect(events.map(({ name }) => name)).toEqual(["task_started", "lock_refused", "task_executed"]);
    });
  });

  describe("answers of the store", () => {
    test.each<[string, () => unknown]>([
      ["nothing", () => undefined],
      ["null", () => Promise.resolve(null)],
      ["an empty object", () => Promise.resolve({})],
      [
        "by throwing",
        () => {
          throw new Error("not connected");
        },
      ],
    ])("to a claim that come as %s grant nothing: the work does not run", async (_name, set) => {
      configure((config) => {
        config.store = answeringClaims(set);
      });
      let works = 0;
      const run = locked(() => (works += 1)).execute();
      await world.pass(1_000);

      expect(await run).toMatchObject({ status: "failed", metadata: { code: "store_unavailable" } });
      expect(works).toBe(0);
    });

    test("that come after a repeated claim was granted are an echo: the lock stays", async () => {
      const pause = new PausePoint();
      const late = world.store.disturb("claim", "delay-answer");
      const run = locked(() => pause.pass()).execute();
      await world.pass(5_100);
      await pause.reached;
      late.release();
      await settle();

      expect(await world.raw(KEY)).toMatch(/^locked/);
      pause.resume();
      expect(await run).toMatchObject({ status: "success" });
      expect(await world.raw(KEY)).toBeUndefined();
    });

    test.each(["delay", "delay-answer"] as const)(
      "to a run that was called off meanwhile (%s) leave no lock, and its work is not entered",
      async (fault) => {
        const controller = new AbortController();
        let works = 0;
        const late = world.store.disturb("claim", fault);
        const run = locked(() => (works += 1)).execute({}, { signal: controller.signal });
        await late.met;
        controller.abort();
        late.release();

        expect(await run).toMatchObject({ metadata: { code: "aborted" } });
        await settle();
        expect(await world.raw(KEY)).toBeUndefined();
        expect(works).toBe(0);
      },
    );

    test("to the release are waited for, so that who has the answer finds the lock free", async () => {
      const slow = world.store.disturb("delete", "delay");
      let answered = false;
      const run = locked(() => "done")
        .execute()
        .finally(() => (answered = true));
      await slow.met;
      await settle();
      expect(answered).toBe(false);
      slow.release();

      expect(await run).toMatchObject({ status: "success" });
      expect(await world.raw(KEY)).toBeUndefined();
    });

    test("to the release that never come hold the answer up for storeTimeout, and no longer", async () => {
      world.store.disturb("delete", "never-answer");
      const run = locked(() => "done").execute();
      await world.pass(5_000);

      expect(await run).toMatchObject({ status: "success", durationMs: 5_000 });
    });

    test("to the release that are lost: nobody is woken, and who waits finds out by asking", async () => {
      const pause = new PausePoint();
      const events = recordEvents("lock_store_error", "lock_lost");
      const Pay = locked(() => pause.pass(), { wait: 60 });
      const first = Pay.execute();
      await pause.reached;
      const second = Pay.execute();
      await settle();
      world.store.disturb("delete", "fail-after");
      pause.resume();
      await first;
      await world.pass(250);

      expect(await second).toMatchObject({ status: "success" });
      expect(events).toMatchObject([{ name: "lock_store_error", payload: { operation: "release" } }]);
    });
  });

  test("a halt that a resolver swallows decides, and nothing is asked of the store", async () => {
    let works = 0;
    const Pay = taskOf(() => (works += 1));
    lockWith((task: Task) => {
      swallow(() => task.fail("declined"));
      return "w1";
    })(Pay);

    expect(await Pay.execute()).toMatchObject({ status: "failed", reason: "declined" });
    expect([works, world.store.calls.length]).toEqual([0, 0]);
  });

  test("a class with a store of its own keeps its locks there", async () => {
    const own = new MemoryStore({ clock: world.clock });
    const pause = new PausePoint();
    const Pay = locked(() => pause.pass());
    settings({ store: own })(Pay);
    const run = Pay.execute();
    await pause.reached;

    expect((await own.get(KEY))?.value).toBe("locked");
    expect(await world.raw(KEY)).toBeUndefined();
    pause.resume();
    await run;
    expect(own.size).toBe(0);
  });
});
