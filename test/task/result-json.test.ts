import * as fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { Fault, resetConfiguration, Task, type Result } from "taskwright";
import { jsonSafe } from "../../src/task/result-json.js";
import { taskOf } from "../support/builders.js";

afterEach(() => {
  resetConfiguration();
});

class Money {
  readonly cents = 5n;
}

const throughJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

describe("JSON.stringify of a result", () => {
  test("leaves out output and context unless they are asked for", async () => {
    const result = await taskOf((task) => {
      task.context["token"] = "secret";
      return { password: "hunter2" };
    }).execute();

    expect(JSON.stringify(result)).not.toMatch(/secret|hunter2/);
    expect(throughJson(result)).not.toHaveProperty("output");
    expect(result.toJSON({ output: true })).toMatchObject({ output: { password: "hunter2" } });
    expect(result.toJSON({ output: true })).not.toHaveProperty("context");
    expect(result.toJSON({ context: true })).toMatchObject({ context: { token: "secret" } });
  });

  test("leaves them out also when the result lies in something else", async () => {
    const result = await taskOf(() => ({ password: "hunter2" })).execute();

    expect(JSON.stringify({ 0: result, list: [result] }, null, 2)).not.toContain("hunter2");
  });

  test("leaves them out also when the result lies in the metadata, context or error of another", async () => {
    const inner = await taskOf((task) => {
      task.context["token"] = "secret";
      return { password: "hunter2" };
    }).execute();

    const outer = await taskOf((task) => {
      task.metadata["inner"] = inner;
      task.context["inner"] = { deep: [inner] };
      return { inner };
    }).execute();

    expect(JSON.stringify(outer)).not.toMatch(/secret|hunter2/);
    expect(JSON.stringify(outer.toJSON({ context: true, output: true }))).not.toMatch(/secret|hunter2/);
    expect(throughJson(outer)).toMatchObject({ metadata: { inner: { status: "success", runId: inner.runId } } });
  });

  test("shows the error of a failure by name, message, code and cause, and its stack only when asked", async () => {
    const cause = Object.assign(new TypeError("no route"), { code: "ENOTFOUND" });
    const result = await taskOf(() => {
      throw new Error("network", { cause });
    }).execute();

    expect(throughJson(result)).toMatchObject({
      status: "failed",
      error: { name: "Error", message: "network", cause: { name: "TypeError", message: "no route", code: "ENOTFOUND" } },
    });
    expect(JSON.stringify(result)).not.toContain("result-json.test");
    expect(JSON.stringify(result.toJSON({ stack: true }))).toContain("result-json.test");
  });

  test("shows all errors of an AggregateError", async () => {
    const result = await taskOf(() => Promise.any([Promise.reject(new Error("a")), Promise.reject(new Error("b"))])).execute();

    expect(throughJson(result)).toMatchObject({ error: { name: "AggregateError", errors: [{ message: "a" }, { message: "b" }] } });
  });

  test("shows an error that was given in the metadata", async () => {
    const result = await taskOf((task) => task.skip("closed", { error: new Error("kept") })).execute();

    expect(throughJson(result)).toMatchObject({ metadata: { error: { name: "Error", message: "kept" } } });
  });

  test("of a fault shows its message and cause, and not the whole result", async () => {
    const Sample = taskOf((task) => task.fail("declined", { password: "hunter2" }));
    const fault: unknown = await Sample.executeBang().catch((error: unknown) => error);

    expect(fault).toBeInstanceOf(Fault);
    expect(jsonSafe(fault)).toEqual({
      name: "Fault",
      message: "Sample failed: declined",
      code: "failed",
      cause: { name: "FailError", message: "declined", code: "failed" },
    });
  });
});

describe("any value as JSON", () => {
  const cyclic: Record<string, unknown> = { name: "loop" };
  cyclic["self"] = cyclic;
  const shared = { id: 1 };

  test.each<[string, unknown, unknown]>([
    ["a date", new Date(0), "1970-01-01T00:00:00.000Z"],
    ["a date that is none", new Date(Number.NaN), "Invalid Date"],
    ["a bigint", 12345678901234567890n, "12345678901234567890"],
    ["NaN", Number.NaN, "NaN"],
    ["an infinity", -Infinity, "-Infinity"],
    ["minus zero", -0, 0],
    ["undefined in an object", { a: undefined, b: 1 }, { b: 1 }],
    ["undefined in an array", [undefined, 1], [null, 1]],
    ["a symbol", Symbol("s"), "Symbol(s)"],
    ["a function", function named() {}, "[function named]"],
    [
      "a function without a name",
      (
        () => () =>
          undefined
      )(),
      "[function]",
    ],
    [
      "a map",
      new Map<unknown, unknown>([
        ["a", 1],
        [2, new Map([["b", 2n]])],
        [{}, 3],
      ]),
      { a: 1, 2: { b: "2" }, "[object]": 3 },
    ],
    ["a set", new Set([1, new Set(["a"])]), [1, ["a"]]],
    ["bytes", new Uint8Array(3), "[Uint8Array of 3 bytes]"],
    ["a buffer", Buffer.from("abc"), "[Buffer of 3 bytes]"],
    ["a cycle", cyclic, { name: "loop", self: "[circular]" }],
    ["the same object twice, which is no cycle", [shared, shared], [{ id: 1 }, { id: 1 }]],
    ["a URL", new URL("https://example.com/a"), "https://example.com/a"],
    ["an instance", new Money(), { cents: "5" }],
    ["a key __proto__", JSON.parse('{"__proto__":{"polluted":true}}'), JSON.parse('{"__proto__":{"polluted":true}}')],
    ["an object without a prototype", Object.assign(Object.create(null) as object, { a: 1 }), { a: 1 }],
    ["a toJSON of its own", { toJSON: () => ({ shown: true }) }, { shown: true }],
    ["a regular expression", /a/, {}],
  ])("%s", (_, value, expected) => {
    expect(JSON.parse(JSON.stringify(jsonSafe(value)))).toEqual(expected);
  });

  test("a toJSON that throws, and a getter that throws, are told as such", () => {
    const broken = {
      toJSON() {
        throw new Error("no");
      },
    };
    const unreadable = Object.defineProperty({ kept: 1 }, "a", {
      enumerable: true,
      get() {
        throw new Error("no");
      },
    });

    expect(jsonSafe({ broken, unreadable, rest: 1 })).toMatchObject({ broken: "[unreadable]", rest: 1 });
  });

  test("a toJSON that gives itself does not go on for ever", () => {
    const endless = { toJSON: (): unknown => ({ again: endless }) };

    expect(() => JSON.stringify(jsonSafe(endless))).not.toThrow();
  });

  test("a toJSON that always gives something new does not go on for ever", () => {
    const endless = (): object => ({ toJSON: endless });

    expect(() => JSON.stringify(jsonSafe(endless()))).not.toThrow();
  });

  test("very deep data does not run out of stack", () => {
    let deep: unknown = "bottom";
    for (let i = 0; i < 50_000; i += 1) deep = { deep };

    expect(() => JSON.stringify(jsonSafe(deep))).not.toThrow();
  });

  test("is always something that JSON can hold, and the second time changes nothing", () => {
    const anything = fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withSet: true,
      withTypedArray: true,
      withSparseArray: true,
    });
    fc.assert(
      fc.property(anything, (value) => {
        const once = jsonSafe(value);
        expect(JSON.parse(JSON.stringify(once))).toEqual(JSON.parse(JSON.stringify(jsonSafe(once))));
      }),
      { numRuns: 500 },
    );
  });

  test("does not change what it shows", () => {
    const given = { at: new Date(0), list: [1n] };
    const result = jsonSafe(Object.freeze(given));

    expect(result).toEqual({ at: "1970-01-01T00:00:00.000Z", list: ["1"] });
    expect(given).toEqual({ at: new Date(0), list: [1n] });
  });
});

test("a result with everything odd in it can be written down", async () => {
  const cyclic: unknown[] = [];
  cyclic.push(cyclic);
  const odd = {
    cyclic,
    big: 1n,
    at: new Date(0),
    error: new Error("e"),
    map: new Map([[1, cyclic]]),
    symbol: Symbol("s"),
    [Symbol("k")]: 1,
  };
  class Sample extends Task.with() {
    work(): unknown {
      Object.assign(this.metadata, odd);
      Object.assign(this.context, odd);
      return odd;
    }
  }

  const result: Result = await Sample.execute();

  expect(throughJson(result.toJSON({ output: true, context: true }))).toMatchObject({
    output: { big: "1", cyclic: ["[circular]"], error: { message: "e" } },
    context: { big: "1" },
    metadata: { big: "1", symbol: "Symbol(s)" },
  });
});
