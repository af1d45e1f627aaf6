import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { compilePrograms, root } from "../../scripts/tsc.mjs";
import { runAsReader } from "../support/run-program.js";

const names = readdirSync("examples")
  .filter((file) => file.endsWith(".ts"))
  .map((file) => basename(file, ".ts"));

describe("the examples", () => {
  let faults: string;
  beforeAll(() => {
    faults = compilePrograms({ files: names.map((name) => `examples/${name}.ts`), from: "examples", to: "tmp/examples" }).output;
  });

  test("compile against the built package", () => {
    expect(faults).toBe("");
  });

  test("include the one that the README shows first", () => {
    expect(names).toContain("demo");
  });

  test("print what stands in the file beside them, where there is one", () => {
    const expected = readdirSync("examples").filter((file) => file.endsWith(".out"));
    expect(expected.filter((file) => !names.includes(basename(file, ".out")))).toEqual([]);
  });

  test.concurrent.for(names)("%s runs to its end and says what it should", async (name, { expect }) => {
    const { code, stdout, stderr } = await runAsReader(join(root, `tmp/examples/${name}.js`));
    expect(code, stderr).toBe(0);
    const expected = `examples/${name}.out`;
    if (existsSync(expected)) expect(stdout).toBe(readFileSync(expected, "utf8"));
  });
});
