import { performance } from "node:perf_hooks";
import { expect, test } from "vitest";
import { systemClock } from "../../src/support/clock.js";

/** How long a timer of the machine's clock really took. */
function elapsed(ms: number): Promise<number> {
  const started = performance.now();
  return new Promise((resolve) => {
    systemClock.timer(ms, () => resolve(performance.now() - started));
  });
}

test.each([1, 2.5, 5, 10])("a timer of %d ms never calls back before its time", async (ms) => {
  const times = await Promise.all(Array.from({ length: 30 }, () => elapsed(ms)));

  expect(times.filter((time) => time < ms)).toEqual([]);
});
