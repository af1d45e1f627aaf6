import { describe, expect, test, vi } from "vitest";
import { callback, DuplicateError, Fault, Task, use } from "taskwright";
import { ofName, PausePoint, recordEvents, rejectionOf } from "../support/builders.js";
import { chargeTask, INPUT, KEY, operations } from "./charge.js";
import { onEachStore } from "./world.js";

const STATES = ["processing", "completed"] as const;

onEachStore((world) => {
  /** A task, and a second call of it while the first is at work or after it has succeeded. */
  async function second(state: (typeof STATES)[number], rule: "skip" | "fail") {
    const pause = new PausePoint();
    const { ChargeCustomer, seen } = chargeTask({ onDuplicate: rule, lease: 60 }, { work: () => pause.pass() });
    const first = ChargeCustomer.execute(INPUT);
    await pause.reached;
    if (state === "completed") {
      pause.resume();
      await first;
    }
    const before = { raw: await world.raw(KEY), calls: world.store.calls.length };
    const result = await ChargeCustomer.execute(INPUT);
    const after = await world.raw(KEY);
    const calls = operations(world.store.calls.slice(before.calls));
    pause.resume();
    const firstResult = await first;
    return { result, before: before.raw, after, calls, seen, first: firstResult, ChargeCustomer };
  }

  describe.each(STATES)("a duplicate in the state %s", (state) => {
    test("is skipped by default, and says why", async () => {
      const { result, first } = await second(state, "skip");

      expect(result).toMatchObject({ status: "skipped", ok: true, ko: true, rolledBack: false, retries: 0 });
      expect(result.reason).toBe(`duplicate of ${KEY}; state=${state}`);
      const { retryAfterMs, ...metadata } = result.metadata;
      expect(metadata).toEqual({
        code: "duplicate",
        idempotencyKey: KEY,
        state,
        ...(state === "processing" && { firstRunId: first.runId }),
      });
      expect(typeof retryAfterMs).toBe(state === "processing" ? "number" : "undefined");
    });

    test("fails where the rule is fail, and could end better only while the first is at work", async () => {
      const { result } = await second(state, "fail");

      expect(result).toMatchObject({
        status: "failed",
        error: expect.any(DuplicateError),
        reason: `duplicate of ${KEY}; state=${state}`,
        metadata: { code: "duplicate", idempotencyKey: KEY, state },
        retryable: state === "processing",
        rolledBack: false,
        issues: [],
        origin: { task: "ChargeCustomer", runId: result.runId },
      });
    });

    test.each(["skip", "fail"] as const)(
      "(%s) leaves the slot byte for byte as it is, asks the store once, and runs no work and no rollback",
      async (rule) => {
        const { before, after, calls, seen } = await second(state, rule);

        expect(before).toBeDefined();
        expect(after).toBe(before);
        expect(calls).toEqual(["claim"]);
        expect(seen).toEqual({ works: 1, rollbacks: 0 });
      },
    );

    test("does not make the slot live longer", async () => {
      const pause = new PausePoint();
      const { ChargeCustomer } = chargeTask({ ttl: 60, lease: 60 }, { work: () => pause.pass() });
      const first = ChargeCustomer.execute(INPUT);
      await pause.reached;
      if (state === "completed") {
        pause.resume();
        await first;
      }
      await world.pass(10_000);

      await ChargeCustomer.execute(INPUT);

      expect(await world.life(KEY)).toBeLessThanOrEqual(50_000);
      pause.resume();
      await first;
    });

    test("is announced before the outcome that says so, with the same words", async () => {
      const order: string[] = [];
      const events = recordEvents("idempotency_duplicate");
      const pause = new PausePoint();
      const { ChargeCustomer } = chargeTask({}, { work: () => pause.pass() });
      use(async (_task, next) => {
        const outcome = await next();
        order.push(`${outcome.status} after ${ofName(events, "idempotency_duplicate").length} events`);
        return outcome;
      })(ChargeCustomer);
      const first = ChargeCustomer.execute(INPUT);
      await pause.reached;
      if (state === "completed") {
        pause.resume();
        await first;
        order.length = 0;
      }

      const result = await ChargeCustomer.execute(INPUT);

      expect(order).toEqual(["skipped after 1 events"]);
      const [event] = ofName(events, "idempotency_duplicate");
      expect(event?.payload).toEqual({ code: "duplicate", idempotencyKey: KEY, state });
      expect(result.metadata).toMatchObject(event?.payload ?? {});
      expect(event).toMatchObject({ task: "ChargeCustomer", runId: result.runId, chainId: result.chainId });
      pause.resume();
      await first;
    });
  });

  test("a duplicate tells while the first is at work how long its lease still lasts, and afterwards does not", async () => {
    const pause = new PausePoint();
    const { ChargeCustomer } = chargeTask({ ttl: 600, lease: 90 }, { work: () => pause.pass() });
    const first = ChargeCustomer.execute(INPUT);
    await pause.reached;
    await world.pass(20_000);

    const { metadata } = await ChargeCustomer.execute(INPUT);

    expect(metadata["retryAfterMs"]).toBeGreaterThan(69_000);
    expect(metadata["retryAfterMs"]).toBeLessThanOrEqual(70_000);
    expect(Number.isInteger(metadata["retryAfterMs"])).toBe(true);
    pause.resume();
    await first;
    expect((await ChargeCustomer.execute(INPUT)).metadata).not.toHaveProperty("retryAfterMs");
  });

  test("a duplicate of a slot that never ends by itself gives no time after which to come again", async () => {
    vi.spyOn(world.store, "set").mockResolvedValue({ ok: false, held: { value: "processing", expiresInMs: Number.POSITIVE_INFINITY } });
    const { ChargeCustomer } = chargeTask();

    const { metadata } = await ChargeCustomer.execute(INPUT);

    expect(metadata).toEqual({ code: "duplicate", idempotencyKey: KEY, state: "processing" });
  });

  test("the rule may differ by state", async () => {
    const pause = new PausePoint();
    const { ChargeCustomer } = chargeTask({ onDuplicate: { processing: "fail", completed: "skip" } }, { work: () => pause.pass() });
    const first = ChargeCustomer.execute(INPUT);
    await pause.reached;

    const during = await ChargeCustomer.execute(INPUT);
    pause.resume();
    await first;
    const after = await ChargeCustomer.execute(INPUT);

    expect([during.status, after.status]).toEqual(["failed", "skipped"]);
  });

  describe("executeBang", () => {
    test("resolves for a duplicate that is skipped", async () => {
      const { ChargeCustomer } = chargeTask();
      await ChargeCustomer.execute(INPUT);

      expect(await ChargeCustomer.executeBang(INPUT)).toMatchObject({ status: "skipped", metadata: { code: "duplicate" } });
    });

    test("rejects for a duplicate that fails, with the result and the error", async () => {
      const { ChargeCustomer } = chargeTask({ onDuplicate: "fail" });
      await ChargeCustomer.execute(INPUT);

      const fault = await rejectionOf(ChargeCustomer.executeBang(INPUT));

      expect(fault).toBeInstanceOf(Fault);
      expect(fault).toMatchObject({ result: { status: "failed", metadata: { code: "duplicate" } }, cause: expect.any(DuplicateError) });
    });
  });

  test("the callbacks of its status run for a duplicate as for any other skip or failure, and those of success do not", async () => {
    const called: string[] = [];
    const { ChargeCustomer } = chargeTask();
    for (const name of ["on_skipped", "on_ko", "on_ok", "on_success", "on_failed"] as const) {
      callback(name, () => {
        called.push(name);
      })(ChargeCustomer);
    }
    await ChargeCustomer.execute(INPUT);
    called.length = 0;

    await ChargeCustomer.execute(INPUT);

    expect(called).toEqual(["on_skipped", "on_ok", "on_ko"]);
  });

  test("a rejected duplicate does not free the key for a third caller", async () => {
    const pause = new PausePoint();
    const { ChargeCustomer, seen } = chargeTask({ onDuplicate: "fail" }, { work: () => pause.pass() });
    const first = ChargeCustomer.execute(INPUT);
    await pause.reached;

    const results = [await ChargeCustomer.execute(INPUT), await ChargeCustomer.execute(INPUT)];
    pause.resume();
    await first;

    expect(results.map(({ metadata }) => metadata.code)).toEqual(["duplicate", "duplicate"]);
    expect(seen.works).toBe(1);
  });

  describe("a run inside another with the same key", () => {
    test.each(["skip", "fail", "wait", "replay-rules"] as const)("(%s) ends at once, and does not stand in its own way", async (rule) => {
      const onDuplicate = rule === "wait" || rule === "replay-rules" ? { processing: "wait" as const, completed: "skip" as const } : rule;
      let inner: { status: string; reason: string | undefined; metadata: object } | undefined;
      const { ChargeCustomer, seen } = chargeTask(
        { onDuplicate, waitFor: 3_600 },
        {
          async work() {
            if (inner === undefined) inner = await ChargeCustomer.execute(INPUT);
          },
        },
      );

      const outer = await ChargeCustomer.execute(INPUT);

      expect(outer.status).toBe("success");
      expect(seen.works).toBe(1);
      expect(inner?.status).toBe(rule === "skip" ? "skipped" : "failed");
      expect(inner?.metadata).toMatchObject({ code: "duplicate", state: "processing" });
      expect(await world.raw(KEY)).toBe("completed");
    });

    test("and another one in between ends at once, too", async () => {
      let inner: { status: string } | undefined;
      const { ChargeCustomer } = chargeTask(
        { onDuplicate: { processing: "wait" }, waitFor: 3_600 },
        {
          async work() {
            await Between.execute();
          },
        },
      );
      class Between extends Task.with() {
        async work(): Promise<void> {
          inner = await ChargeCustomer.execute(INPUT);
        }
      }

      await ChargeCustomer.execute(INPUT);

      expect(inner).toMatchObject({ status: "failed", metadata: { code: "duplicate", state: "processing" } });
    });

    test("with another key runs", async () => {
      const { ChargeCustomer, seen } = chargeTask(
        { onDuplicate: { processing: "wait" } },
        {
          async work(task) {
            if (task.input.paymentId === "pay_123") await ChargeCustomer.executeBang({ paymentId: "pay_124" });
          },
        },
      );

      expect(await ChargeCustomer.execute(INPUT)).toHaveProperty("status", "success");
      expect(seen.works).toBe(2);
      expect(await world.raw("cmdx:idem:ChargeCustomer:pay_124")).toBe("completed");
    });
  });
});
