import type { Reporter, SerializedError, TestModule } from "vitest/node";

/**
 * Says at the end how many tests ran and what became of them, in the lines that end a report of Node's own runner (`# tests 12`), which
 * programs know how to read.
 */
export class CountsReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    const states = modules.flatMap(({ children }) => [...children.allTests()].map((test) => test.result().state));
    const count = (state: (typeof states)[number]): number => states.filter((other) => other === state).length;
    const broken = modules.filter((module) => module.errors().length > 0).length + unhandled.length; // such a run has failed, whatever its tests say
    const lines = {
      tests: states.length,
      suites: modules.length,
      pass: count("passed"),
      fail: count("failed") + broken,
      skipped: count("skipped"),
    };
    console.log(
      Object.entries(lines)
        .map(([name, number]) => `# ${name} ${number}`)
        .join("\n"),
    );
  }
}
