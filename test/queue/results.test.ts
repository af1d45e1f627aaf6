import { afterEach, describe, expect, test } from "vitest";
import { isTaskwrightError, resetConfiguration, Task } from "taskwright";
import { NoResultError, Queue } from "taskwright/queue";
import { z } from "zod";
import { rejectionOf, taskOf } from "../support/builders.js";
import { charge, chargeTask, world } from "./world.js";

afterEach(resetConfiguration);

/** The result of one run of the task on a queue. */
async function resultOn(type: ReturnType<typeof taskOf>) {
  const { queue } = world();
  await queue.work([type]);
  return (await queue.enqueue(type)).result();
}

describe("the result of a job", () => {
  test("is the one that the run gave, in all but its context", async () => {
    const { queue } = world();
    const Charge = chargeTask();
    const seen: unknown[] = [];
    Charge.telemetry.subscribe("task_executed", ({ payload }) => seen.push(payload.result));
    await queue.work([Charge]);
    const result = await (await queue.enqueue(Charge, charge)).result();
    expect(result).toEqual(seen[0]);
    expect(Object.isFrozen(result)).toBe(true);
    expect(JSON.parse(JSON.stringify(result))).toMatchObject({ status: "success", task: "charge_customer" });
    expect(JSON.stringify(result)).not.toContain("customerId");
    expect(Object.keys(result).toSorted()).toEqual(Object.keys(seen[0] as object).toSorted());
  });

  test("is had from another queue, by task and id", async () => {
    const { queue, source } = world();
    const Charge = chargeTask();
    await queue.work([Charge]);
    const { id } = await queue.enqueue(Charge, charge);
    expect(await new Queue({ engine: source }).result(Charge, id)).toMatchObject({ output: { customerId: 42 } });
  });

  test("keeps the types of an output without a schema", async () => {
    const output = { at: new Date(5), big: 5n, tags: new Set(["a"]), none: undefined, nan: Number.NaN, bytes: new Uint8Array([1]) };
    expect(await resultOn(taskOf(() => output))).toMatchObject({ status: "success", output });
  });

  test("passes through the schema's codec, and an output that goes one way only comes as it is", async () => {
    class Money {
      readonly cents: number;
      constructor(cents: number) {
        this.cents = cents;
      }
    }
    const money = z.codec(
      z.number(),
      z.custom<Money>((value) => value instanceof Money),
      {
        decode: (cents) => new Money(cents),
        encode: ({ cents }) => cents,
      },
    );
    class Price extends Task.with({ output: z.object({ price: money }) }) {
      work() {
        return { price: 5 };
      }
    }
    class Upper extends Task.with({ output: z.object({ word: z.string().transform((word) => word.toUpperCase()) }) }) {
      work() {
        return { word: "a" };
      }
    }
    const { queue } = world();
    await queue.work([Price, Upper]);
    const price = await (await queue.enqueue(Price)).result();
    expect(price.status === "success" && price.output.price).toEqual(new Money(5));
    expect(price.status === "success" && price.output.price).toBeInstanceOf(Money);
    expect(await (await queue.enqueue(Upper)).result()).toMatchObject({ output: { word: "A" } });
  });

  test("of a failure has its error by name, message, code and cause", async () => {
    const error = Object.assign(new TypeError("declined", { cause: new RangeError("limit") }), { code: "E_CARD" });
    const result = await resultOn(taskOf(() => Promise.reject(error)));
    if (result.status !== "failed") throw new Error("it did not fail");
    expect(result.error).toBeInstanceOf(Error);
    expect(result.error).toMatchObject({ name: "TypeError", message: "declined", code: "E_CARD", stack: error.stack });
    expect(result.error.cause).toMatchObject({ name: "RangeError", message: "limit" });
    expect(result.origin).toEqual({ task: "Sample", runId: result.runId });
  });

  test("is waited for, no longer than the time", async () => {
    const { queue, clock } = world();
    const job = await queue.enqueue(chargeTask(), charge);
    const waiting = rejectionOf(job.result({ timeout: "2s" }));
    await clock.advance(2_000);
    expect(await waiting).toMatchObject({ code: "no_result", why: "timeout" });
    expect(clock.pending).toBeLessThanOrEqual(1);
  });

  test.each(["cancelled", "unknown", "other_task", "unreadable", "dead"] as const)("is not to be had when it is %s", async (why) => {
    const { queue, settle } = world();
    const Charge = chargeTask();
    const Odd = taskOf(() => ({ f: () => 1 }));
    const worker = await queue.work([Odd]);
    const odd = await queue.enqueue(Odd);
    const pending = await queue.enqueue(Charge, charge);
    await pending.cancel();
    await settle();
    const Broken = chargeTask();
    Object.defineProperty(Broken, "execute", { value: () => Promise.reject(new Error("no such column")) });
    await worker.stop();
    await queue.work([Broken]);
    const broken = await queue.enqueue(Broken, charge);
    const ask = {
      cancelled: () => pending.result(),
      unknown: () => queue.result(Charge, "nobody"),
      other_task: () => queue.result(Charge, odd.id),
      unreadable: () => odd.result(),
      dead: () => broken.result(),
    };
    const error = await rejectionOf(ask[why]());
    expect(error).toBeInstanceOf(NoResultError);
    expect(isTaskwrightError(error)).toBe(true);
    expect(error).toMatchObject({ why });
  });

  test("of a job whose output cannot be carried is still a completed job", async () => {
    const { queue, settle } = world();
    const Odd = taskOf(() => ({ f: () => 1 }));
    await queue.work([Odd]);
    const job = await queue.enqueue(Odd);
    await settle();
    expect(await job.look()).toMatchObject({ state: "completed", result: { status: "success" } });
  });
});
