import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { root } from "../../scripts/tsc.mjs";
import { Application, compilers, newest } from "./compilers.js";

const folder = join(root, "test/types");
const files = readdirSync(folder).filter((file) => file.endsWith(".test-d.ts"));
/** What only one protocol has. */
const standardOnly = files.filter((file) => file.endsWith(".standard.test-d.ts"));

const protocols = [
  { protocol: "standard", options: {}, leftOut: [] },
  { protocol: "legacy", options: { experimentalDecorators: true }, leftOut: standardOnly },
] as const;

/** The comment that says what is wrong with the next line. A compiler complains where nothing is wrong with it. */
const EXPECTED = "// @ts-expect-error";

describe.each(compilers)("$name", (compiler) => {
  test.each(protocols)("agrees with every case, under $protocol decorators", async ({ protocol, options, leftOut }) => {
    const application = new Application(`cases-${compiler.name}-${protocol}`);
    const within = (file: string): string => join(folder, file);
    const include = files.filter((file) => !leftOut.some((left) => left === file)).map(within);
    const { code, output } = await application.check(compiler, { options, include });
    expect({ code, output }).toEqual({ code: 0, output: "" });
  });
});

describe("the cases", () => {
  const mistakes = files.flatMap((file) => readFileSync(join(folder, file), "utf8").split("\n")).filter((line) => line.includes(EXPECTED));

  test("name the mistake of each line that must not compile", () => {
    expect(mistakes.filter((line) => !/\/\/ @ts-expect-error: \S.{8,}/.test(line))).toEqual([]);
  });

  test("are several hundred", () => {
    expect(mistakes.length).toBeGreaterThan(250);
  });

  test("are found out when a mistake compiles after all", async () => {
    const application = new Application("planted").write("planted.ts", `${EXPECTED}: nothing is wrong here\nexport const right = 1;\n`);
    const { code, output } = await application.check(newest);
    expect(code).not.toBe(0);
    expect(output).toMatch(/^planted\.ts\(1,1\): error TS2578/);
  });
});
