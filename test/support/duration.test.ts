import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isDefinitionError } from "taskwright";
import { toMs, type Duration } from "../../src/support/duration.js";
import { thrownBy } from "./builders.js";

const units = fc.constantFrom("ms", "s", "m", "h", "d");
const scale: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

describe("a duration", () => {
  test.each<[Duration, number]>([
    [1, 1_000],
    [0.2, 200],
    [600, 600_000],
    [0.003, 3],
    [0.07, 70],
    [1.005, 1_005],
    [0.0005, 1],
    [1e-9, 1],
    [Number.MIN_VALUE, 1],
    ["250ms", 250],
    ["0.5ms", 1],
    ["1.5s", 1_500],
    ["30s", 30_000],
    ["5m", 300_000],
    ["0.1m", 6_000],
    ["24h", 86_400_000],
    ["7d", 604_800_000],
    ["400d", 34_560_000_000],
  ])("%o is %d ms", (duration, ms) => {
    expect(toMs("ttl", duration)).toBe(ms);
  });

  test.each<[unknown]>([
    [0],
    [-1],
    [-0],
    [Number.NaN],
    [Infinity],
    [-Infinity],
    [1e300],
    ["0s"],
    ["5"],
    [""],
    ["s"],
    ["-5s"],
    ["+5s"],
    ["5 s"],
    [" 5s"],
    ["5s "],
    ["5S"],
    ["5sec"],
    ["1e3s"],
    [".5s"],
    ["5.s"],
    ["1h30m"],
    ["5constructor"],
    ["99999999999999999999d"],
    [null],
    [undefined],
    [true],
    [5n],
    [{}],
    [[5]],
    [new Date()],
  ])("is not %o", (duration) => {
    const error = thrownBy(() => toMs("ttl", duration as Duration));

    expect(isDefinitionError(error)).toBe(true);
    expect((error as Error).message).toMatch(
      /^ttl must be a time greater than zero, got .*\. Give a number of seconds \(0\.2, 600\) or text with a unit \("250ms", "30s", "5m", "24h", "7d"\)\.$/,
    );
  });

  test("may be zero where that is allowed, and then the message says so", () => {
    expect(toMs("delay", 0, { zero: true })).toBe(0);
    expect(toMs("delay", "0ms", { zero: true })).toBe(0);
    expect((thrownBy(() => toMs("delay", -1, { zero: true })) as Error).message).toContain("a time of zero or more, got -1");
  });

  test("of a positive number of seconds is never none, and never shorter than it says by more than a rounding", () => {
    fc.assert(
      fc.property(fc.double({ min: Number.MIN_VALUE, max: 1e9, noNaN: true }), (seconds) => {
        const ms = toMs("ttl", seconds);

        expect(Number.isSafeInteger(ms)).toBe(true);
        expect(ms).toBeGreaterThanOrEqual(1);
        expect(ms).toBeGreaterThanOrEqual(seconds * 1_000 * (1 - 1e-14));
        expect(ms).toBeLessThanOrEqual(seconds * 1_000 * (1 + 1e-14) + 1);
      }),
    );
  });

  test("grows with the number", () => {
    const seconds = fc.double({ min: Number.MIN_VALUE, max: 1e9, noNaN: true });
    fc.assert(
      fc.property(seconds, seconds, (a, b) => {
        const [less, more] = a < b ? [a, b] : [b, a];

        expect(toMs("ttl", less)).toBeLessThanOrEqual(toMs("ttl", more));
      }),
    );
  });

  test("in text is its number times its unit", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100_000 }), units, (amount, unit) => {
        expect(toMs("ttl", `${amount}${unit}` as Duration)).toBe(amount * (scale[unit] ?? Number.NaN));
      }),
    );
  });

  test("in whole milliseconds is exact, whichever way it is written", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1_000_000_000 }), (ms) => {
        expect(toMs("ttl", `${ms}ms`)).toBe(ms);
        expect(toMs("ttl", ms / 1_000)).toBe(ms);
      }),
    );
  });

  test("in a very long text is refused without trying every way to read it", () => {
    const sixFigures = "1".repeat(100_000);

    expect(() => toMs("ttl", `${sixFigures}x` as Duration)).toThrow("got a text of 100001 characters");
    expect(() => toMs("ttl", `${"1.".repeat(50_000)}s` as Duration)).toThrow("got a text of 100001 characters");
  });
});
