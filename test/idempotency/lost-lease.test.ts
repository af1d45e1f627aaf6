import { describe, expect, test } from "vitest";
import { LeaseLostError, retryOn } from "taskwright";
import { ofName, PausePoint, recordEvents } from "../support/builders.js";
import { chargeTask, INPUT, KEY, operations, type Acts } from "./charge.js";
import { onEachStore } from "./world.js";

const OPTIONS = { ttl: 600, lease: 30 } as const;

onEachStore((world) => {
  /** A run in the middle of its work, which ends when the pause is lifted. */
  async function atWork(after: Acts["work"] = () => "charged", options: object = OPTIONS) {
    const pause = new PausePoint();
    const signals: AbortSignal[] = [];
    const events = recordEvents();
    const { ChargeCustomer, seen } = chargeTask(options, {
      async work(task) {
        if (task.claim?.key !== KEY || signals.length > 0) return "second";
        signals.push(task.signal);
        await pause.pass();
        return after(task);
      },
    });
    const run = ChargeCustomer.execute(INPUT);
    await pause.reached;
    const signal = signals[0];
    if (signal === undefined) throw new Error("the work has begun");
    return { pause, events, ChargeCustomer, seen, run, signal };
  }

  const names = (events: { name: string }[]): string[] => events.map(({ name }) => name).filter((name) => name.startsWith("idempotency_"));

  test("a run that works for longer than its lease keeps the key by renewing it", async () => {
    const { pause, run, ChargeCustomer, events, signal } = await atWork();

    await world.pass(95_000);

    expect(operations(world.store.calls).filter((operation) => operation === "renew")).toHaveLength(9);
    expect(await ChargeCustomer.execute(INPUT)).toMatchObject({ status: "skipped", metadata: { state: "processing" } });
    expect(signal.aborted).toBe(false);
    pause.resume();
    expect(await run).toMatchObject({ status: "success", metadata: {} });
    expect(ofName(events, "idempotency_lost")).toEqual([]);
    expect(await world.raw(KEY)).toBe("completed");
  });

  test("a wait between two attempts that is longer than the lease keeps the key as well", async () => {
    let failures = 1;
    const { ChargeCustomer } = chargeTask(OPTIONS, {
      work() {
        failures -= 1;
        if (failures >= 0) throw new TypeError("flaky");
      },
    });
    retryOn(TypeError, { delay: 90 })(ChargeCustomer);
    const run = ChargeCustomer.execute(INPUT);
    await world.pass(80_000);

    expect(await ChargeCustomer.execute(INPUT)).toMatchObject({ status: "skipped", metadata: { state: "processing" } });
    await world.pass(11_000);
    expect(await run).toMatchObject({ status: "success", retries: 1, metadata: {} });
  });

  test("a rollback that takes longer than the lease keeps the key as well", async () => {
    const pause = new PausePoint();
    const events = recordEvents("idempotency_lost", "idempotency_released");
    const { ChargeCustomer } = chargeTask(OPTIONS, { work: (task) => task.fail("declined"), rollback: () => pause.pass() });
    const run = ChargeCustomer.execute(INPUT);
    await pause.reached;
    await world.pass(80_000);

    expect(await ChargeCustomer.execute(INPUT)).toMatchObject({ status: "skipped", metadata: { state: "processing" } });
    pause.resume();
    expect(await run).toMatchObject({ status: "failed", rolledBack: true });
    expect(names(events)).toEqual(["idempotency_released"]);
  });

  test("renewals end with the run", async () => {
    const { pause, run } = await atWork();
    pause.resume();
    await run;
    const calls = world.store.calls.length;

    await world.pass(60_000);

    expect(world.store.calls).toHaveLength(calls);
    expect(world.clock.pending).toBeLessThanOrEqual(1); // a store may sweep
  });

  describe("a run whose key somebody else has taken", () => {
    const theft = (): Promise<void> => world.put(KEY, "processing owner=somebody-else", 500_000);

    test("learns of it at its next renewal: the event, and its signal aborts with the reason", async () => {
      const { events, signal, run, pause } = await atWork();
      await theft();

      await world.pass(10_500);

      expect(ofName(events, "idempotency_lost").map(({ payload }) => payload)).toEqual([{ idempotencyKey: KEY, why: "refused" }]);
      expect(signal.aborted).toBe(true);
      expect(signal.reason).toBeInstanceOf(LeaseLostError);
      pause.resume();
      await run;
    });

    test("still succeeds when its work does, says that it was superseded, and leaves the slot alone", async () => {
      const { events, run, pause, seen } = await atWork();
      await theft();
      await world.pass(10_500);
      pause.resume();

      const result = await run;

      expect(result).toMatchObject({ status: "success", output: "charged", metadata: { superseded: true } });
      expect(await world.raw(KEY)).toBe("processing owner=somebody-else");
      expect(names(events)).toEqual(["idempotency_claimed", "idempotency_lost"]);
      expect(seen).toEqual({ works: 1, rollbacks: 0 });
    });

    test("learns of it when it completes, if not before", async () => {
      const { events, run, pause } = await atWork();
      await theft();
      pause.resume();

      expect(await run).toMatchObject({ status: "success", metadata: { superseded: true } });
      expect(ofName(events, "idempotency_lost").map(({ payload }) => payload.why)).toEqual(["refused"]);
      expect(ofName(events, "idempotency_completed")).toEqual([]);
      expect(await world.raw(KEY)).toBe("processing owner=somebody-else");
    });

    test("and completed by now, once its own lease was over, says so too", async () => {
      const { run, pause } = await atWork();
      world.store.disturb("renew", "fail-before", { times: Infinity });
      await world.pass(31_000);
      await world.put(KEY, "completed", 500_000);
      pause.resume();

      expect(await run).toMatchObject({ status: "success", metadata: { superseded: true } });
      expect(await world.raw(KEY)).toBe("completed");
    });

    test("and that fails rolls back, but does not free the other's key", async () => {
      const { events, run, pause, seen } = await atWork((task) => task.fail("declined"));
      await theft();
      pause.resume();

      expect(await run).toMatchObject({ status: "failed", reason: "declined", rolledBack: true });
      expect(await world.raw(KEY)).toBe("processing owner=somebody-else");
      expect(names(events)).toEqual(["idempotency_claimed", "idempotency_lost"]);
      expect(seen.rollbacks).toBe(1);
    });

    test("tells its loss once, though both a renewal and the end learn of it", async () => {
      const { events, run, pause } = await atWork((task) => task.fail("declined"));
      await theft();
      await world.pass(10_500);
      pause.resume();
      await run;

      expect(ofName(events, "idempotency_lost")).toHaveLength(1);
    });

    test("makes no further attempt", async () => {
      const pause = new PausePoint();
      const { ChargeCustomer, seen } = chargeTask(OPTIONS, {
        async work() {
          await pause.pass();
          throw new TypeError("flaky");
        },
      });
      retryOn(TypeError, { limit: 5, delay: 20 })(ChargeCustomer);
      const run = ChargeCustomer.execute(INPUT);
      await pause.reached;
      await theft();
      pause.resume();

      await world.pass(15_000);
      const result = await run;

      expect(result).toMatchObject({ status: "failed", rolledBack: true });
      expect(result.durationMs).toBeLessThan(15_000); // the wait for the next attempt ended with the loss
      expect(seen.works).toBe(1);
    });
  });

  describe("a run that cannot renew", () => {
    test.each(["fail-before", "never-answer", "lose-answer"] as const)(
      "(%s) must assume its loss when its lease is over by its own clock",
      async (fault) => {
        const { events, signal, run, pause } = await atWork();
        world.store.disturb("renew", fault, { times: Infinity });

        await world.pass(29_000);
        expect(signal.aborted).toBe(false);
        await world.pass(2_000);

        expect(ofName(events, "idempotency_lost").map(({ payload }) => payload)).toEqual([{ idempotencyKey: KEY, why: "expired" }]);
        expect(signal.reason).toBeInstanceOf(LeaseLostError);
        expect(ofName(events, "idempotency_store_error").length).toBeGreaterThan(0);
        for (const { payload } of ofName(events, "idempotency_store_error")) {
          expect(payload).toEqual({ operation: "renew", idempotencyKey: KEY, error: expect.any(Error) });
        }
        pause.resume();
        await run;
      },
    );

    test("lets the next caller in once the lease is over, and its own end touches nothing of the other's", async () => {
      const { run, pause, ChargeCustomer, seen } = await atWork();
      world.store.disturb("renew", "fail-before", { times: Infinity });
      await world.pass(31_000);

      const second = await ChargeCustomer.execute(INPUT);
      pause.resume();
      const first = await run;

      expect(second).toMatchObject({ status: "success", output: "second", metadata: {} });
      expect(first).toMatchObject({ status: "success", metadata: { superseded: true } });
      expect(seen.works).toBe(2);
      expect(await world.raw(KEY)).toBe("completed");
    });

    test("and so must assume its loss, though by the store's word it still holds the key, completes it in the end", async () => {
      const { events, run, pause } = await atWork();
      world.store.disturb("renew", "lose-answer", { times: Infinity });
      await world.pass(31_000);
      pause.resume();

      expect(await run).toMatchObject({ status: "success", metadata: {} });
      expect(names(events).filter((name) => name !== "idempotency_store_error")).toEqual([
        "idempotency_claimed",
        "idempotency_lost",
        "idempotency_completed",
      ]);
      expect(await world.raw(KEY)).toBe("completed");
    });

    test("once and then can is not lost", async () => {
      const { events, run, pause } = await atWork();
      world.store.disturb("renew", "fail-before");

      await world.pass(60_000);
      pause.resume();

      expect(await run).toMatchObject({ status: "success", metadata: {} });
      expect(ofName(events, "idempotency_lost")).toEqual([]);
      expect(ofName(events, "idempotency_store_error")).toHaveLength(1);
    });
  });

  test("a run that hangs holds its key until maxHold and what is left of the lease then, and no longer", async () => {
    const { events, signal, run, pause, ChargeCustomer } = await atWork(undefined, { ttl: 600, lease: 30, maxHold: 60 });

    await world.pass(60_000);
    expect(await ChargeCustomer.execute(INPUT)).toMatchObject({ status: "skipped" });
    await world.pass(31_000);

    expect(ofName(events, "idempotency_lost").map(({ payload }) => payload.why)).toEqual(["max_hold"]);
    expect(signal.aborted).toBe(true);
    expect(await ChargeCustomer.execute(INPUT)).toMatchObject({ status: "success", output: "second" });
    pause.resume();
    expect(await run).toMatchObject({ status: "success", metadata: { superseded: true } });
  });

  test("work that listens to its signal ends with it, and is rolled back", async () => {
    const { run, seen } = await (async () => {
      const { ChargeCustomer, seen } = chargeTask(OPTIONS, {
        work: (task) =>
          new Promise((_resolve, reject) => {
            task.signal.addEventListener("abort", () => reject(task.signal.reason as Error));
          }),
      });
      return { run: ChargeCustomer.execute(INPUT), seen };
    })();
    await world.pass(1_000);
    await world.put(KEY, "processing owner=somebody-else", 500_000);
    await world.pass(10_000);

    expect(await run).toMatchObject({ status: "failed", error: expect.any(LeaseLostError), rolledBack: true });
    expect(seen).toEqual({ works: 1, rollbacks: 1 });
    expect(await world.raw(KEY)).toBe("processing owner=somebody-else");
  });

  test("nested runs are called off with the run that lost its key", async () => {
    const { ChargeCustomer, seen } = chargeTask(OPTIONS, {
      async work(task) {
        if (task.input.paymentId !== "pay_123") return new Promise(() => {});
        const inner = await ChargeCustomer.execute({ paymentId: "inner" });
        return inner.metadata.code;
      },
    });
    const run = ChargeCustomer.execute(INPUT);
    await world.pass(1_000);
    await world.put(KEY, "processing owner=somebody-else", 500_000);
    await world.pass(10_000);

    expect(await run).toMatchObject({ status: "success", output: "aborted", metadata: { superseded: true } });
    expect(seen.works).toBe(2);
  });
});
