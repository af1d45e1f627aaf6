import { describe, expect, test } from "vitest";
import { UnserializableError } from "../../src/errors.js";
import { cborSerializer } from "../../src/queue/serializers/cbor.js";
import { jsonSerializer } from "../../src/queue/serializers/json.js";
import { thrownBy } from "../support/builders.js";

class Money {
  readonly cents = 5;
}
const cycle: Record<string, unknown> = {};
cycle["self"] = { cycle };

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString("utf8");

describe("the json serializer", () => {
  const json = jsonSerializer();

  test.each([
    ["fields in their order", { b: 1, a: [true, null, "x"] }, '{"b":1,"a":[true,null,"x"]}'],
    ["no field that is undefined", { a: undefined, b: 1 }, '{"b":1}'],
    ["a date as text", { at: new Date(0) }, '{"at":"1970-01-01T00:00:00.000Z"}'],
    ["a URL as text", { url: new URL("https://a.b/c") }, '{"url":"https://a.b/c"}'],
    ["no input as an empty one", undefined, "{}"],
  ])("writes %s", (_, input, text) => {
    expect(textOf(json.serialize(input))).toBe(text);
  });

  test("gives back texts of any kind as they were", () => {
    const input = { text: "\0 \ud800 é \u2028", ["__proto__"]: 1 };
    expect(json.deserialize(json.serialize(input))).toEqual(input);
  });

  test("sorts keys only when it is asked to", () => {
    const canonical = jsonSerializer({ canonical: true });
    expect(textOf(canonical.serialize({ b: { d: 1, c: 2 }, a: 3 }))).toBe('{"a":3,"b":{"c":2,"d":1}}');
    expect(canonical.serialize({ a: 1, b: 2 })).toEqual(canonical.serialize({ b: 2, a: 1 }));
    expect(json.serialize({ a: 1, b: 2 })).not.toEqual(json.serialize({ b: 2, a: 1 }));
  });

  test.each([
    ["a function", { a: { f: () => 1 } }, ["a", "f"], "the function f at input.a.f"],
    ["a symbol", { a: Symbol("x") }, ["a"], "a symbol at input.a"],
    ["a bigint", { items: [{ id: 5n }] }, ["items", 0, "id"], "a bigint at input.items[0].id"],
    ["NaN", { n: Number.NaN }, ["n"], "NaN at input.n"],
    ["undefined in an array", { a: [1, undefined] }, ["a", 1], "undefined at input.a[1]"],
    ["a map", { m: new Map() }, ["m"], "an instance of Map at input.m"],
    ["bytes", { b: Buffer.from("x") }, ["b"], "bytes at input.b"],
    ["an instance of a class", { price: new Money() }, ["price"], "an instance of Money at input.price"],
    ["an invalid date", { at: new Date(Number.NaN) }, ["at"], "a value whose toJSON gives no text at input.at"],
    ["a cycle", cycle, ["self", "cycle"], "a value that contains itself at input.self.cycle"],
  ])("refuses %s with its path", (_, input, path, words) => {
    const error = thrownBy(() => json.serialize(input));
    expect(error).toBeInstanceOf(UnserializableError);
    expect(error).toMatchObject({ code: "unserializable", path, message: `The json serializer cannot carry the input: ${words}` });
  });

  test("refuses a getter that throws and a nesting without end, and gives the cause", () => {
    const trap = {
      get a(): never {
        throw new Error("not now");
      },
    };
    expect(thrownBy(() => json.serialize(trap))).toMatchObject({ code: "unserializable", cause: { message: "not now" } });
    let deep: unknown = 1;
    for (let at = 0; at < 100_000; at += 1) deep = { deep };
    expect(thrownBy(() => json.serialize(deep))).toMatchObject({ code: "unserializable" });
  });

  test("shares no cycle where a value merely comes twice", () => {
    const address = { city: "x" };
    expect(textOf(json.serialize({ from: address, to: address }))).toBe('{"from":{"city":"x"},"to":{"city":"x"}}');
  });
});

describe("the cbor serializer", () => {
  const cbor = cborSerializer();

  test("gives back dates, bigints, bytes and numbers as what they were", () => {
    const input = { at: new Date(1_234), big: 2n ** 60n, bytes: new Uint8Array([1, 2]), n: 1.5, inf: Infinity, nothing: null };
    expect(cbor.deserialize(cbor.serialize(input))).toEqual(input);
  });

  test("reads arguments by name as the input, and no argument as no input", () => {
    expect(cbor.deserialize(Buffer.from("028280a1616bf5", "hex"))).toEqual({ k: true });
    expect(cbor.deserialize(Buffer.from("028280a0", "hex"))).toBeUndefined();
  });

  test.each(["028282016161a0", "028281a0a1616bf5", "01c70a", "7b7d"])("refuses %s, which is no input of a task", (bytes) => {
    expect(() => cbor.deserialize(Buffer.from(bytes, "hex"))).toThrow(/CBOR payload/);
  });

  test.each([
    ["a set", { s: new Set() }, ["s"]],
    ["a lone surrogate", { t: "\ud800" }, ["t"]],
    ["a bigint beyond 64 bits", { b: 2n ** 64n }, ["b"]],
    ["an invalid date", { at: new Date(Number.NaN) }, ["at"]],
    ["a function", { f: () => 1 }, ["f"]],
  ])("refuses %s with its path", (_, input, path) => {
    expect(thrownBy(() => cbor.serialize(input))).toMatchObject({ code: "unserializable", path });
  });
});
