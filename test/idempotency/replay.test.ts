import { deepStrictEqual } from "node:assert";
import { isDeepStrictEqual } from "node:util";
import { describe, expect, test } from "vitest";
import { ofName, recordEvents } from "../support/builders.js";
import * as v from "valibot";
import { z } from "zod";
import type { ObjectSchema } from "../../src/task/schema.js";
import { operations } from "./charge.js";
import { KEY, reportTask, twice } from "./outputs.js";
import { onEachStore } from "./world.js";

const anything = z.object({ value: z.unknown() });

class Money {
  readonly cents: number;

  constructor(cents: number) {
    this.cents = cents;
  }
}

onEachStore((world) => {
  describe("the replay gives the output of the first run, deep-equal and with its types", () => {
    const shared = { a: 1 };
    const values: [name: string, value: unknown][] = [
      ["a text", "größe 🎉\u2028 \u0000 </script>"],
      ["half a surrogate pair", "a\uD800"],
      ["a text that looks like the mark of an owner", "paid owner=ada"],
      ["a text that ends like the mark of an owner", "paid owner="],
      ["a number", 0.1 + 0.2],
      ["a date", new Date(1_234_567)],
      ["a bigint", 2n ** 80n],
      [
        "a map",
        new Map<unknown, unknown>([
          ["a", new Date(5)],
          [{ k: 1 }, new Set([1n])],
        ]),
      ],
      ["a set", new Set<unknown>(["a", { b: 1 }, Number.NaN])],
      ["a URL", new URL("https://example.com/a?b=1#c")],
      ["search parameters", new URLSearchParams("a=1&a=2")],
      ["bytes", new Uint8Array([0, 1, 255])],
      ["floats", new Float64Array([0.5, Number.NaN, -0])],
      ["big bytes", new BigInt64Array([-1n, 2n])],
      ["an array buffer", new Uint8Array([1, 2, 3]).buffer],
      ["a regular expression", /a+b/giu],
      ["NaN", Number.NaN],
      ["-0", -0],
      ["Infinity", Number.NEGATIVE_INFINITY],
      ["undefined in an array", [undefined, 1, undefined]],
      ["null", null],
      ["a field that is undefined beside one that is null", { a: undefined, b: null }],
      ["a deep value", { a: [{ b: new Map([["c", { d: [new Date(0)] }]]) }] }],
      ["one object in two places", [shared, shared]],
      ["an empty object", {}],
      ["an empty array", []],
      ["an object with a key called constructor", { constructor: 1, toString: "x" }],
      ["many fields", Object.fromEntries(Array.from({ length: 2_000 }, (_, i) => [`k${i}`, i]))],
    ];

    test.each(values)("%s", async (_name, value) => {
      const { first, second, seen } = await twice(anything, { value });

      expect(first).toMatchObject({ status: "success", replayed: false });
      expect(second).toMatchObject({ status: "success", replayed: true, metadata: { code: "duplicate", state: "completed" } });
      deepStrictEqual(Reflect.get(second, "output"), Reflect.get(first, "output"));
      expect(seen.works).toBe(1);
    });

    test("a field that is missing stays missing, and one that is undefined stays there", async () => {
      const { second } = await twice(z.object({ a: z.string().optional(), b: z.string().optional() }), { a: undefined });

      expect(Object.keys(Reflect.get(second, "output") as object)).toEqual(["a"]);
    });

    test("a value that contains itself", async () => {
      const loop: Record<string, unknown> = { name: "loop" };
      loop["self"] = loop;
      const { second } = await twice(anything, { value: loop });

      const output = Reflect.get(second, "output") as { value: { self: unknown } };
      expect(output.value.self).toBe(output.value);
    });

    test("bytes that are a part of a larger buffer are stored without what lies around them", async () => {
      const pool = new TextEncoder().encode("secret-of-somebody-else:hello:secret-of-another");
      const view = pool.subarray(24, 29);
      const { first, second } = await twice(anything, { value: view });

      expect((await world.raw(KEY))?.length).toBeLessThan(200);
      expect(new Uint8Array((Reflect.get(second, "output") as { value: Uint8Array }).value.buffer)).toEqual(new Uint8Array(view));
      deepStrictEqual(Reflect.get(second, "output"), Reflect.get(first, "output"));
    });

    test("a DataView of a part of a larger buffer, too", async () => {
      const pool = new TextEncoder().encode("secret-of-somebody-else:hello:secret-of-another");
      const { second } = await twice(anything, { value: new DataView(pool.buffer, 24, 5) });

      expect((Reflect.get(second, "output") as { value: DataView }).value.buffer.byteLength).toBe(5);
    });
  });

  describe("through the schema again", () => {
    const isoDate = z.codec(z.iso.datetime(), z.date(), { decode: (text) => new Date(text), encode: (date) => date.toISOString() });

    test("codecs: what is stored is the encoded side, and the replay is decoded", async () => {
      const { first, second } = await twice(z.object({ at: isoDate }), { at: "2026-01-02T03:04:05.000Z" });

      expect(await world.raw(KEY)).toContain("2026-01-02T03:04:05.000Z");
      expect(await world.raw(KEY)).not.toContain("Date");
      expect(first).toMatchObject({ output: { at: new Date("2026-01-02T03:04:05.000Z") } });
      deepStrictEqual(Reflect.get(second, "output"), Reflect.get(first, "output"));
    });

    test("classes of the author's, by a codec", async () => {
      const money = z.codec(z.object({ cents: z.number() }), z.instanceof(Money), {
        decode: ({ cents }) => new Money(cents),
        encode: ({ cents }) => ({ cents }),
      });
      const { first, second } = await twice(z.object({ price: money }), { price: { cents: 500 } });

      expect(first).toMatchObject({ output: { price: new Money(500) } });
      deepStrictEqual(Reflect.get(second, "output"), Reflect.get(first, "output"));
    });

    test("maps, sets, records, tuples and text that stands for a boolean", async () => {
      const schema = z.object({
        map: z.map(z.string(), z.date()),
        set: z.set(z.bigint()),
        record: z.record(z.string(), z.number()),
        tuple: z.tuple([z.string(), z.number().optional()]),
        flag: z.stringbool(),
        caught: z.number().catch(7),
        deep: z.object({ at: z.date() }).readonly(),
      });
      const { first, second } = await twice(schema, {
        map: new Map([["a", new Date(1)]]),
        set: new Set([1n]),
        record: { a: 1 },
        tuple: ["x"],
        flag: "yes",
        caught: "none",
        deep: { at: new Date(2) },
      });

      expect(first).toMatchObject({ output: { flag: true, caught: 7 } });
      expect(second).toHaveProperty("replayed", true);
      deepStrictEqual(Reflect.get(second, "output"), Reflect.get(first, "output"));
    });

    test("coercions", async () => {
      const { first, second } = await twice(z.object({ n: z.coerce.number(), d: z.coerce.date(), b: z.coerce.bigint() }), {
        n: "5",
        d: "2026-01-02",
        b: "7",
      });

      expect(first).toMatchObject({ output: { n: 5, d: new Date("2026-01-02"), b: 7n } });
      deepStrictEqual(Reflect.get(second, "output"), Reflect.get(first, "output"));
    });

    test("defaults", async () => {
      const { first, second } = await twice(z.object({ n: z.number().default(7), p: z.string().prefault("x") }), {});

      expect(first).toMatchObject({ output: { n: 7, p: "x" } });
      deepStrictEqual(Reflect.get(second, "output"), Reflect.get(first, "output"));
    });

    test("transforms that go one way only", async () => {
      const { first, second } = await twice(z.object({ n: z.string().transform((text) => text.length) }), { n: "four" });

      expect(first).toMatchObject({ output: { n: 4 } });
      deepStrictEqual(Reflect.get(second, "output"), Reflect.get(first, "output"));
    });

    test("defaults that are made anew each time", async () => {
      let made = 0;
      const { first, second } = await twice(z.object({ id: z.string().default(() => `id-${(made += 1)}`) }), {});

      deepStrictEqual(Reflect.get(second, "output"), Reflect.get(first, "output"));
    });

    let made = 0;
    const seconds = z.codec(z.number(), z.date(), {
      decode: (s) => new Date(s * 1_000),
      encode: (date) => Math.floor(date.getTime() / 1_000),
    });
    const unsteady: [name: string, schema: ObjectSchema, value: object][] = [
      [
        "defaults that are made anew each time, beside a transform that goes one way only",
        z.object({ id: z.string().default(() => `id-${(made += 1)}`), n: z.string().transform((text) => text.length) }),
        { n: "four" },
      ],
      [
        "a transform that answers differently each time",
        z.object({ n: z.string().transform((text) => `${text}-${(made += 1)}`) }),
        { n: "a" },
      ],
      ["a codec that loses something on the way back", z.object({ at: seconds }), { at: 1.5 }],
      [
        "a default of another validator that is made anew each time",
        v.object({ id: v.optional(v.string(), () => `id-${(made += 1)}`) }),
        {},
      ],
    ];
    test.each(unsteady)(
      "%s: the same output again, or none and an event that says so, but never another output",
      async (_name, schema, value) => {
        const events = recordEvents("idempotency_output_lost");
        const { first, second } = await twice(schema, value);

        const isSame = second.status === "success" && isDeepStrictEqual(second.output, Reflect.get(first, "output"));
        const isTold = second.status === "skipped" && events.length === 1;
        expect(isSame || isTold).toBe(true);
      },
    );

    test("checks and transforms that are asynchronous", async () => {
      const { first, second } = await twice(
        z.object({
          n: z.string().transform(async (text) => Promise.resolve(text.length)),
          m: z.string().refine(async () => Promise.resolve(true)),
        }),
        { n: "four", m: "x" },
      );

      expect(first).toMatchObject({ output: { n: 4, m: "x" } });
      deepStrictEqual(Reflect.get(second, "output"), Reflect.get(first, "output"));
    });

    test("unions, and fields that the schema takes away", async () => {
      const schema = z.discriminatedUnion("kind", [z.object({ kind: z.literal("a"), n: z.number() }), z.object({ kind: z.literal("b") })]);
      const { first, second } = await twice(schema, { kind: "a", n: 1, secret: "s3cret" });

      expect(await world.raw(KEY)).not.toContain("s3cret");
      deepStrictEqual(Reflect.get(second, "output"), Reflect.get(first, "output"));
    });

    test("by this.success() as by return", async () => {
      const { Report } = reportTask(z.object({ at: z.date() }), (task) =>
        (task as unknown as { success(output: object): never }).success({ at: new Date(5) }),
      );

      await Report.execute();

      expect(await Report.execute()).toMatchObject({ replayed: true, output: { at: new Date(5) } });
    });
  });

  test("a replay asks the store once, and its events are duplicate and replayed", async () => {
    const events = recordEvents();
    const { Report } = reportTask(anything, () => ({ value: 1 }));
    await Report.execute();
    const [before, calls] = [events.length, world.store.calls.length];

    const result = await Report.execute();

    expect(operations(world.store.calls.slice(calls))).toEqual(["claim"]);
    expect(events.slice(before).map(({ name }) => name)).toEqual([
      "task_started",
      "idempotency_duplicate",
      "idempotency_replayed",
      "task_executed",
    ]);
    expect(ofName(events, "idempotency_replayed")[0]?.payload).toEqual({ idempotencyKey: KEY });
    expect(result).toMatchObject({
      retries: 0,
      rolledBack: false,
      metadata: { code: "duplicate", idempotencyKey: KEY, state: "completed" },
    });
  });

  test("the slot names the run and holds the output behind the word", async () => {
    const { Report } = reportTask(anything, () => ({ value: "x" }));

    const { runId } = await Report.execute();

    const raw = await world.raw(KEY);
    expect(raw?.split(" ")[0]).toBe("completed");
    expect(JSON.parse(raw?.slice("completed ".length) ?? "")).toEqual({ run: runId, output: expect.any(String) });
  });

  describe("an output that cannot be stored", () => {
    const unstorable: [name: string, value: unknown][] = [
      ["a function", () => 1],
      ["a class instance", new Money(5)],
      ["a symbol", Symbol("x")],
      ["an error", new Error("x")],
      ["a promise", Promise.resolve(1)],
      ["a weak map", new WeakMap()],
      ["an instance of a subclass of Map", new (class Ledger extends Map<string, number> {})([["a", 1]])],
      ["an instance of a subclass of Date", new (class Day extends Date {})(0)],
      ["a Buffer", Buffer.from("hello")],
      ["a symbol as a key", { [Symbol("x")]: 1 }],
      ["a function deep inside", { a: [{ b: () => 1 }] }],
    ];

    test.each(unstorable)("(%s) is forgotten: the run succeeds, and later calls are skipped duplicates", async (_name, value) => {
      const events = recordEvents("idempotency_output_lost", "idempotency_completed");
      const { first, second, seen } = await twice(anything, { value });

      expect(first).toMatchObject({ status: "success", output: { value } });
      expect(second).toMatchObject({ status: "skipped", metadata: { code: "duplicate", state: "completed" } });
      expect(seen).toEqual({ works: 1, rollbacks: 0 });
      expect(ofName(events, "idempotency_output_lost").map(({ payload }) => payload)).toEqual([
        { idempotencyKey: KEY, why: "unstorable", error: expect.objectContaining({ code: "unstorable_output" }) },
      ]);
      expect(ofName(events, "idempotency_completed")).toHaveLength(1);
      expect((await world.raw(KEY))?.split(" ")[0]).toBe("completed");
    });

    test.each(unstorable)("(%s) fails the run where onUnstorable is fail: it is rolled back and the key is free", async (_name, value) => {
      const events = recordEvents();
      const { Report, seen } = reportTask(anything, () => ({ value }), { onUnstorable: "fail" });

      const result = await Report.execute();

      expect(result).toMatchObject({ status: "failed", retryable: false, rolledBack: true, error: { code: "unstorable_output" } });
      expect(seen).toEqual({ works: 1, rollbacks: 1 });
      expect(await world.raw(KEY)).toBeUndefined();
      expect(events.map(({ name }) => name)).toEqual([
        "task_started",
        "idempotency_claimed",
        "idempotency_output_lost",
        "task_rolled_back",
        "idempotency_released",
        "task_executed",
      ]);
    });

    test("says where it is", async () => {
      const { Report } = reportTask(anything, () => ({ value: { a: [{ b: () => 1 }] } }), { onUnstorable: "fail" });

      expect((await Report.execute()).reason).toContain("output.value.a[0].b");
    });

    test.each([
      ["forget", { status: "success" }, "completed"],
      ["fail", { status: "failed", rolledBack: true, retryable: false }, undefined],
    ] as const)("because it is too large follows onUnstorable %s", async (onUnstorable, expected, word) => {
      const events = recordEvents("idempotency_output_lost");
      const { Report } = reportTask(anything, () => ({ value: "ä".repeat(600) }), { onUnstorable, maxOutputBytes: 1_000 });

      expect(await Report.execute()).toMatchObject(expected);

      expect(ofName(events, "idempotency_output_lost").map(({ payload }) => payload.why)).toEqual(["too_large"]);
      expect(ofName(events, "idempotency_output_lost")[0]?.payload.error.message).toContain("1000");
      expect((await world.raw(KEY))?.split(" ")[0]).toBe(word);
    });

    test("is stored when it is exactly as large as allowed", async () => {
      const text = JSON.stringify([{ value: 1 }, "x".repeat(50)]);
      const { Report } = reportTask(anything, () => ({ value: "x".repeat(50) }), { maxOutputBytes: text.length, onUnstorable: "fail" });

      expect(await Report.execute()).toHaveProperty("status", "success");
      expect(await Report.execute()).toHaveProperty("replayed", true);
    });

    test("plays no part where nothing is replayed", async () => {
      const { Report } = reportTask(anything, () => ({ value: () => 1 }), { onDuplicate: "skip", onUnstorable: "fail" });

      expect(await Report.execute()).toHaveProperty("status", "success");
      expect(await world.raw(KEY)).toBe("completed");
    });
  });

  describe("a stored output that cannot be read any more", () => {
    const completed = (output: unknown): string => `completed ${JSON.stringify({ run: "r1", output })}`;

    test.each<[name: string, text: string, why?: "unreadable"]>([
      ["does not fit the schema of this release", completed('[{"total":1},5]'), "unreadable"],
      ["is not of our encoding", completed("not devalue"), "unreadable"],
      ["is cut off", completed('[{"value":1},"x'), "unreadable"],
      ["names a type that nobody knows", completed('[{"value":1},["Money",2],5]'), "unreadable"],
      ["points outside of itself", completed('[{"value":99}]'), "unreadable"],
      ["is missing", 'completed {"run":"r1"}'],
      ["is no text", completed(5)],
      ["follows no JSON", "completed {broken"],
      ["is the word alone", "completed"],
    ])("(it %s) makes a skipped duplicate, and never another run", async (_name, text, why) => {
      const events = recordEvents("idempotency_output_lost", "idempotency_replayed", "idempotency_duplicate");
      const { Report, seen } = reportTask(z.object({ value: z.string() }), () => ({ value: "x" }));
      await world.put(KEY, text, 60_000);

      const result = await Report.execute();

      expect(result).toMatchObject({ status: "skipped", metadata: { code: "duplicate", state: "completed", idempotencyKey: KEY } });
      expect(seen).toEqual({ works: 0, rollbacks: 0 });
      expect(ofName(events, "idempotency_replayed")).toEqual([]);
      expect(ofName(events, "idempotency_duplicate")).toHaveLength(1);
      expect(await world.raw(KEY)).toBe(text);
      expect(ofName(events, "idempotency_output_lost").map(({ payload }) => payload.why)).toEqual(why === undefined ? [] : [why]);
    });

    test("because a check of the schema throws, makes a skipped duplicate too", async () => {
      let broken = false;
      const schema = z.object({
        value: z.string().refine(() => {
          if (broken) throw new Error("no check today");
          return true;
        }),
      });
      const { Report } = reportTask(schema, () => ({ value: "x" }));
      await Report.execute();
      broken = true;

      expect(await Report.execute()).toMatchObject({ status: "skipped", metadata: { code: "duplicate" } });
    });
  });
});
