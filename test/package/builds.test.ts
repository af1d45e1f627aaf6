import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { transform } from "@swc/core";
import { build as esbuild, type BuildOptions } from "esbuild";
import { beforeAll, describe, expect, test } from "vitest";
import { build as viteBuild } from "vite";
import { root, tsc } from "../../scripts/tsc.mjs";
import { runProgram } from "../support/run-program.js";

/** A folder in which the package is installed as built, so that builders take it as they take any other. */
const home = join(root, "tmp/builds");
const app = join(home, "app.ts");

beforeAll(() => {
  rmSync(home, { recursive: true, force: true });
  mkdirSync(join(home, "node_modules/taskwright"), { recursive: true });
  cpSync(join(root, "dist"), join(home, "node_modules/taskwright/dist"), { recursive: true });
  cpSync(join(root, "package.json"), join(home, "node_modules/taskwright/package.json"));
  symlinkSync(join(root, "node_modules/zod"), join(home, "node_modules/zod"));
  cpSync(join(root, "test/package/fixtures/app.ts"), app);
  writeFileSync(join(home, "package.json"), JSON.stringify({ name: "app", type: "module", private: true }));
});

interface Printed {
  readonly first: object;
  readonly second: object;
  readonly refund: string;
  readonly keys: readonly string[];
  readonly names: readonly string[];
}

async function printed(file: string): Promise<Printed> {
  const { code, stdout, stderr } = await runProgram(file, { cwd: home, timeoutMs: 20_000 });
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout) as Printed; // our own program printed it
}

/** What the application prints wherever its class keeps its name. */
const RIGHT: Printed = {
  first: { status: "success", retries: 1, output: { chargeId: "ch_42" } },
  second: { status: "skipped", retries: 0 },
  refund: "success",
  keys: [
    "cmdx:lock:ChargeCustomer:pay_1",
    "cmdx:idem:ChargeCustomer:pay_1",
    "cmdx:lock:ChargeCustomer:pay_1",
    "cmdx:idem:RefundCustomer:pay_1",
  ],
  names: ["onSuccess"],
};
const MISTAKE = {
  mistake: expect.stringMatching(/^The class name "\w{1,2}" looks like a minifier's, .* Name the task: Task\.with\(\{ name: /),
};

async function bundled(name: string, options: BuildOptions, legacy: boolean): Promise<string> {
  const outfile = join(home, `${name}.mjs`);
  await esbuild({
    entryPoints: [app],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    logLevel: "error",
    banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
    tsconfigRaw: { compilerOptions: { experimentalDecorators: legacy, useDefineForClassFields: !legacy } },
    ...options,
  });
  return outfile;
}

describe.each([
  ["standard", false],
  ["legacy", true],
])("the application under %s decorators", (mode, legacy) => {
  test("bundled by esbuild", async () => {
    expect(await printed(await bundled(`plain-${mode}`, {}, legacy))).toEqual(RIGHT);
  });

  test("minified by esbuild, which keeps names", async () => {
    expect(await printed(await bundled(`kept-${mode}`, { minify: true, keepNames: true }, legacy))).toEqual(RIGHT);
  });

  // Standard decorators, as esbuild compiles them, are given the name of their class; legacy ones are not.
  test("minified by esbuild without its names, keeps them in its decorators or is told so", async () => {
    const answer = await printed(await bundled(`minified-${mode}`, { minify: true, keepNames: false }, legacy));

    expect(answer).toMatchObject(legacy ? { first: MISTAKE, second: MISTAKE, refund: "success" } : RIGHT);
  });

  test("built by Vite for the server", async () => {
    const outDir = join(home, `vite-${mode}`);
    await viteBuild({
      root: home,
      configFile: false,
      logLevel: "error",
      esbuild: { tsconfigRaw: { compilerOptions: { experimentalDecorators: legacy } } },
      ssr: { noExternal: true },
      build: { ssr: app, outDir, target: "node20", minify: false },
    });
    expect(await printed(join(outDir, "app.js"))).toEqual(RIGHT);
  });

  test("compiled by tsc", async () => {
    const outDir = join(home, `tsc-${mode}`);
    mkdirSync(outDir, { recursive: true });
    const compilerOptions = {
      target: "es2022",
      module: "nodenext",
      strict: true,
      skipLibCheck: true,
      types: ["node"],
      outDir,
      rootDir: home,
    };
    const config = { compilerOptions: { ...compilerOptions, experimentalDecorators: legacy }, files: [app] };
    writeFileSync(join(home, `tsconfig.${mode}.json`), JSON.stringify(config));
    const { ok, output } = tsc(["-p", join(home, `tsconfig.${mode}.json`)]);
    expect(ok, output).toBe(true);
    expect(await printed(join(outDir, "app.js"))).toEqual(RIGHT);
  });

  test("compiled by SWC", async () => {
    const { code } = await transform(readFileSync(app, "utf8"), {
      filename: app,
      jsc: {
        target: "es2022",
        parser: { syntax: "typescript", decorators: true },
        transform: legacy ? { legacyDecorator: true } : { decoratorVersion: "2022-03" },
      },
      module: { type: "es6" },
    });
    const file = join(home, `swc-${mode}.mjs`);
    writeFileSync(file, code);
    expect(await printed(file)).toEqual(RIGHT);
  });
});
