import { afterEach, describe, expect, test } from "vitest";
import { DefinitionError, idempotentBy, literal, resume, ShutdownError, shutdown, Task } from "taskwright";
import { ofName, PausePoint, recordEvents } from "../support/builders.js";
import { chargeTask, INPUT, KEY, operations, type ChargeTask } from "./charge.js";
import { onEachStore } from "./world.js";

const OPTIONS = { ttl: 600, lease: 30 } as const;

/** Work that ends as soon as its signal aborts. */
function listening(task: ChargeTask): Promise<unknown> {
  return new Promise((_resolve, reject) => {
    task.signal.addEventListener("abort", () => reject(task.signal.reason as Error));
  });
}

onEachStore((world) => {
  const ends: (() => void)[] = [];

  afterEach(async () => {
    for (const end of ends.splice(0)) end();
    await world.pass(100);
    resume();
  });

  /** Work that listens to nothing, until the test is over. */
  function deaf(): { pause: PausePoint; work: () => Promise<string> } {
    const pause = new PausePoint();
    ends.push(() => pause.resume());
    return { pause, work: () => pause.pass().then(() => "charged") };
  }

  describe("shutdown()", () => {
    test("with nothing held answers at once, with no keys", async () => {
      expect(await shutdown()).toEqual([]);
    });

    test("calls off work that listens: it is rolled back, its key is free, and it need not be named", async () => {
      const reasons: unknown[] = [];
      const { ChargeCustomer, seen } = chargeTask(OPTIONS, {
        work: (task) => listening(task).finally(() => reasons.push(task.signal.reason)),
      });
      const run = ChargeCustomer.execute(INPUT);
      await world.pass(10);

      const keys = shutdown();
      await world.pass(100);

      expect(await keys).toEqual([]);
      expect(await run).toMatchObject({ status: "failed", retryable: true });
      expect(reasons).toEqual([expect.any(ShutdownError)]);
      expect(seen).toEqual({ works: 1, rollbacks: 1 });
      expect(await world.raw(KEY)).toBeUndefined();
    });

    test.each(["with", "without"] as const)(
      "frees the key of work that does not listen, called %s a signal, after the grace period, and names it",
      async (signal) => {
        const { pause, work } = deaf();
        const events = recordEvents("idempotency_released", "idempotency_lost");
        const { ChargeCustomer } = chargeTask(OPTIONS, { work });
        const run =
          signal === "with" ? ChargeCustomer.execute(INPUT, { signal: new AbortController().signal }) : ChargeCustomer.execute(INPUT);
        await pause.reached;

        const keys = shutdown({ grace: 2 });
        await world.pass(1_500);
        expect(await world.raw(KEY)).toMatch(/^processing owner=/);
        await world.pass(1_000);

        expect(await keys).toEqual([KEY]);
        expect(await world.raw(KEY)).toBeUndefined();
        expect(ofName(events, "idempotency_released").map(({ payload }) => payload)).toEqual([{ idempotencyKey: KEY, reason: "shutdown" }]);
        pause.resume();
        await run;
      },
    );

    test.each(["with", "without"] as const)(
      "answers the caller of work that does not listen, called %s a signal, when its key is freed at the latest",
      async (signal) => {
        const { pause, work } = deaf();
        const { ChargeCustomer } = chargeTask(OPTIONS, { work });
        const run =
          signal === "with" ? ChargeCustomer.execute(INPUT, { signal: new AbortController().signal }) : ChargeCustomer.execute(INPUT);
        await pause.reached;

        const keys = shutdown({ grace: 1 });
        await world.pass(1_500);
        await keys;
        const answer = await Promise.race([run, world.pass(100).then(() => "no answer")]);

        expect(answer).toMatchObject({ status: "failed", metadata: { code: "aborted" } });
      },
    );

    test.each(["with", "without"] as const)(
      "lets work that ends well within the grace period, called %s a signal, end the same way",
      async (signal) => {
        const { pause, work } = deaf();
        const { ChargeCustomer, seen } = chargeTask(OPTIONS, { work });
        const run =
          signal === "with" ? ChargeCustomer.execute(INPUT, { signal: new AbortController().signal }) : ChargeCustomer.execute(INPUT);
        await pause.reached;

        const keys = shutdown({ grace: 5 });
        await world.pass(1_000);
        pause.resume();
        await world.pass(100);

        // The charge was made. It is remembered, and not refunded, whoever called it.
        expect(await keys).toEqual([]);
        expect(await run).toMatchObject({ status: "success", output: "charged", metadata: {} });
        expect(seen).toEqual({ works: 1, rollbacks: 0 });
        expect(await world.raw(KEY)).toBe("completed");
      },
    );

    test("lets running work keep its key for as long as the grace lasts, and renews nothing after it", async () => {
      const { pause, work } = deaf();
      const { ChargeCustomer } = chargeTask(OPTIONS, { work });
      void ChargeCustomer.execute(INPUT);
      await pause.reached;

      const keys = shutdown({ grace: 25 });
      await world.pass(20_000);

      expect(await world.raw(KEY)).toMatch(/^processing owner=/);
      await world.pass(6_000);
      expect(await keys).toEqual([KEY]);
      const renewals = operations(world.store.calls).filter((operation) => operation === "renew").length;
      await world.pass(60_000);
      expect(operations(world.store.calls).filter((operation) => operation === "renew")).toHaveLength(renewals);
    });

    test("without a grace period frees at once", async () => {
      const { pause, work } = deaf();
      const { ChargeCustomer } = chargeTask(OPTIONS, { work });
      void ChargeCustomer.execute(INPUT);
      await pause.reached;

      expect(await shutdown({ grace: 0 })).toEqual([KEY]);
      expect(await world.raw(KEY)).toBeUndefined();
    });

    test("frees as owner: a key that somebody else holds by now stays theirs", async () => {
      const { pause, work } = deaf();
      const { ChargeCustomer } = chargeTask(OPTIONS, { work });
      void ChargeCustomer.execute(INPUT);
      await pause.reached;
      await world.put(KEY, "processing owner=somebody-else", 60_000);

      await shutdown({ grace: 0 });

      expect(await world.raw(KEY)).toBe("processing owner=somebody-else");
    });

    test("frees the keys of many runs of several tasks", async () => {
      const { work, pause } = deaf();
      const one = chargeTask(OPTIONS, { work });
      const runs = ["a", "b", "c"].map((paymentId) => one.ChargeCustomer.execute({ paymentId }));
      await pause.reached;
      await world.pass(10);

      const keys = await shutdown({ grace: 0 });

      expect(keys.toSorted()).toEqual(["a", "b", "c"].map((id) => `cmdx:idem:ChargeCustomer:${id}`));
      pause.resume();
      await Promise.all(runs);
    });

    test("ends in time though the store answers nothing any more", async () => {
      const { pause, work } = deaf();
      const { ChargeCustomer } = chargeTask(OPTIONS, { work });
      void ChargeCustomer.execute(INPUT);
      await pause.reached;
      world.store.disturb("delete", "never-answer", { times: Infinity });

      const keys = shutdown({ grace: 1 });
      await world.pass(7_000);

      expect(await keys).toEqual([KEY]);
    });

    test("twice at once, on SIGTERM and SIGINT say, frees once and tells no loss", async () => {
      const { pause, work } = deaf();
      const events = recordEvents("idempotency_released", "idempotency_lost");
      const { ChargeCustomer } = chargeTask(OPTIONS, { work });
      void ChargeCustomer.execute(INPUT);
      await pause.reached;

      const both = Promise.all([shutdown({ grace: 1 }), shutdown({ grace: 1 })]);
      await world.pass(2_000);
      await both;

      expect(events.map(({ name }) => name)).toEqual(["idempotency_released"]);
    });

    test("is over before its second caller's longer grace, once all is at rest", async () => {
      const { pause, work } = deaf();
      const { ChargeCustomer } = chargeTask(OPTIONS, { work });
      void ChargeCustomer.execute(INPUT, { signal: new AbortController().signal });
      await pause.reached;
      let over = 0;
      void shutdown({ grace: 60 }).then(() => (over += 1));
      void shutdown({ grace: 60 }).then(() => (over += 1));
      await world.pass(100);
      pause.resume();
      await world.pass(1_000);

      expect(over).toBe(2);
    });

    test("tells no loss afterwards of a key that it has freed itself", async () => {
      const { pause, work } = deaf();
      const events = recordEvents("idempotency_released", "idempotency_lost");
      const { ChargeCustomer } = chargeTask(OPTIONS, { work });
      const run = ChargeCustomer.execute(INPUT, { signal: new AbortController().signal });
      await pause.reached;
      await shutdown({ grace: 0 });
      pause.resume();
      await run;
      await world.pass(1_000);

      expect(events.map(({ name }) => name)).toEqual(["idempotency_released"]);
    });

    test("does not end before a completion that is on its way, also without a grace period: the work is done", async () => {
      const slow = world.store.disturb("complete", "delay");
      const { ChargeCustomer } = chargeTask(OPTIONS);
      const run = ChargeCustomer.execute(INPUT);
      await slow.met;
      let over = false;
      const keys = shutdown({ grace: 0 }).finally(() => (over = true));
      await world.pass(100);
      const wasOver = over;

      slow.release();
      await world.pass(100);

      expect(wasOver).toBe(false);
      expect(await keys).toEqual([]);
      expect(await run).toMatchObject({ status: "success", metadata: {} });
      expect(await world.raw(KEY)).toBe("completed");
    });

    test("does not free a second time what a run is freeing by itself", async () => {
      const events = recordEvents("idempotency_released", "idempotency_lost");
      const slow = world.store.disturb("delete", "delay");
      const { ChargeCustomer } = chargeTask(OPTIONS, { work: (task) => task.fail("declined") });
      const run = ChargeCustomer.execute(INPUT);
      await slow.met;

      const keys = shutdown({ grace: 0 });
      await world.pass(100);
      slow.release();
      await world.pass(100);
      await Promise.all([run, keys]);

      expect(events.map(({ name, payload }) => [name, payload])).toEqual([
        ["idempotency_released", { idempotencyKey: KEY, reason: "failed" }],
      ]);
    });

    test("that begins in the moment in which a claim is announced does not overlook it", async () => {
      const { pause, work } = deaf();
      const { ChargeCustomer } = chargeTask(OPTIONS, { work });
      let keys: Promise<readonly string[]> | undefined;
      ChargeCustomer.telemetry.subscribe("idempotency_claimed", () => (keys = shutdown({ grace: 1 })));
      const run = ChargeCustomer.execute(INPUT);
      await world.pass(2_000);
      pause.resume();

      expect(await run).toMatchObject({ status: "failed" });
      expect(await world.raw(KEY)).toBeUndefined();
      await keys;
    });

    test("lets nested work that ends well within the grace period count as well", async () => {
      const { pause, work } = deaf();
      const { ChargeCustomer, seen } = chargeTask(OPTIONS, { work });
      class Order extends Task.with() {
        async work(): Promise<unknown> {
          const charge = await ChargeCustomer.executeBang(INPUT);
          return charge.status;
        }
      }
      idempotentBy(literal("o1"))(Order);
      const run = Order.execute();
      await pause.reached;

      const keys = shutdown({ grace: 5 });
      await world.pass(1_000);
      pause.resume();
      await world.pass(100);

      expect(await run).toMatchObject({ status: "success", output: "success" });
      expect(seen).toEqual({ works: 1, rollbacks: 0 });
      expect(await world.raw(KEY)).toBe("completed");
      expect(await keys).toEqual([]);
    });

    test.each([-1, Number.NaN, "5"])("refuses a grace period of %s", async (grace) => {
      await expect(shutdown({ grace: grace as number })).rejects.toThrow(DefinitionError);
    });
  });

  describe("while the process is shutting down", () => {
    test("a new run is refused before its key is claimed", async () => {
      const { ChargeCustomer, seen } = chargeTask(OPTIONS);
      await shutdown();

      const result = await ChargeCustomer.execute(INPUT);

      expect(result).toMatchObject({ status: "failed", error: expect.any(ShutdownError), retryable: true, rolledBack: false });
      expect(seen.works).toBe(0);
      expect(world.store.calls).toEqual([]);
    });

    test("a run whose claim was on its way does not run, and its key is free", async () => {
      const claim = world.store.disturb("claim", "delay-answer");
      const { ChargeCustomer, seen } = chargeTask(OPTIONS);
      const run = ChargeCustomer.execute(INPUT);
      await claim.met;

      const keys = shutdown({ grace: 1 });
      claim.release();
      await world.pass(2_000);

      expect(await run).toMatchObject({ status: "failed", error: expect.any(ShutdownError) });
      expect(seen.works).toBe(0);
      expect(await world.raw(KEY)).toBeUndefined();
      expect(await keys).toEqual([]);
    });

    test("a run that waits for another ends soon", async () => {
      await world.put(KEY, "processing owner=somebody", 600_000);
      const { ChargeCustomer } = chargeTask({ ...OPTIONS, onDuplicate: { processing: "wait" }, waitFor: 300 });
      const run = ChargeCustomer.execute(INPUT);
      await world.pass(10_000);

      await shutdown();
      await world.pass(1_500);

      expect(await Promise.race([run, world.pass(0).then(() => "no answer")])).toMatchObject({ error: expect.any(ShutdownError) });
    });

    test("a task without a key, or one that steps aside, runs as ever", async () => {
      class Plain extends Task.with() {
        work(): string {
          return "done";
        }
      }
      const { ChargeCustomer } = chargeTask({ if: () => false }, { work: () => "done" });
      await shutdown();

      expect(await Plain.execute()).toHaveProperty("output", "done");
      expect(await ChargeCustomer.execute(INPUT)).toHaveProperty("output", "done");
    });
  });

  describe("resume()", () => {
    test("takes claims again", async () => {
      const { ChargeCustomer } = chargeTask(OPTIONS);
      await shutdown();
      resume();

      expect(await ChargeCustomer.execute(INPUT)).toHaveProperty("status", "success");
    });

    test("goes ahead after a shutdown that has freed what was left, though that work never ends", async () => {
      const { pause, work } = deaf();
      const { ChargeCustomer } = chargeTask(OPTIONS, { work });
      void ChargeCustomer.execute(INPUT);
      await pause.reached;
      await shutdown({ grace: 0 });

      expect(() => resume()).not.toThrow();
    });
  });
});
