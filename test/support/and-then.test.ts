import { describe, expect, test } from "vitest";
import { andThen, promised, tryThen } from "../../src/support/and-then.js";

const double = (value: number): number => value * 2;
const broken = new Error("broken");

describe("going on with a value", () => {
  test("happens at once where it is there, and later where it is promised", async () => {
    expect(andThen(2, double)).toBe(4);
    const later = andThen(Promise.resolve(2), double);
    expect(later).toBeInstanceOf(Promise);
    expect(await later).toBe(4);
  });
});

describe("going on with an answer or with what was thrown", () => {
  const failed = (thrown: unknown): unknown => [thrown];

  test("happens at once where the call answers or throws at once", () => {
    expect(tryThen(() => 2, double, failed)).toBe(4);
    expect(tryThen<number, unknown>(throwing, double, failed)).toEqual([broken]);
  });

  test("happens later where the call gives a promise", async () => {
    expect(await tryThen(() => Promise.resolve(2), double, failed)).toBe(4);
    expect(await tryThen<number, unknown>(() => Promise.reject(broken), double, failed)).toEqual([broken]);
  });

  test("leaves what the going on itself throws to the caller", async () => {
    expect(() => tryThen(() => 2, throwing, failed)).toThrow(broken);
    await expect(tryThen(() => Promise.resolve(2), throwing, failed)).rejects.toBe(broken);
  });
});

test("a call in a promise never throws", async () => {
  expect(await promised(() => 2)).toBe(2);
  expect(await promised(() => Promise.resolve(2))).toBe(2);
  await expect(promised(throwing)).rejects.toBe(broken);
});

function throwing(): number {
  throw broken;
}
