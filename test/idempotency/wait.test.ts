import { describe, expect, test } from "vitest";
import { DuplicateError, idempotentBy, Task } from "taskwright";
import { z } from "zod";
import { ofName, PausePoint, recordEvents } from "../support/builders.js";
import { chargeTask, INPUT, KEY, operations } from "./charge.js";
import { onEachStore } from "./world.js";

const WAIT = { processing: "wait", completed: "skip" } as const;

onEachStore((world) => {
  describe("a run that waits for the one before it", () => {
    test("gets the rule for completed once that one has completed", async () => {
      const pause = new PausePoint();
      const events = recordEvents("idempotency_duplicate");
      const { ChargeCustomer, seen } = chargeTask({ onDuplicate: WAIT }, { work: () => pause.pass() });
      const first = ChargeCustomer.execute(INPUT);
      await pause.reached;

      const second = ChargeCustomer.execute(INPUT);
      await world.pass(3_000);
      expect(events).toEqual([]);
      pause.resume();
      await first;
      await world.pass(2_000);

      expect(await second).toMatchObject({ status: "skipped", metadata: { code: "duplicate", state: "completed" } });
      expect(ofName(events, "idempotency_duplicate").map(({ payload }) => payload.state)).toEqual(["completed"]);
      expect(seen.works).toBe(1);
    });

    test("fails by the rule for completed where that is fail", async () => {
      const pause = new PausePoint();
      const { ChargeCustomer } = chargeTask({ onDuplicate: { processing: "wait", completed: "fail" } }, { work: () => pause.pass() });
      const first = ChargeCustomer.execute(INPUT);
      await pause.reached;

      const second = ChargeCustomer.execute(INPUT);
      pause.resume();
      await first;
      await world.pass(2_000);

      expect(await second).toMatchObject({ status: "failed", metadata: { code: "duplicate", state: "completed" } });
    });

    test("claims the key and runs once that one has failed", async () => {
      const pause = new PausePoint();
      let failures = 1;
      const { ChargeCustomer, seen } = chargeTask(
        { onDuplicate: WAIT },
        {
          async work(task) {
            failures -= 1;
            if (failures < 0) return "second time lucky";
            await pause.pass();
            return task.fail("declined");
          },
        },
      );
      const first = ChargeCustomer.execute(INPUT);
      await pause.reached;

      const second = ChargeCustomer.execute(INPUT);
      await world.pass(1_000);
      pause.resume();
      expect(await first).toMatchObject({ status: "failed" });
      await world.pass(2_000);

      expect(await second).toMatchObject({ status: "success", output: "second time lucky" });
      expect(seen.works).toBe(2);
      expect(await world.raw(KEY)).toBe("completed");
    });

    test("fails as a duplicate when its time is up, and the key stays with the first", async () => {
      const pause = new PausePoint();
      const { ChargeCustomer, seen } = chargeTask({ onDuplicate: WAIT, waitFor: 5 }, { work: () => pause.pass() });
      const first = ChargeCustomer.execute(INPUT);
      await pause.reached;
      const before = await world.raw(KEY);

      const second = ChargeCustomer.execute(INPUT);
      await world.pass(6_000);
      const result = await second;

      expect(result).toMatchObject({
        status: "failed",
        error: expect.any(DuplicateError),
        retryable: true,
        metadata: { code: "duplicate", idempotencyKey: KEY, state: "processing", retryAfterMs: expect.any(Number) },
      });
      expect(result.reason).toContain(`duplicate of ${KEY}; state=processing`);
      expect(result.durationMs).toBeGreaterThanOrEqual(5_000);
      expect(result.durationMs).toBeLessThanOrEqual(6_000);
      expect(seen.works).toBe(1);
      expect(await world.raw(KEY)).toBe(before);
      pause.resume();
      expect(await first).toHaveProperty("status", "success");
    });

    test("asks once more at the end of its time, and gets a key that has come free by then", async () => {
      const { ChargeCustomer, seen } = chargeTask({ onDuplicate: WAIT, waitFor: 5 });
      await world.put(KEY, "processing owner=somebody-dead", 5_000);

      const run = ChargeCustomer.execute(INPUT);
      await world.pass(6_000);

      expect(await run).toHaveProperty("status", "success");
      expect(seen.works).toBe(1);
    });

    test("claims the key of a dead holder when its lease ends, and not before", async () => {
      const { ChargeCustomer, seen } = chargeTask({ onDuplicate: WAIT, waitFor: 60 });
      await world.put(KEY, "processing owner=somebody-dead", 10_000);

      const run = ChargeCustomer.execute(INPUT);
      await world.pass(9_000);
      expect(seen.works).toBe(0);
      await world.pass(2_000);

      expect(await run).toHaveProperty("status", "success");
      expect(await world.raw(KEY)).toBe("completed");
    });

    test("is answered at once when it is called off, and leaves neither claim nor timer behind", async () => {
      const pause = new PausePoint();
      const controller = new AbortController();
      const { ChargeCustomer, seen } = chargeTask({ onDuplicate: WAIT }, { work: () => pause.pass() });
      const first = ChargeCustomer.execute(INPUT);
      await pause.reached;
      const before = await world.raw(KEY);
      const second = ChargeCustomer.execute(INPUT, { signal: controller.signal });
      await world.pass(1_000);
      const timers = world.clock.pending;

      controller.abort(new Error("closing time"));

      expect(await second).toMatchObject({ status: "failed", metadata: { code: "aborted" }, rolledBack: false });
      expect(world.clock.pending).toBe(timers - 1);
      expect(await world.raw(KEY)).toBe(before);
      expect(seen).toEqual({ works: 1, rollbacks: 0 });
      pause.resume();
      await first;
    });

    test("asks seldom: not more than forty times in half a minute", async () => {
      const { ChargeCustomer } = chargeTask({ onDuplicate: WAIT, waitFor: 30 });
      await world.put(KEY, "processing owner=somebody", 3_600_000);

      const run = ChargeCustomer.execute(INPUT);
      await world.pass(31_000);
      await run;

      const asked = operations(world.store.calls).filter((operation) => operation === "claim").length;
      expect(asked).toBeGreaterThan(20);
      expect(asked).toBeLessThanOrEqual(70);
      expect(new Set(operations(world.store.calls))).toEqual(new Set(["claim"]));
    });

    test("is one of many: one of ten that wait claims the key that comes free, and the others go on waiting and are duplicates", async () => {
      const pause = new PausePoint();
      let failures = 1;
      const { ChargeCustomer, seen } = chargeTask(
        { onDuplicate: WAIT },
        {
          async work(task) {
            failures -= 1;
            if (failures < 0) return;
            await pause.pass();
            task.fail("declined");
          },
        },
      );
      const first = ChargeCustomer.execute(INPUT);
      await pause.reached;
      const others = Array.from({ length: 10 }, () => ChargeCustomer.execute(INPUT));
      await world.pass(1_000);
      pause.resume();
      await first;
      await world.pass(5_000);
      const results = await Promise.all(others);

      expect(results.filter(({ status }) => status === "success")).toHaveLength(1);
      expect(results.filter(({ status }) => status === "skipped")).toHaveLength(9);
      expect(seen.works).toBe(2);
    });

    test("gets the first run's output under replay", async () => {
      const pause = new PausePoint();
      let works = 0;
      class ChargeCustomer extends Task.with({ input: z.object({ paymentId: z.string() }), output: z.object({ at: z.date() }) }) {
        async work(): Promise<{ at: Date }> {
          works += 1;
          await pause.pass();
          return { at: new Date(0) };
        }
      }
      idempotentBy("paymentId", { onDuplicate: "replay" })(ChargeCustomer);
      const first = ChargeCustomer.execute(INPUT);
      await pause.reached;
      const second = ChargeCustomer.execute(INPUT);
      pause.resume();
      const answer = await first;
      await world.pass(2_000);

      expect(await second).toMatchObject({ status: "success", replayed: true, output: { at: new Date(0) } });
      expect(answer).toMatchObject({ replayed: false, output: { at: new Date(0) } });
      expect(works).toBe(1);
    });

    test("waits for the holder, and not for itself, when a run above it held the key once and somebody else does now", async () => {
      const inner: unknown[] = [];
      const pause = new PausePoint();
      const { ChargeCustomer } = chargeTask(
        { onDuplicate: WAIT, waitFor: 60, lease: 30, ttl: 600 },
        {
          async work() {
            if (inner.length > 0) return;
            inner.push("first");
            await pause.pass();
            inner.push(await ChargeCustomer.execute(INPUT));
          },
        },
      );
      const outer = ChargeCustomer.execute(INPUT);
      await pause.reached;
      await world.put(KEY, "processing owner=somebody-else", 5_000);
      pause.resume();
      await world.pass(7_000);
      await outer;

      expect(inner[1]).toMatchObject({ status: "success" });
    });
  });
});
