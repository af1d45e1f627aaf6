import { describe, expect, test } from "vitest";
import fc from "fast-check";
import { DefinitionError, StoreKey } from "taskwright";
import { segmentText } from "../../src/claims/key.js";

describe("StoreKey.compose", () => {
  test("joins namespace, task and segment with colons", () => {
    expect(StoreKey.compose("cmdx:idem", "ChargeCustomer", "pay_123")).toBe("cmdx:idem:ChargeCustomer:pay_123");
  });

  test.each([
    [["", "ChargeCustomer", "pay_123"], "namespace"],
    [["cmdx:idem", "", "pay_123"], "taskName"],
    [["cmdx:idem", "ChargeCustomer", ""], "segment"],
  ] as const)("refuses an empty part of %j, and names it", ([namespace, task, segment], part) => {
    expect(() => StoreKey.compose(namespace, task, segment)).toThrow(`A store key needs its ${part}, got "".`);
  });

  test("refuses what is no text", () => {
    expect(() => StoreKey.compose("cmdx:idem", "ChargeCustomer", undefined as unknown as string)).toThrow(DefinitionError);
  });
});

describe("the text of a segment", () => {
  const part = fc.oneof(
    fc.string({ unit: "grapheme", minLength: 1 }).filter((text) => text.trim() !== ""),
    fc.string({ unit: fc.constantFrom(":", "%", "2", "5", "3", "A", "a"), minLength: 1 }),
    fc.integer(),
    fc.bigInt(),
  );
  const parts = fc.array(part, { minLength: 1, maxLength: 4 });

  test("is the same for two tuples only if they are the same, part by part as texts", () => {
    fc.assert(
      fc.property(parts, parts, (one, other) => {
        const same = one.length === other.length && one.every((value, at) => String(value) === String(other[at]));
        expect(segmentText(one) === segmentText(other)).toBe(same);
      }),
      { numRuns: 2_000 },
    );
  });

  test("is never blank for parts that are not", () => {
    fc.assert(fc.property(parts, (some) => segmentText(some) !== undefined && segmentText(some) !== ""));
  });

  test("of a single text is the text itself", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "grapheme", minLength: 1 }).filter((text) => text.trim() !== ""),
        (text) => segmentText(text) === text,
      ),
    );
  });

  test.each([
    [0, "0"],
    [-0, "0"],
    [1e21, "1e+21"],
    [0.1, "0.1"],
    [10n ** 30n, "1000000000000000000000000000000"],
    ["0", "0"],
    ["false", "false"],
  ])("of %s is %s", (value, text) => {
    expect(segmentText(value)).toBe(text);
  });
});
