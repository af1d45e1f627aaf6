import { beforeAll, expect, test } from "vitest";
import { isLong } from "./bounds.js";
import { Explorer, type Search } from "./explorer.js";
import { loadLibraries, type Library } from "./library.js";
import type { Scenario } from "./scenario.js";

/** Tests every schedule of these scenarios, up to a depth and a number of faults. */
export function searchAll(scenarios: readonly Scenario[]): void {
  let libraries: readonly Library[];
  beforeAll(async () => {
    libraries = await loadLibraries(3);
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
}

function lineOf({ scenario, bounds, schedules, states, executions }: Search, ms: number): string {
  const { depth, faults } = bounds;
  const counts = `${schedules} schedules, ${states} states, ${executions} executions, ${(ms / 1_000).toFixed(1)} s`;
  return `${scenario}: depth ${depth}, faults ${faults}: ${counts}`;
}
