import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JitterName } from "taskwright";
import { backoffMs, jitterNames, type Backoff } from "../../src/policies/backoff.js";

/** The waits before the first retries, with chance held still. */
function waits(backoff: Backoff, count: number, random: () => number = () => 0.5): number[] {
  const all: number[] = [];
  for (let attempt = 0; attempt < count; attempt += 1) all.push(backoffMs(backoff, attempt, all.at(-1), random));
  return all;
}

describe("the formulas, with a base of 100 ms and chance at one half", () => {
  test.each<[JitterName | undefined, number[]]>([
    [undefined, [100, 100, 100, 100, 100, 100]],
    ["exponential", [100, 200, 400, 800, 1_600, 3_200]],
    ["linear", [100, 200, 300, 400, 500, 600]],
    ["fibonacci", [100, 100, 200, 300, 500, 800]],
    ["full_random", [50, 50, 50, 50, 50, 50]],
    ["half_random", [75, 75, 75, 75, 75, 75]],
    ["bounded_random", [150, 150, 150, 150, 150, 150]],
    // 100 + ½·(3·previous − 100), the previous wait being the base at first
    ["decorrelated_jitter", [200, 350, 575, 912.5, 1_418.75, 2_178.125]],
  ])("%s", (jitter, expected) => {
    expect(waits({ delayMs: 100, jitter }, expected.length)).toEqual(expected);
  });

  test.each<[JitterName, number, number]>([
    ["full_random", 0, 0],
    ["half_random", 0, 50],
    ["bounded_random", 0, 100],
    ["decorrelated_jitter", 0, 100],
    ["full_random", 0.999_999, 99.9999],
    ["half_random", 0.999_999, 99.999_95],
    ["bounded_random", 0.999_999, 199.9999],
  ])("%s at chance %d is %d", (jitter, chance, expected) => {
    expect(backoffMs({ delayMs: 100, jitter }, 3, undefined, () => chance)).toBeCloseTo(expected, 6);
  });

  test("decorrelated_jitter never goes below the base, also after a shorter wait", () => {
    expect(backoffMs({ delayMs: 100, jitter: "decorrelated_jitter" }, 1, 10, () => 0.5)).toBe(100);
  });
});

describe("far out", () => {
  test("exponential stops doubling after 30 times", () => {
    const at = (attempt: number): number => backoffMs({ delayMs: 1, jitter: "exponential" }, attempt, undefined, () => 0);

    expect([at(29), at(30), at(31), at(5_000)]).toEqual([2 ** 29, 2 ** 30, 2 ** 30, 2 ** 30]);
  });

  test("fibonacci stops at the last number that is held exactly", () => {
    const at = (attempt: number): number => backoffMs({ delayMs: 1, jitter: "fibonacci" }, attempt, undefined, () => 0);

    expect([at(76), at(77), at(78), at(5_000)]).toEqual([
      5_527_939_700_884_757, 8_944_394_323_791_464, 8_944_394_323_791_464, 8_944_394_323_791_464,
    ]);
  });
});

describe("maxDelay", () => {
  test("caps every wait", () => {
    expect(waits({ delayMs: 100, maxDelayMs: 350, jitter: "exponential" }, 4)).toEqual([100, 200, 350, 350]);
    expect(waits({ delayMs: 100, maxDelayMs: 50 }, 2)).toEqual([50, 50]);
    expect(waits({ delayMs: 100, maxDelayMs: 0 }, 1)).toEqual([0]);
  });
});

describe("a jitter function", () => {
  test("gets the number of the retry from 0, the base and the previous wait", () => {
    const seen: unknown[][] = [];
    const jitter = (...args: unknown[]): number => {
      seen.push(args);
      return seen.length * 10;
    };

    expect(waits({ delayMs: 100, jitter }, 3)).toEqual([10, 20, 30]);
    expect(seen).toEqual([
      [0, 100, undefined],
      [1, 100, 10],
      [2, 100, 20],
    ]);
  });

  test.each<[string, unknown, number]>([
    ["NaN", Number.NaN, 100],
    ["infinity", Infinity, 100],
    ["minus infinity", -Infinity, 100],
    ["undefined", undefined, 100],
    ["null", null, 100],
    ["a text", "50", 100],
    ["a bigint", 50n, 100],
    ["an object", {}, 100],
    ["a negative number", -5, 0],
    ["nothing", 0, 0],
    ["a fraction", 0.5, 0.5],
  ])("that gives %s", (_, answer, expected) => {
    expect(backoffMs({ delayMs: 100, jitter: () => answer as number }, 0, undefined, () => 0)).toBe(expected);
  });
});

test("whatever the numbers, a wait is finite, not negative and not above maxDelay", () => {
  const backoffs = fc.record({
    delayMs: fc.nat({ max: 86_400_000 }),
    maxDelayMs: fc.option(fc.nat({ max: 86_400_000 }), { nil: undefined }),
    jitter: fc.constantFrom(undefined, ...jitterNames),
  });
  fc.assert(
    fc.property(
      backoffs,
      fc.nat(),
      fc.option(fc.nat(), { nil: undefined }),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      (backoff, attempt, previous, chance) => {
        const wait = backoffMs(backoff, attempt, previous, () => chance);

        expect(Number.isFinite(wait)).toBe(true);
        expect(wait).toBeGreaterThanOrEqual(0);
        expect(wait).toBeLessThanOrEqual(backoff.maxDelayMs ?? Infinity);
      },
    ),
  );
});

test("the scattering strategies stay between their bounds, give or take the rounding of the last digit", () => {
  const chances = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 10_000 }), fc.nat({ max: 50 }), chances, (delayMs, attempt, chance) => {
      const wait = (jitter: JitterName): number => backoffMs({ delayMs, jitter }, attempt, delayMs, () => chance);

      expect(wait("full_random")).toBeLessThanOrEqual(delayMs);
      expect(wait("half_random")).toBeGreaterThanOrEqual(delayMs / 2);
      expect(wait("half_random")).toBeLessThanOrEqual(delayMs);
      expect(wait("bounded_random")).toBeGreaterThanOrEqual(delayMs);
      expect(wait("bounded_random")).toBeLessThanOrEqual(2 * delayMs);
      expect(wait("decorrelated_jitter")).toBeGreaterThanOrEqual(delayMs);
      expect(wait("decorrelated_jitter")).toBeLessThanOrEqual(3 * delayMs);
    }),
  );
});
