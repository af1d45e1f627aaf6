import { describe, expect, test } from "vitest";
import { FingerprintMismatchError, idempotentBy, Task, type IdempotencyOptions } from "taskwright";
import { z } from "zod";
import { ofName, PausePoint, recordEvents } from "../support/builders.js";
import { onEachStore } from "./world.js";

const KEY = "cmdx:idem:Order:o1";

function orderTask(options: IdempotencyOptions, work: () => unknown = () => undefined) {
  class Order extends Task.with({
    input: z.object({ id: z.string().default("o1"), data: z.unknown(), count: z.coerce.number().default(1) }),
  }) {
    work(): unknown {
      return work();
    }
  }
  idempotentBy("id", options)(Order);
  return Order;
}

onEachStore((world) => {
  describe("the fingerprint", () => {
    test("lets the same request be a duplicate, in both states", async () => {
      const pause = new PausePoint();
      const Order = orderTask({ fingerprint: true }, () => pause.pass());
      const first = Order.execute({ data: { a: 1 } });
      await pause.reached;

      const during = await Order.execute({ data: { a: 1 } });
      pause.resume();
      await first;
      const after = await Order.execute({ data: { a: 1 } });

      expect(during).toMatchObject({ status: "skipped", metadata: { code: "duplicate", state: "processing" } });
      expect(after).toMatchObject({ status: "skipped", metadata: { code: "duplicate", state: "completed" } });
    });

    test.each(["processing", "completed"] as const)(
      "refuses another request under the key while it is %s, before the rule for the state, and touches nothing",
      async (state) => {
        const pause = new PausePoint();
        const events = recordEvents("idempotency_mismatch", "idempotency_duplicate", "idempotency_lost");
        const Order = orderTask({ fingerprint: true, onDuplicate: { processing: "wait", completed: "skip" } }, () => pause.pass());
        const first = Order.execute({ data: { a: 1 } });
        await pause.reached;
        if (state === "completed") {
          pause.resume();
          await first;
        }
        const before = await world.raw(KEY);

        const result = await Order.execute({ data: { a: 2 } });

        expect(result).toMatchObject({
          status: "failed",
          error: expect.any(FingerprintMismatchError),
          retryable: false,
          rolledBack: false,
          metadata: { code: "fingerprint_mismatch", idempotencyKey: KEY, state },
        });
        expect(result.reason).toContain(KEY);
        expect(events.map(({ name, payload }) => [name, payload])).toEqual([["idempotency_mismatch", { idempotencyKey: KEY, state }]]);
        expect(await world.raw(KEY)).toBe(before);
        pause.resume();
        await first;
      },
    );

    test("stands in the slot as a hash beside the word, before and after completion, and holds nothing of the input", async () => {
      const pause = new PausePoint();
      const Order = orderTask({ fingerprint: true }, () => pause.pass());
      const first = Order.execute({ data: "4111-1111-1111-1111" });
      await pause.reached;

      const during = await world.raw(KEY);
      pause.resume();
      const { runId } = await first;
      const after = await world.raw(KEY);

      expect(during).toMatch(new RegExp(`^processing \\{"run":"${runId}","fingerprint":"[0-9a-f]{32}"\\} owner=\\S+$`));
      expect(after).toMatch(new RegExp(`^completed \\{"run":"${runId}","fingerprint":"[0-9a-f]{32}"\\}$`));
      expect(`${during}${after}`).not.toContain("4111");
    });

    test("sees the parsed input: what coercions and defaults make equal is equal", async () => {
      const Order = orderTask({ fingerprint: true });

      await Order.execute({ data: 1, count: "1" });

      expect(await Order.execute({ data: 1, count: 1 })).toMatchObject({ metadata: { code: "duplicate" } });
      expect(await Order.execute({ data: 1 })).toMatchObject({ metadata: { code: "duplicate" } });
    });

    const equal: [name: string, one: unknown, other: unknown][] = [
      ["another order of keys, at every depth", { a: { x: 1, y: [{ p: 1, q: 2 }] }, b: 2 }, { b: 2, a: { y: [{ q: 2, p: 1 }], x: 1 } }],
      ["a field that is undefined and one that is missing", { a: 1, b: undefined }, { a: 1 }],
      ["equal dates", new Date(5), new Date(5)],
      [
        "maps in another order",
        new Map([
          ["a", 1],
          ["b", 2],
        ]),
        new Map([
          ["b", 2],
          ["a", 1],
        ]),
      ],
      ["sets in another order", new Set([1, 2]), new Set([2, 1])],
      ["equal bigints", 5n, 5n],
      ["equal bytes", new Uint8Array([1, 2]), new Uint8Array([1, 2])],
      ["NaN", Number.NaN, Number.NaN],
      ["objects with and without a prototype", { a: 1 }, Object.assign(Object.create(null) as object, { a: 1 })],
    ];
    test.each(equal)("takes %s for the same request", async (_name, one, other) => {
      const Order = orderTask({ fingerprint: true });

      await Order.execute({ data: one });

      expect(await Order.execute({ data: other })).toMatchObject({ metadata: { code: "duplicate" } });
    });

    const different: [name: string, one: unknown, other: unknown][] = [
      ["5 and '5'", 5, "5"],
      ["5 and 5n", 5, 5n],
      ["null and undefined", null, undefined],
      ["a missing field and one that is null", {}, { a: null }],
      ["two dates", new Date(5), new Date(6)],
      ["a date and its text", new Date(0), new Date(0).toISOString()],
      ["another order of an array", [1, 2], [2, 1]],
      ["maps with other values", new Map([["a", 1]]), new Map([["a", 2]])],
      ["a map and an object", new Map([["a", 1]]), { a: 1 }],
      ["a set and an array", new Set([1]), [1]],
      ["other bytes", new Uint8Array([1]), new Uint8Array([2])],
      ["0 and -0", 0, -0],
      ["keys that look like each other", { "a:1,b": 2 }, { a: 1, b: 2 }],
      ["nested keys", { a: { b: 1 } }, { a: { c: 1 } }],
      ["texts with quotes", 'a","b', "a"],
    ];
    test.each(different)("takes %s for different requests", async (_name, one, other) => {
      const Order = orderTask({ fingerprint: true });

      await Order.execute({ data: one });

      expect(await Order.execute({ data: other })).toMatchObject({ metadata: { code: "fingerprint_mismatch" } });
    });

    test("of a function compares what the function picks, with the task as this and as argument", async () => {
      class Order extends Task.with({ input: z.object({ id: z.string(), amount: z.number(), note: z.string() }) }) {
        work(): void {}
      }
      idempotentBy("id", {
        fingerprint(this: Order, task: Order) {
          return this === task ? { amount: task.input.amount } : Math.random();
        },
      } as IdempotencyOptions<Order> & IdempotencyOptions)(Order);

      await Order.execute({ id: "o1", amount: 5, note: "a" });

      expect(await Order.execute({ id: "o1", amount: 5, note: "b" })).toMatchObject({ metadata: { code: "duplicate" } });
      expect(await Order.execute({ id: "o1", amount: 6, note: "a" })).toMatchObject({ metadata: { code: "fingerprint_mismatch" } });
    });

    test("that was never written, by an older release or another program, disagrees with nothing", async () => {
      const Order = orderTask({ fingerprint: true });
      await world.put(KEY, "completed", 60_000);

      expect(await Order.execute({ data: 1 })).toMatchObject({ status: "skipped", metadata: { code: "duplicate" } });
    });

    test("that is off now does not look at one that was written before", async () => {
      await orderTask({ fingerprint: true }).execute({ data: 1 });
      const Order = class Order extends Task.with({ input: z.object({ id: z.string() }), name: "Order2" }) {
        work(): void {}
      };
      idempotentBy("id")(Order);
      await world.put("cmdx:idem:Order2:o1", (await world.raw(KEY)) ?? "", 60_000);

      expect(await Order.execute({ id: "o1" })).toMatchObject({ status: "skipped", metadata: { code: "duplicate" } });
    });

    test.each<[string, () => unknown]>([
      [
        "throws",
        () => {
          throw new Error("no hash today");
        },
      ],
      ["gives what cannot be compared", () => Symbol("x")],
      ["gives a promise", () => Promise.resolve(1)],
      ["gives a promise that rejects", () => Promise.reject(new Error("no hash today"))],
      [
        "gives a value that contains itself",
        () => {
          const loop: unknown[] = [];
          loop.push(loop);
          return loop;
        },
      ],
    ])("that %s fails the run before anything is claimed", async (_name, fingerprint) => {
      const Order = orderTask({ fingerprint });

      const result = await Order.execute({ data: 1 });

      expect(result).toMatchObject({ status: "failed", rolledBack: false });
      expect(world.store.calls).toEqual([]);
    });

    test("is not asked for when the key is blank", async () => {
      const events = recordEvents("idempotency_bypassed");
      const Order = orderTask({
        fingerprint: () => {
          throw new Error("must not be asked");
        },
      });

      expect(await Order.execute({ id: "", data: 1 })).toHaveProperty("status", "success");
      expect(ofName(events, "idempotency_bypassed")).toHaveLength(1);
    });
  });
});
