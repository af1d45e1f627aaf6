import { describe, expect, test } from "vitest";
import { aroundExecution, idempotentBy, InvalidOutputError, onSuccess, Task, ThrownValueError } from "taskwright";
import { z } from "zod";
import { ofName, PausePoint, recordEvents, taskOf } from "../support/builders.js";
import { chargeTask, INPUT, KEY, operations } from "./charge.js";
import { onEachStore } from "./world.js";

onEachStore((world) => {
  describe("a success", () => {
    test("by return marks the slot, and the next call with the key is a duplicate", async () => {
      const { ChargeCustomer, seen } = chargeTask({}, { work: () => "charged" });

      const first = await ChargeCustomer.execute(INPUT);
      const second = await ChargeCustomer.execute(INPUT);

      expect(first).toMatchObject({ status: "success", output: "charged", replayed: false, metadata: {} });
      expect(second).toMatchObject({ status: "skipped", metadata: { code: "duplicate", state: "completed" } });
      expect(seen.works).toBe(1);
    });

    test("by this.success() marks the slot as well", async () => {
      const { ChargeCustomer } = chargeTask(
        {},
        { work: (task) => (task as unknown as { success(output: string): never }).success("early") },
      );

      expect(await ChargeCustomer.execute(INPUT)).toMatchObject({ status: "success", output: "early" });
      expect(await world.raw(KEY)).toBe("completed");
    });

    test("by propagating a result that is no failure marks the slot as well", async () => {
      const Inner = taskOf(() => "fine");
      const { ChargeCustomer } = chargeTask(
        {},
        {
          async work(task: Task) {
            task.propagate(await Inner.execute());
          },
        },
      );

      expect(await ChargeCustomer.execute(INPUT)).toHaveProperty("status", "success");
      expect(await world.raw(KEY)).toBe("completed");
    });

    test("is remembered for ttl counted from its completion, however long the work took", async () => {
      const pause = new PausePoint();
      const { ChargeCustomer, seen } = chargeTask({ ttl: 60, lease: 30 }, { work: () => pause.pass() });
      const first = ChargeCustomer.execute(INPUT);
      await pause.reached;
      await world.pass(50_000);
      pause.resume();
      await first;

      await world.pass(59_000);
      expect(await ChargeCustomer.execute(INPUT)).toHaveProperty("status", "skipped");
      await world.pass(1_100);
      expect(await ChargeCustomer.execute(INPUT)).toHaveProperty("status", "success");
      expect(seen.works).toBe(2);
    });

    test("stands whatever happens afterwards: a callback that throws or halts changes neither result nor slot", async () => {
      recordEvents("observer_error");
      class ChargeCustomer extends Task.with({ input: z.object({ paymentId: z.string() }) }) {
        work(): string {
          return "charged";
        }

        @onSuccess() told(): never {
          return this.fail("too late");
        }
      }
      idempotentBy("paymentId")(ChargeCustomer);

      expect(await ChargeCustomer.execute(INPUT)).toHaveProperty("status", "success");
      expect(await world.raw(KEY)).toBe("completed");
    });

    test("is completed inside an around callback, and before completion callbacks", async () => {
      const seen: (string | undefined)[] = [];
      class ChargeCustomer extends Task.with({ input: z.object({ paymentId: z.string() }) }) {
        work(): string {
          return "charged";
        }

        @aroundExecution() async around(next: () => Promise<unknown>): Promise<void> {
          seen.push(await world.raw(KEY));
          await next();
          seen.push(await world.raw(KEY));
        }
      }
      idempotentBy("paymentId")(ChargeCustomer);

      await ChargeCustomer.execute(INPUT);

      expect(seen).toEqual([undefined, "completed"]);
    });

    test("lets a later release with another ttl rule only its own writes", async () => {
      await world.put(KEY, "completed", 5_000);
      const { ChargeCustomer } = chargeTask({ ttl: 600 });

      await ChargeCustomer.execute(INPUT);

      expect(await world.life(KEY)).toBeLessThanOrEqual(5_000);
    });
  });

  describe("the output is verified before the slot is completed", () => {
    test.each(["return", "success"] as const)("(%s): one that does not fit releases the key", async (way) => {
      const events = recordEvents("idempotency_completed", "idempotency_released");
      let fits = false;
      class ChargeCustomer extends Task.with({ input: z.object({ paymentId: z.string() }), output: z.object({ id: z.string() }) }) {
        work(): { id: string } {
          const output = { id: fits ? "ch_1" : (5 as unknown as string) };
          return way === "return" ? output : this.success(output);
        }
      }
      idempotentBy("paymentId")(ChargeCustomer);

      const first = await ChargeCustomer.execute(INPUT);
      expect(await world.raw(KEY)).toBeUndefined();
      fits = true;
      const second = await ChargeCustomer.execute(INPUT);

      expect(first).toMatchObject({ status: "failed", error: expect.any(InvalidOutputError), metadata: { code: "invalid_output" } });
      expect(second).toMatchObject({ status: "success", output: { id: "ch_1" } });
      expect(events.map(({ name }) => name)).toEqual(["idempotency_released", "idempotency_completed"]);
    });
  });

  describe("the key is free again", () => {
    const thrown = new Error("declined");
    test.each<[name: string, work: (task: Task) => unknown, reason: "failed" | "skipped", result: object]>([
      [
        "after a throw",
        () => {
          throw thrown;
        },
        "failed",
        { status: "failed", error: thrown },
      ],
      ["after a rejection", () => Promise.reject(thrown), "failed", { status: "failed", error: thrown }],
      [
        "after a thrown text",
        () => {
          throw "declined";
        },
        "failed",
        { status: "failed", error: expect.any(ThrownValueError) },
      ],
      [
        "after a thrown undefined",
        () => {
          throw undefined;
        },
        "failed",
        { status: "failed", error: expect.any(ThrownValueError) },
      ],
      ["after fail()", (task) => task.fail("declined"), "failed", { status: "failed", reason: "declined" }],
      ["after skip()", (task) => task.skip("nothing to do"), "skipped", { status: "skipped", reason: "nothing to do" }],
      [
        "after a halt that was swallowed",
        (task) => {
          try {
            task.fail("declined");
          } catch {
            return "all is well";
          }
        },
        "failed",
        { status: "failed", reason: "declined" },
      ],
      [
        "after the failure of another run came through",
        async (task: Task) =>
          task.propagate(
            await taskOf(() => {
              throw thrown;
            }).execute(),
          ),
        "failed",
        { status: "failed", error: thrown },
      ],
      [
        "after the fault of another run",
        () =>
          taskOf(() => {
            throw thrown;
          }).executeBang(),
        "failed",
        { status: "failed", error: thrown },
      ],
    ])("%s", async (_name, work, reason, result) => {
      const events = recordEvents("idempotency_released", "idempotency_completed");
      let again = false;
      const { ChargeCustomer, seen } = chargeTask({}, { work: (task) => (again ? "charged" : work(task)) });

      expect(await ChargeCustomer.execute(INPUT)).toMatchObject(result);
      expect(await world.raw(KEY)).toBeUndefined();
      expect(events.map(({ name, payload }) => [name, payload])).toEqual([["idempotency_released", { idempotencyKey: KEY, reason }]]);
      again = true;
      expect(await ChargeCustomer.execute(INPUT)).toHaveProperty("status", "success");
      expect(seen.works).toBe(2);
    });

    test("only after the rollback: a caller during it is a duplicate", async () => {
      const pause = new PausePoint();
      const { ChargeCustomer, seen } = chargeTask({}, { work: (task) => task.fail("declined"), rollback: () => pause.pass() });
      const first = ChargeCustomer.execute(INPUT);
      await pause.reached;

      expect(await ChargeCustomer.execute(INPUT)).toMatchObject({
        status: "skipped",
        metadata: { code: "duplicate", state: "processing" },
      });
      pause.resume();
      expect(await first).toMatchObject({ status: "failed", rolledBack: true });
      expect(await world.raw(KEY)).toBeUndefined();
      expect(seen).toEqual({ works: 1, rollbacks: 1 });
    });

    test("also when the rollback throws, and the failure is still the first one", async () => {
      const { ChargeCustomer } = chargeTask(
        {},
        {
          work: (task) => task.fail("declined"),
          rollback() {
            throw new Error("no refund today");
          },
        },
      );
      recordEvents("observer_error");

      const result = await ChargeCustomer.execute(INPUT);

      expect(result).toMatchObject({ status: "failed", reason: "declined", rollbackError: { message: "no refund today" } });
      expect(await world.raw(KEY)).toBeUndefined();
    });

    test("without a rollback after a skip", async () => {
      const { ChargeCustomer, seen } = chargeTask({}, { work: (task) => task.skip() });

      await ChargeCustomer.execute(INPUT);

      expect(seen.rollbacks).toBe(0);
      expect(operations(world.store.calls)).toEqual(["claim", "delete"]);
    });
  });

  test("only the run's own events follow a release: no completion, no loss", async () => {
    const events = recordEvents();
    const { ChargeCustomer } = chargeTask({ lease: 10 }, { work: (task) => task.fail("declined") });
    await ChargeCustomer.execute(INPUT);
    const before = events.length;

    await world.pass(60_000);

    expect(events).toHaveLength(before);
    expect(ofName(events, "idempotency_lost")).toEqual([]);
  });
});
