import { describe, expect, test } from "vitest";
import { AbortedError, idempotentBy, retryOn, type Task } from "taskwright";
import { deferred, PausePoint, recordEvents, taskOf } from "../support/builders.js";
import { settle } from "../support/manual-clock.js";
import { chargeTask, INPUT, KEY, operations } from "./charge.js";
import { onEachStore, type World } from "./world.js";

const OPTIONS = { ttl: 600, lease: 30 } as const;

/** A run whose work listens to nothing, called off in the middle of it. */
async function calledOff(world: World, end: (task: Task) => unknown = () => "charged", options: object = OPTIONS) {
  const work = new PausePoint();
  const rollback = new PausePoint();
  const events = recordEvents(
    "idempotency_claimed",
    "idempotency_released",
    "idempotency_completed",
    "idempotency_lost",
    "task_rolled_back",
  );
  const controller = new AbortController();
  let entered = false;
  const { ChargeCustomer, seen } = chargeTask(options, {
    async work(task: Task) {
      if (entered) return "second";
      entered = true;
      await work.pass();
      return end(task);
    },
    rollback: () => rollback.pass(),
  });
  const run = ChargeCustomer.execute(INPUT, { signal: controller.signal });
  await work.reached;
  controller.abort(new Error("closing time"));
  const result = await run;
  await world.pass(0);
  return { result, work, rollback, events, ChargeCustomer, seen };
}

onEachStore((world) => {
  describe("a run that is called off during work that does not listen", () => {
    test("is answered at once, and its key stays held", async () => {
      const { result, work, rollback } = await calledOff(world);

      expect(result).toMatchObject({ status: "failed", error: expect.any(AbortedError), metadata: { code: "aborted" }, rolledBack: false });
      expect(await world.raw(KEY)).toMatch(/^processing owner=/);
      work.resume();
      rollback.resume();
    });

    test("makes the next caller a duplicate until the work has come to rest and was rolled back", async () => {
      const { work, rollback, ChargeCustomer, events, seen } = await calledOff(world);

      expect(await ChargeCustomer.execute(INPUT)).toMatchObject({ status: "skipped", metadata: { state: "processing" } });
      work.resume();
      await rollback.reached;
      expect(await ChargeCustomer.execute(INPUT)).toMatchObject({ status: "skipped", metadata: { state: "processing" } });
      rollback.resume();
      await world.pass(100);

      expect(await world.raw(KEY)).toBeUndefined();
      expect(events.map(({ name }) => name)).toEqual(["idempotency_claimed", "task_rolled_back", "idempotency_released"]);
      expect(seen).toEqual({ works: 1, rollbacks: 1 });
      expect(await ChargeCustomer.execute(INPUT)).toMatchObject({ status: "success", output: "second" });
    });

    test.each<[string, (task: Task) => unknown]>([
      ["fails in the end", () => Promise.reject(new Error("declined"))],
      ["halts in the end", (task) => task.fail("declined")],
      ["skips in the end", (task) => task.skip("nothing to do")],
    ])("frees its key also when that work %s", async (_name, end) => {
      const { work, rollback } = await calledOff(world, end);
      work.resume();
      rollback.resume();
      await world.pass(100);

      expect(await world.raw(KEY)).toBeUndefined();
    });

    test("goes on renewing its lease while that work goes on", async () => {
      const { work, rollback, events } = await calledOff(world);

      await world.pass(95_000);

      expect(operations(world.store.calls).filter((operation) => operation === "renew")).toHaveLength(9);
      expect(await world.raw(KEY)).toMatch(/^processing owner=/);
      expect(events.map(({ name }) => name)).toEqual(["idempotency_claimed"]);
      work.resume();
      rollback.resume();
    });

    test("gives its key up at maxHold, when that work never ends", async () => {
      const { ChargeCustomer, events } = await calledOff(world, undefined, { ttl: 600, lease: 30, maxHold: 60 });

      await world.pass(91_000);

      expect(events.map(({ name }) => name)).toEqual(["idempotency_claimed", "idempotency_lost"]);
      expect(await ChargeCustomer.execute(INPUT)).toHaveProperty("status", "success");
    });

    test("touches nothing of the next holder, when that work ends after its lease was lost", async () => {
      const { work, rollback, ChargeCustomer } = await calledOff(world, undefined, { ttl: 600, lease: 30, maxHold: 60 });
      await world.pass(91_000);
      await ChargeCustomer.execute(INPUT);
      expect(await world.raw(KEY)).toBe("completed");

      work.resume();
      rollback.resume();
      await world.pass(1_000);

      expect(await world.raw(KEY)).toBe("completed");
    });
  });

  test("work that listens ends the run, is rolled back, and the key is free when the run answers", async () => {
    const controller = new AbortController();
    const { ChargeCustomer, seen } = chargeTask(OPTIONS, {
      work: (task) =>
        new Promise((_resolve, reject) => {
          task.signal.addEventListener("abort", () => reject(task.signal.reason as Error));
          controller.abort(new Error("closing time"));
        }),
    });

    const result = await ChargeCustomer.execute(INPUT, { signal: controller.signal });
    await world.pass(100);

    expect(result).toMatchObject({ status: "failed", metadata: { code: "aborted" } });
    expect(seen).toEqual({ works: 1, rollbacks: 1 });
    expect(await world.raw(KEY)).toBeUndefined();
  });

  test("a run inside one that is called off keeps its own key until its own work has come to rest", async () => {
    const pause = new PausePoint();
    const controller = new AbortController();
    const { ChargeCustomer } = chargeTask(OPTIONS, { work: () => pause.pass() });
    const Order = taskOf(() => ChargeCustomer.execute(INPUT));
    const order = Order.execute({}, { signal: controller.signal });
    await pause.reached;
    controller.abort();

    expect(await order).toMatchObject({ status: "failed", metadata: { code: "aborted" } });
    expect(await world.raw(KEY)).toMatch(/^processing owner=/);
    pause.resume();
    await world.pass(100);
    expect(await world.raw(KEY)).toBeUndefined();
  });

  test("a run that is called off between two attempts frees its key at once", async () => {
    const controller = new AbortController();
    const { ChargeCustomer, seen } = chargeTask(OPTIONS, {
      work() {
        throw new TypeError("flaky");
      },
    });
    retryOn(TypeError, { delay: 10 })(ChargeCustomer);
    const run = ChargeCustomer.execute(INPUT, { signal: controller.signal });
    await world.pass(1_000);
    controller.abort();

    expect(await run).toMatchObject({ status: "failed", metadata: { code: "aborted" }, rolledBack: true });
    expect(await world.raw(KEY)).toBeUndefined();
    expect(seen.works).toBe(1);
  });

  test("a run whose signal was aborted before it began runs no work and leaves no key behind", async () => {
    const { ChargeCustomer, seen } = chargeTask(OPTIONS);

    const result = await ChargeCustomer.execute(INPUT, { signal: AbortSignal.abort(new Error("closing time")) });

    expect(result).toMatchObject({ status: "failed", metadata: { code: "aborted" }, rolledBack: false });
    expect(seen).toEqual({ works: 0, rollbacks: 0 });
    expect(await world.raw(KEY)).toBeUndefined();
    expect(world.store.calls).toEqual([]); // nobody was made a duplicate of a run that would not run
  });

  test("a run that is called off while its resolver thinks claims nothing for longer than it takes to give it back", async () => {
    const controller = new AbortController();
    const thinking = deferred<string>();
    const { ChargeCustomer, seen } = chargeTask(OPTIONS);
    idempotentBy(() => thinking.promise)(ChargeCustomer);
    const run = ChargeCustomer.execute(INPUT, { signal: controller.signal });
    await settle();
    controller.abort();
    thinking.resolve("pay_123");

    expect(await run).toMatchObject({ status: "failed", metadata: { code: "aborted" } });
    expect(seen.works).toBe(0);
    expect(await world.raw(KEY)).toBeUndefined();
  });

  test("a duplicate that is called off is a duplicate all the same, or aborted, but never runs", async () => {
    await world.put(KEY, "completed", 60_000);
    const { ChargeCustomer, seen } = chargeTask(OPTIONS);

    const result = await ChargeCustomer.execute(INPUT, { signal: AbortSignal.abort() });

    expect(["duplicate", "aborted"]).toContain(result.metadata.code);
    expect(seen.works).toBe(0);
    expect(await world.raw(KEY)).toBe("completed");
  });
});
