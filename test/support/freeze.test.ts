import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { addEntries, frozenCopy, frozenEntries, isPlain, setOwn } from "../../src/support/freeze.js";

/** All plain objects and arrays in a value. */
function plainParts(value: unknown, found = new Set<object>()): Set<object> {
  if (typeof value !== "object" || value === null || found.has(value)) return found;
  if (!Array.isArray(value) && !isPlain(value)) return found;
  found.add(value);
  for (const item of Object.values(value)) plainParts(item, found);
  return found;
}

describe("a frozen copy", () => {
  test("shares no plain object and no array with what it copies, and is frozen all through", () => {
    fc.assert(
      fc.property(fc.anything({ withDate: true, withMap: true, withSet: true, withBigInt: true }), (value) => {
        const copy = frozenCopy(value);
        const originals = plainParts(value);
        const copies = plainParts(copy);

        for (const part of copies) {
          expect(originals.has(part)).toBe(false);
          expect(Object.isFrozen(part)).toBe(true);
        }
        expect(copies.size).toBe(originals.size);
      }),
      { numRuns: 500 },
    );
  });

  test("is equal to what it copies, and leaves it as thawed as it was", () => {
    fc.assert(
      fc.property(fc.object({ withDate: true, withNullPrototype: false }), (value) => {
        const before = JSON.stringify(value);

        expect(frozenCopy(value)).toEqual(value);
        expect(JSON.stringify(value)).toBe(before);
        expect(Object.isFrozen(value)).toBe(Object.keys(value).length === 0 && !Object.isExtensible(value));
      }),
    );
  });

  test.each<[string, unknown]>([
    ["a date", new Date(0)],
    ["an error", new Error("kept")],
    ["a map", new Map()],
    [
      "an instance",
      new (class Money {
        cents = 5;
      })(),
    ],
    ["a function", (): void => undefined],
    ["bytes", new Uint8Array(2)],
    ["a promise", Promise.resolve()],
    ["a text", "text"],
    ["null", null],
    ["undefined", undefined],
    ["a symbol", Symbol("s")],
  ])("keeps %s by reference", (_, value) => {
    expect(frozenCopy({ value }).value).toBe(value);
    expect(frozenCopy(value)).toBe(value);
  });

  test("keeps the shape of what contains itself, and of what occurs twice", () => {
    const loop: Record<string, unknown> = { shared: {} };
    loop["self"] = loop;
    loop["list"] = [loop, loop["shared"]];

    const copy = frozenCopy(loop);

    expect(copy["self"]).toBe(copy);
    expect((copy["list"] as unknown[])[0]).toBe(copy);
    expect((copy["list"] as unknown[])[1]).toBe(copy["shared"]);
  });

  test("takes a key __proto__ as a key", () => {
    const copy = frozenCopy(JSON.parse('{"__proto__":{"admin":true}}') as object);

    expect(Object.keys(copy)).toEqual(["__proto__"]);
    expect(Object.getPrototypeOf(copy)).toBe(Object.prototype);
  });

  test("fills the holes of a list with undefined", () => {
    // oxlint-disable-next-line no-sparse-arrays -- holes are what is tested
    expect(frozenCopy([1, , 3])).toEqual([1, undefined, 3]);
  });

  test("does not call getters twice, and what they throw does not come through", () => {
    let calls = 0;
    const value = {
      get once() {
        calls += 1;
        return { calls };
      },
      get broken(): never {
        throw new Error("no");
      },
    };

    expect(frozenCopy(value)).toEqual({ once: { calls: 1 }, broken: "[unreadable]" });
    expect(calls).toBe(1);
  });

  test("of something without end comes to an end", () => {
    const endless = (): object => ({
      get more() {
        return endless();
      },
    });

    expect(() => frozenCopy(endless())).not.toThrow();
  });
});

describe("frozenEntries and addEntries", () => {
  test("copy own entries only, shallowly, and set no prototype", () => {
    const nested = { a: 1 };
    const bag = Object.assign(Object.create({ inherited: true }) as object, { nested });
    setOwn(bag, "__proto__", { admin: true });

    const copy = frozenEntries(bag);
    const target: { admin?: boolean } = {};
    addEntries(target, bag);

    expect(Object.keys(copy)).toEqual(["nested", "__proto__"]);
    expect(copy["nested"]).toBe(nested);
    expect(Object.isFrozen(copy)).toBe(true);
    expect(Object.isFrozen(nested)).toBe(false);
    expect(target.admin).toBeUndefined();
    expect(Object.getPrototypeOf(target)).toBe(Object.prototype);
  });
});

test("isPlain tells records from instances", () => {
  expect([{}, Object.create(null), JSON.parse("{}")].map((value) => isPlain(value as object))).toEqual([true, true, true]);
  expect(
    [
      [],
      new Date(),
      new Map(),
      Object.create({}),
      new (class Money {
        cents = 5;
      })(),
    ].map((value) => isPlain(value as object)),
  ).toEqual([false, false, false, false, false]);
});
