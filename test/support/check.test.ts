import { describe as group, expect, test } from "vitest";
import { isDefinitionError } from "taskwright";
import { checkFunction, checkInteger, checkOptions, checkWord, describe, list } from "../../src/support/check.js";
import { thrownBy } from "./builders.js";

const told = (body: () => unknown): string => {
  const error = thrownBy(body);
  if (!isDefinitionError(error)) throw new Error("it is no DefinitionError", { cause: error });
  return error.message;
};

group("checkOptions", () => {
  test("takes a record with allowed keys, whatever their values", () => {
    expect(() => checkOptions("@a()", {}, ["b"])).not.toThrow();
    expect(() => checkOptions("@a()", { b: undefined }, ["b"])).not.toThrow();
    expect(() => checkOptions("@a()", Object.assign(Object.create(null) as object, { b: 1 }), ["b"])).not.toThrow();
  });

  test("names all keys that are not allowed, also those that every object has", () => {
    expect(told(() => checkOptions("@a()", { c: 1, constructor: 2, b: 3 }, ["b"]))).toBe(
      '@a() has no option "c", "constructor". Allowed: "b". Check the spelling.',
    );
    expect(told(() => checkOptions("@a()", JSON.parse('{"__proto__":1}'), ["b"]))).toContain('has no option "__proto__"');
  });
});

group("checkWord, checkInteger and checkFunction", () => {
  test("give back what is right", () => {
    expect(checkWord("mode", "a", ["a", "b"])).toBe("a");
    expect(checkInteger("limit", 0, 0)).toBe(0);
    expect(checkInteger("limit", 5, 1, 5)).toBe(5);
    expect(() => checkFunction("listener", () => undefined)).not.toThrow();
  });

  test("tell option, value and what is allowed", () => {
    expect(told(() => checkWord("mode", "toString", ["a", "b"]))).toBe('mode must be one of "a", "b", got "toString".');
    expect(told(() => checkInteger("limit", 6, 1, 5))).toBe("limit must be a whole number from 1 to 5, got 6.");
    expect(told(() => checkInteger("limit", 2 ** 53, 0))).toBe("limit must be a whole number of 0 or more, got 9007199254740992.");
    expect(told(() => checkInteger("limit", 5n, 0))).toBe("limit must be a whole number of 0 or more, got 5n.");
    expect(told(() => checkInteger("limit", -0.5, 0))).toContain("got -0.5");
    expect(told(() => checkFunction("listener", {}))).toBe("listener must be a function, got an object.");
  });
});

group("a value in a message", () => {
  test.each<[unknown, string]>([
    ["text", '"text"'],
    ['a "quoted"\ntext', '"a \\"quoted\\"\\ntext"'],
    ["x".repeat(81), "a text of 81 characters"],
    [5, "5"],
    [Number.NaN, "NaN"],
    [5n, "5n"],
    [true, "true"],
    [null, "null"],
    [undefined, "undefined"],
    [Symbol("s"), "Symbol(s)"],
    [Date, "the function Date"],
    [() => undefined, "a function"],
    [[1, 2], "an array"],
    [{ password: "hunter2" }, "an object"],
    [new Map(), "an object"],
    [Object.create(null), "an object"],
  ])("%o", (value, text) => {
    expect(describe(value)).toBe(text);
  });

  test("of what cannot be read says so", () => {
    const { proxy, revoke } = Proxy.revocable([], {});
    revoke();

    expect(describe(proxy)).toBe("a value that cannot be read");
    expect(describe(Object.defineProperty(() => undefined, "name", { value: Symbol("n") }))).toBe("a function");
  });
});

test("list quotes each word", () => {
  expect(list(["a", 'b"'])).toBe('"a", "b\\""');
  expect(list([])).toBe("");
});
