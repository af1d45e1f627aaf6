import { beforeAll, describe, expect, test } from "vitest";
import { Explorer, type Search } from "./explorer.js";
import { isLong } from "./bounds.js";
import { loadLibrary, type Library } from "./library.js";
import { scenarios } from "./scenarios.js";

/** Every schedule of every scenario, up to a depth and a number of faults. */
describe("the claim protocol holds in every interleaving", () => {
  let libraries: readonly Library[];
  beforeAll(async () => {
    libraries = await Promise.all([loadLibrary(), loadLibrary(), loadLibrary()]);
  }, 120_000);

  test.each(scenarios)(
    "$name",
    async (scenario) => {
      const began = performance.now();
      const search = await new Explorer(scenario, isLong ? scenario.long : scenario.quick, libraries).search();
      process.stdout.write(`${lineOf(search, performance.now() - began)}\n`);
      expect(search.violation).toBeUndefined();
    },
    isLong ? 3_600_000 : 120_000,
  );
});

function lineOf({ scenario, bounds, schedules, states, executions }: Search, ms: number): string {
  const { depth, faults } = bounds;
  const counts = `${schedules} schedules, ${states} states, ${executions} executions, ${(ms / 1_000).toFixed(1)} s`;
  return `${scenario}: depth ${depth}, faults ${faults}: ${counts}`;
}
