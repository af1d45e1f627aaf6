import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonical } from "../../src/support/canonical.js";

describe("the canonical text", () => {
  test("is the same for equal values, in whatever order they were put together", () => {
    expect(canonical({ a: 1, b: { c: 2, d: 3 } })).toBe(canonical({ b: { d: 3, c: 2 }, a: 1 }));
    expect(canonical(new Set([1, "b", 3n]))).toBe(canonical(new Set([3n, 1, "b"])));
    const entries: [unknown, number][] = [
      ["a", 1],
      [{ k: 1 }, 2],
    ];
    expect(canonical(new Map(entries))).toBe(canonical(new Map(entries.toReversed())));
    expect(canonical({ a: undefined, b: 1 })).toBe(canonical({ b: 1 }));
    expect(canonical(Object.assign(Object.create(null) as object, { a: 1 }))).toBe(canonical({ a: 1 }));
  });

  test("tells everything apart that is not equal", () => {
    const values: unknown[] = [
      undefined,
      null,
      true,
      "true",
      0,
      -0,
      "0",
      0n,
      Number.NaN,
      "NaN",
      Infinity,
      "",
      [],
      {},
      [undefined],
      [null],
      ["a", "b"],
      ["a,b"],
      [["a"], "b"],
      { a: 1 },
      { a: "1" },
      { a: null },
      { "a:1": 1 },
      [{ a: 1 }],
      new Date(0),
      "1970-01-01T00:00:00.000Z",
      0.1,
      new Map(),
      new Set(),
      new Map([["a", 1]]),
      new Map([[1, 1]]),
      new Set(["a"]),
      new Set([["a"]]),
      new URL("https://a.example/"),
      "https://a.example/",
      new Uint8Array([1]),
      new Uint8Array([1, 0]),
      new Int8Array([1]),
      new Uint8Array([1]).buffer,
      "Date(0)",
    ];

    expect(new Set(values.map((value) => canonical(value))).size).toBe(values.length);
  });

  test("orders keys by code unit, whatever the locale", () => {
    expect(canonical({ ä: 1, z: 2, a: 3, Z: 4, "10": 5, "9": 6 })).toBe('{"10":5,"9":6,"Z":4,"a":3,"z":2,"ä":1}');
  });

  test("reads a view of a buffer only where it looks", () => {
    const { buffer } = new Uint8Array([9, 1, 2, 9]);

    expect(canonical(new Uint8Array(buffer, 1, 2))).toBe(canonical(new Uint8Array([1, 2])));
  });

  test("lets the same object occur twice", () => {
    const shared = { a: 1 };

    expect(canonical([shared, shared])).toBe('[{"a":1},{"a":1}]');
  });

  test("follows JSON for what JSON can say", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
        const sorted = (value: unknown): string =>
          JSON.stringify(value, (_, item: unknown) =>
            typeof item === "object" && item !== null && !Array.isArray(item)
              ? Object.fromEntries(Object.entries(item).toSorted(([x], [y]) => (x < y ? -1 : 1)))
              : Object.is(item, -0)
                ? "-0"
                : item,
          );

        expect(canonical(a) === canonical(b)).toBe(sorted(a) === sorted(b));
      }),
    );
  });

  test.each<[string, unknown]>([
    ["a function", () => undefined],
    ["a symbol", Symbol("s")],
    [
      "an instance",
      new (class Money {
        cents = 5;
      })(),
    ],
    ["an error", new Error("a")],
    ["a promise", Promise.resolve()],
    ["a regular expression", /a/],
  ])("is refused for %s, also deep inside", (_, value) => {
    expect(() => canonical(value)).toThrow(TypeError);
    expect(() => canonical({ list: [new Map([["a", value]])] })).toThrow(TypeError);
  });

  test("is refused for what contains itself", () => {
    const loop: unknown[] = [];
    loop.push({ loop });

    expect(() => canonical(loop)).toThrow("A value that contains itself cannot be compared");
  });
});
