import { afterEach, describe, expect, test } from "vitest";
import {
  circuitBreaker,
  idempotentBy,
  lockWith,
  rateLimit,
  resetConfiguration,
  retryOn,
  Task,
  timeout,
  type TaskDecorator,
} from "taskwright";
import { z } from "zod";
import { recordEvents, useManualClock } from "../support/builders.js";

afterEach(() => {
  resetConfiguration();
});

const NAMES = ["rateLimit", "circuitBreaker", "lock", "idempotency", "retry", "timeout"] as const;
type Name = (typeof NAMES)[number];

/** All orders in which the decorators can stand. */
function permutations(names: readonly Name[]): readonly (readonly Name[])[] {
  if (names.length < 2) return [names];
  return names.flatMap((name) => permutations(names.filter((other) => other !== name)).map((rest) => [name, ...rest]));
}

/** A task that wears all six in this order. Its first attempt fails; `trace` says who was asked when. */
function wearingAll(order: readonly Name[], name: string) {
  const trace: string[] = [];
  const asked = (policy: Name) => ({
    if: () => {
      trace.push(policy);
      return true;
    },
  });
  const decorators: Readonly<Record<Name, TaskDecorator>> = {
    rateLimit: rateLimit({ limit: 5, per: 60, ...asked("rateLimit") }),
    circuitBreaker: circuitBreaker({ threshold: 3, ...asked("circuitBreaker") }),
    lock: lockWith(() => "w1", asked("lock")),
    idempotency: idempotentBy(() => "pay_1", asked("idempotency")),
    retry: retryOn(Error, { limit: 1, delay: 1, ...asked("retry") }),
    timeout: timeout(5, asked("timeout")),
  };
  class Pay extends Task.with({ name, output: z.object({ paid: z.boolean() }) }) {
    work(): { paid: boolean } {
      trace.push("work");
      if (this.attempt === 1) throw new Error("connection reset");
      return { paid: true };
    }
  }
  for (const policy of order) decorators[policy](Pay);
  return { Pay, trace };
}

describe("a task with all six policies", () => {
  test("runs in one order, whichever of the 720 orders its decorators stand in", async () => {
    const clock = useManualClock();
    const orders = permutations(NAMES);
    for (const [number, order] of orders.entries()) {
      const { Pay, trace } = wearingAll(order, `Pay${number}`);
      const run = Pay.execute();
      await clock.advance(1_000);

      expect((await run).status, order.join()).toBe("success");
      expect(trace, order.join()).toEqual([
        "rateLimit",
        "circuitBreaker",
        "lock",
        "idempotency",
        "timeout",
        "work",
        "retry",
        "timeout",
        "work",
      ]);
    }
    expect(orders).toHaveLength(720);
  });

  test.each([0, 100, 333, 719])("tells the same story in order %d", async (number) => {
    const clock = useManualClock();
    const events = recordEvents();
    const { Pay } = wearingAll(permutations(NAMES)[number] ?? [], "Pay");
    const run = Pay.execute();
    await clock.advance(1_000);
    await run;

    const keyOf = (payload: object): unknown => Reflect.get(payload, "lockKey") ?? Reflect.get(payload, "idempotencyKey");
    expect(events.map(({ name, payload }) => [name, keyOf(payload)])).toEqual([
      ["task_started", undefined],
      ["lock_acquired", "cmdx:lock:Pay:w1"],
      ["idempotency_claimed", "cmdx:idem:Pay:pay_1"],
      ["retry_scheduled", undefined],
      ["task_retried", undefined],
      ["idempotency_completed", "cmdx:idem:Pay:pay_1"],
      ["lock_released", "cmdx:lock:Pay:w1"],
      ["task_executed", undefined],
    ]);
  });

  test("wears them in its schema", () => {
    const { Pay } = wearingAll(NAMES, "Pay");

    expect(Object.keys(Pay.schema.policies).toSorted()).toEqual([...NAMES].toSorted());
  });

  test("has none of them on a subclass that turns them all off", async () => {
    const events = recordEvents();
    const { Pay, trace } = wearingAll(NAMES, "Pay");
    class Bare extends Pay {}
    for (const off of [rateLimit(false), circuitBreaker(false), lockWith(false), idempotentBy(false), timeout(false), retryOn(false)])
      off(Bare);

    expect(await Bare.execute()).toMatchObject({ status: "failed", retries: 0 });
    expect(trace).toEqual(["work"]);
    expect(events.map(({ name }) => name)).toEqual(["task_started", "task_executed"]);
  });
});
