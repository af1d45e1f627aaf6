import { afterEach, describe, expect, test } from "vitest";
import { idempotentBy, literal, lockWith, resume, shutdown, type LockOptions, type Task } from "taskwright";
import { inMemory } from "../idempotency/world.js";
import { deafTask, PausePoint, taskOf } from "../support/builders.js";
import { settle } from "../support/manual-clock.js";

const LOCK = "cmdx:lock:wallet:w1";

inMemory((world) => {
  afterEach(() => {
    resume();
  });

  function locked(work: (task: Task) => unknown, options: LockOptions = {}) {
    const Locked = taskOf(work);
    lockWith(literal("w1"), { scope: "wallet", ...options })(Locked);
    return Locked;
  }

  describe("shutdown()", () => {
    test("frees the lock and the slot of a run whose work does not listen, and names both", async () => {
      const pause = new PausePoint();
      const Pay = locked(() => pause.pass());
      idempotentBy(literal("pay_1"))(Pay);
      const run = Pay.execute();
      await pause.reached;
      const keys = shutdown({ grace: 1 });
      await world.pass(1_000);

      expect((await keys).toSorted()).toEqual(["cmdx:idem:Sample:pay_1", LOCK]);
      expect(await run).toMatchObject({ metadata: { code: "aborted" } });
      pause.resume();
      await settle();
      expect((await world.store.entries({ prefix: "" })).entries).toEqual([]);
    });

    test("answers a run that waits for a lock within a quarter of a second, whatever its wait", async () => {
      const pause = new PausePoint();
      const Pay = locked(() => pause.pass(), { wait: 600 });
      const holder = Pay.execute();
      await pause.reached;
      const waits = Pay.execute();
      await world.pass(5_000);
      const keys = shutdown({ grace: 10 });
      await world.pass(250);

      expect(await Promise.race([waits, settle()])).toMatchObject({ status: "failed", retryable: true, metadata: { code: "aborted" } });
      pause.resume();
      expect(await holder).toMatchObject({ status: "success" }); // within the grace
      expect(await keys).toEqual([]);
    });

    test("that comes between the lock and the slot keeps the work out, and leaves neither", async () => {
      let works = 0;
      const Pay = locked(() => (works += 1));
      idempotentBy(literal("pay_1"))(Pay);
      const slow = world.store.disturb("claim", "delay", { when: ({ key }) => key.startsWith("cmdx:idem:") });
      const run = Pay.execute();
      await slow.met;
      const keys = shutdown();
      slow.release();
      await world.pass(100);

      expect(await run).toMatchObject({ metadata: { code: "aborted" } });
      expect([await keys, works]).toEqual([[], 0]);
      expect((await world.store.entries({ prefix: "" })).entries).toEqual([]);
    });

    test("gives the runs inside a locked run their grace, too", async () => {
      const { Deaf, pause } = deafTask();
      const run = locked(async () => (await Deaf.execute()).status).execute();
      await pause.reached;
      const keys = shutdown({ grace: 5 });
      await world.pass(1_000);
      pause.resume();

      expect(await run).toMatchObject({ status: "success", output: "success" });
      expect(await keys).toEqual([]);
    });
  });

  test("after resume() the same lock can be taken again, while the work of before still goes on", async () => {
    const pauses = [new PausePoint(), new PausePoint()];
    let works = 0;
    const Pay = locked(() => pauses[works++]?.pass());
    const before = Pay.execute();
    await pauses[0]?.reached;
    const keys = shutdown({ grace: 1 });
    await world.pass(1_000);
    await keys;
    await before;
    resume();
    const after = Pay.execute();
    await pauses[1]?.reached;
    pauses[0]?.resume(); // the end of the first frees nothing of the second
    await settle();

    expect(await world.raw(LOCK)).toMatch(/^locked/);
    pauses[1]?.resume();
    expect(await after).toMatchObject({ status: "success" });
    expect(await world.raw(LOCK)).toBeUndefined();
  });
});
