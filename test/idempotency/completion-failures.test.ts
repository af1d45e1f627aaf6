import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { ofName, recordEvents } from "../support/builders.js";
import { chargeTask, INPUT, KEY, operations } from "./charge.js";
import { KEY as REPORT_KEY, reportTask } from "./outputs.js";
import { onEachStore } from "./world.js";

onEachStore((world) => {
  async function ended<T>(run: Promise<T>, withinMs: number): Promise<T> {
    let answer: { readonly value: T } | undefined;
    void run.then((value) => (answer = { value }));
    for (let passed = 0; answer === undefined && passed <= withinMs; passed += 250) await world.pass(250);
    if (answer === undefined) throw new Error(`it did not end within ${withinMs} ms`);
    return answer.value;
  }

  const COMPLETE_ERROR = { operation: "complete", idempotencyKey: KEY, error: expect.any(Error) };
  const names = (events: { name: string }[]): string[] => events.map(({ name }) => name).filter((name) => name.startsWith("idempotency_"));

  describe("a completion that fails", () => {
    test("is written again with growing pauses, and the result is the success that it was", async () => {
      const events = recordEvents();
      world.store.disturb("complete", "fail-before", { times: 3 });
      const { ChargeCustomer, seen } = chargeTask();

      const result = await ended(ChargeCustomer.execute(INPUT), 1_000);

      expect(result).toMatchObject({ status: "success", metadata: {}, durationMs: 350 });
      expect(seen).toEqual({ works: 1, rollbacks: 0 });
      expect(names(events)).toEqual([
        "idempotency_claimed",
        "idempotency_store_error",
        "idempotency_store_error",
        "idempotency_store_error",
        "idempotency_completed",
      ]);
      expect(ofName(events, "idempotency_store_error")[0]?.payload).toEqual(COMPLETE_ERROR);
      expect(await world.raw(KEY)).toBe("completed");
    });

    test.each(["fail-before", "never-answer"] as const)(
      "(%s) for good ends in time: the result stays a success, the slot is not freed, and its lease runs out",
      async (fault) => {
        const events = recordEvents();
        world.store.disturb("complete", fault, { times: Infinity });
        const { ChargeCustomer, seen } = chargeTask({ ttl: 600, lease: 60 });

        const result = await ended(ChargeCustomer.execute(INPUT), 25_000);

        expect(result).toMatchObject({ status: "success", metadata: {} });
        expect(result.durationMs).toBeGreaterThan(5_000);
        expect(result.durationMs).toBeLessThanOrEqual(20_000);
        expect(seen).toEqual({ works: 1, rollbacks: 0 });
        expect(new Set(names(events))).toEqual(new Set(["idempotency_claimed", "idempotency_store_error"]));
        expect(operations(world.store.calls)).not.toContain("delete");
        expect(await ChargeCustomer.execute(INPUT)).toMatchObject({ status: "skipped", metadata: { state: "processing" } });
        await world.pass(61_000);
        expect(await world.raw(KEY)).toBeUndefined();
        expect(names(events)).not.toContain("idempotency_lost");
      },
    );

    test("is not tried for longer than the lease lasts", async () => {
      world.store.disturb("complete", "never-answer", { times: Infinity });
      world.store.disturb("renew", "fail-before", { times: Infinity });
      const { ChargeCustomer } = chargeTask({ ttl: 600, lease: 3 });

      const result = await ended(ChargeCustomer.execute(INPUT), 10_000);

      expect(result.status).toBe("success");
      expect(result.durationMs).toBeLessThanOrEqual(3_000);
    });

    test("because the store throws instead of rejecting is written again", async () => {
      const { ChargeCustomer } = chargeTask(
        {},
        {
          work() {
            vi.spyOn(world.store, "set").mockImplementationOnce(() => {
              throw new Error("not connected");
            });
          },
        },
      );

      expect(await ended(ChargeCustomer.execute(INPUT), 1_000)).toMatchObject({ status: "success", metadata: {} });
      expect(await world.raw(KEY)).toBe("completed");
    });

    test("is written also for a run that is called off meanwhile: the work is done", async () => {
      world.store.disturb("complete", "fail-before");
      const controller = new AbortController();
      const { ChargeCustomer, seen } = chargeTask();
      const run = ChargeCustomer.execute(INPUT, { signal: controller.signal });
      await vi.waitFor(() => expect(operations(world.store.calls)).toContain("complete"));
      controller.abort();

      expect(await ended(run, 1_000)).toHaveProperty("status", "success");
      expect(await world.raw(KEY)).toBe("completed");
      expect(seen.rollbacks).toBe(0);
    });
  });

  describe("a completion whose answer is lost", () => {
    test.each(["fail-after", "lose-answer"] as const)(
      "(%s) counts as done when the slot says so: no loss, not superseded",
      async (fault) => {
        const events = recordEvents();
        world.store.disturb("complete", fault);
        const { ChargeCustomer } = chargeTask({ ttl: 600, lease: 60 });

        const result = await ended(ChargeCustomer.execute(INPUT), 7_000);

        expect(result).toMatchObject({ status: "success", metadata: {} });
        expect(names(events)).toEqual(["idempotency_claimed", "idempotency_store_error", "idempotency_completed"]);
        expect(await world.raw(KEY)).toBe("completed");
      },
    );

    test("counts as done also when a renewal was refused meanwhile, since the slot was already completed", async () => {
      const events = recordEvents();
      world.store.disturb("complete", "lose-answer", { times: 2 });
      const { ChargeCustomer } = chargeTask({ ttl: 600, lease: 12 });

      const result = await ended(ChargeCustomer.execute(INPUT), 20_000);

      expect(result).toMatchObject({ status: "success", metadata: {} });
      expect(names(events)).not.toContain("idempotency_lost");
      expect(names(events).at(-1)).toBe("idempotency_completed");
    });

    test("and that names the run in the slot counts as done as well", async () => {
      world.store.disturb("complete", "fail-after");
      const events = recordEvents("idempotency_completed", "idempotency_lost");
      const { Report } = reportTask(z.object({ n: z.number() }), () => ({ n: 1 }));

      expect(await ended(Report.execute(), 1_000)).toMatchObject({ status: "success", metadata: {} });
      expect(names(events)).toEqual(["idempotency_completed"]);
    });

    test("does not count as done when the slot names another run: that one has taken over", async () => {
      const events = recordEvents("idempotency_completed", "idempotency_lost");
      const { Report } = reportTask(z.object({ n: z.number() }), () => ({ n: 1 }));
      const fault = world.store.disturb("complete", "fail-before");
      const run = Report.execute();
      await fault.met;
      await world.put(REPORT_KEY, 'completed {"run":"another","output":"[{\\"n\\":1},2]"}', 60_000);

      expect(await ended(run, 1_000)).toMatchObject({ status: "success", metadata: { superseded: true } });
      expect(names(events)).toEqual(["idempotency_lost"]);
    });

    test("and whose slot is gone by the time it is written again was superseded", async () => {
      const events = recordEvents("idempotency_completed", "idempotency_lost");
      const { ChargeCustomer } = chargeTask({ ttl: 600, lease: 3 });
      world.store.disturb("renew", "fail-before", { times: Infinity });
      const slow = world.store.disturb("complete", "delay");
      const run = ChargeCustomer.execute(INPUT);
      await slow.met;
      await world.pass(3_500);

      const result = await ended(run, 5_000);
      slow.release();
      await world.pass(500);

      expect(result.status).toBe("success");
      expect(names(events)).not.toContain("idempotency_completed");
      expect(await world.raw(KEY)).toBeUndefined(); // what came too late wrote nothing: the key was nobody's by then
    });
  });

  describe("a release that fails", () => {
    test.each(["fail-before", "fail-after", "never-answer", "lose-answer"] as const)(
      "(%s) hides nothing of the failure, and ends in time",
      async (fault) => {
        const events = recordEvents();
        const error = new Error("declined");
        world.store.disturb("delete", fault, { times: Infinity });
        const { ChargeCustomer, seen } = chargeTask(
          { ttl: 600, lease: 60 },
          {
            work() {
              throw error;
            },
          },
        );

        const result = await ended(ChargeCustomer.execute(INPUT), 6_000);

        expect(result).toMatchObject({ status: "failed", error, rolledBack: true, metadata: {} });
        expect(result.durationMs).toBeLessThanOrEqual(5_000);
        expect(seen).toEqual({ works: 1, rollbacks: 1 });
        expect(names(events)).toEqual(["idempotency_claimed", "idempotency_store_error"]);
        expect(ofName(events, "idempotency_store_error")[0]?.payload).toEqual({ ...COMPLETE_ERROR, operation: "release" });
        await world.pass(61_000);
        expect(await world.raw(KEY)).toBeUndefined();
        expect(names(events)).not.toContain("idempotency_lost");
      },
    );

    test("hides nothing of a skip either", async () => {
      world.store.disturb("delete", "fail-before");
      const { ChargeCustomer } = chargeTask({}, { work: (task) => task.skip("nothing to do") });

      expect(await ChargeCustomer.execute(INPUT)).toMatchObject({ status: "skipped", reason: "nothing to do" });
    });

    test("because the store throws instead of rejecting hides nothing either", async () => {
      vi.spyOn(world.store, "delete").mockImplementation(() => {
        throw new Error("not connected");
      });
      const { ChargeCustomer } = chargeTask({}, { work: (task) => task.fail("declined") });

      expect(await ChargeCustomer.execute(INPUT)).toMatchObject({ status: "failed", reason: "declined" });
    });
  });

  test("with a store that answers nothing at all after the claim, every run ends in time, and none has two answers", async () => {
    const { ChargeCustomer, seen } = chargeTask(
      { ttl: 600, lease: 60 },
      {
        work(task) {
          for (const operation of ["claim", "complete", "delete", "renew"] as const)
            world.store.disturb(operation, "never-answer", { times: Infinity });
          if (task.input.paymentId.endsWith("3")) task.fail("declined");
        },
      },
    );

    const first = await ended(ChargeCustomer.execute(INPUT), 25_000);
    const second = await ended(ChargeCustomer.execute({ paymentId: "p2" }), 12_000);

    expect(first).toMatchObject({ status: "failed", reason: "declined" });
    expect(second).toMatchObject({ status: "failed", metadata: { code: "store_unavailable" } });
    expect(seen.works).toBe(1);
  });
});
