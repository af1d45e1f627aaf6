import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { CountsReporter } from "./test/support/counts-reporter.js";

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** Tests and examples import the package by its name and get the sources. */
const alias = [
  { find: /^taskwright$/, replacement: at("./src/index.ts") },
  { find: /^taskwright\/(\w+)$/, replacement: at("./src/$1/index.ts") },
];

/**
 * Runs once: it looks at the built package, the compilers and the documentation; at many processes and at servers with faults, which
 * take their time; or at engines of queues, which know no decorators.
 */
const once = [
  "test/package/**/*.test.ts",
  "test/types/**/*.test.ts",
  "test/**/*-processes.test.ts",
  "test/faults/**/*.test.ts",
  "test/contracts/engine-*.test.ts",
  "test/bullmq/**/*.test.ts",
  "test/hostile/bullmq-*.test.ts",
];
/** Runs once, too: every schedule of the claim protocol, on copies of the sources. */
const proof = ["test/proof/**/*.test.ts"];
const others = [...once, ...proof];

export default defineConfig({
  resolve: { alias },
  test: {
    testTimeout: 20_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
    reporters: ["default", new CountsReporter()],
    projects: [
      { extends: true, test: { name: "standard", include: ["test/**/*.test.ts"], exclude: others } },
      {
        extends: true,
        esbuild: { tsconfigRaw: { compilerOptions: { experimentalDecorators: true } } },
        test: { name: "legacy", include: ["test/**/*.test.ts"], exclude: others },
      },
      { extends: true, test: { name: "package", include: once, globalSetup: "test/support/build-package.ts", testTimeout: 180_000 } },
      { extends: true, test: { name: "proof", include: proof, testTimeout: 120_000 } },
    ],
  },
});
