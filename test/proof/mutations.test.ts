import { afterAll, describe, expect, test } from "vitest";
import { Explorer } from "./explorer.js";
import { loadLibraries } from "./library.js";
import { mutations } from "./mutations/all.js";
import { scenarios } from "./scenarios/all.js";

/** The proof of the proof: each way to break the protocol is found, and by an invariant that is about it. */
describe("a broken protocol is found out", () => {
  const lines: string[] = [];
  afterAll(() => {
    process.stdout.write(`${lines.join("\n")}\n`);
  });

  test.each(mutations)(
    "when $name",
    async ({ name, changes, scenario: wanted, caughtBy }) => {
      const scenario = scenarios.find((candidate) => candidate.name === wanted);
      if (scenario === undefined) throw new Error(`there is no scenario ${wanted}`);
      const libraries = await loadLibraries(scenario.callers.length, changes);
      const { violation, executions } = await new Explorer(scenario, scenario.quick, libraries).search();
      lines.push(`${name}: ${violation?.invariant ?? "not found"} (${violation?.detail}), after ${executions} executions`);
      expect(caughtBy).toContain(violation?.invariant);
    },
    120_000,
  );
});
