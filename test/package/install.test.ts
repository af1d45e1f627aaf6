import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { root } from "../../scripts/tsc.mjs";
import { runProgram } from "../support/run-program.js";

/** The package as a stranger gets it: packed, and installed in an empty folder with what it cannot do without. */
const folder = mkdtempSync(join(tmpdir(), "taskwright-install-"));
let packedFiles: readonly string[];

beforeAll(() => {
  const answer = npm(root, "pack", "--ignore-scripts", "--json", "--pack-destination", folder);
  const [packed] = JSON.parse(answer) as [{ filename: string; files: { path: string }[] }]; // npm's own format, one package
  packedFiles = packed.files.map(({ path }) => path);
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "stranger", private: true }));
  const { version } = JSON.parse(readFileSync(join(root, "node_modules/zod/package.json"), "utf8")) as { version: string };
  npm(folder, "install", "--no-audit", "--no-fund", "--prefer-offline", `./${packed.filename}`, `zod@${version}`);
}, 180_000);

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

function npm(cwd: string, command: string, ...args: readonly string[]): string {
  return execFileSync("npm", [command, "--prefix", cwd, ...args], { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}

/** Runs a program in the folder, and gives what it printed as JSON. */
async function answerOf(name: string, lines: readonly string[], ...args: readonly string[]): Promise<unknown> {
  writeFileSync(join(folder, name), lines.join("\n"));
  const { code, stdout, stderr } = await runProgram(join(folder, name), { cwd: folder, timeoutMs: 10_000, args });
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout);
}

const greet = [
  "class Greet extends Task.with({ input: z.object({ name: z.string() }), output: z.object({ text: z.string() }) }) {",
  "  async work() {",
  '    if (this.attempt === 1) throw new Error("not yet");',
  "    return { text: `hello ${this.input.name}` };",
  "  }",
  "}",
  'retryOn(Error, { limit: 1, delay: "10ms" })(Greet);',
  'idempotentBy("name")(Greet);',
  "const answer = ({ status, output, retries }, duplicate) => {",
  "  // Whatever still keeps the process alive; the pipe is the way back to the test.",
  '  const alive = process.getActiveResourcesInfo().filter((resource) => resource !== "PipeWrap");',
  "  console.log(JSON.stringify({ status, output, retries, duplicate: duplicate.status, alive }));",
  "};",
  'const greetAda = () => Greet.execute({ name: "Ada" });',
  "const run = greetAda().then(async (first) => answer(first, await greetAda()));",
];
const greeted = { status: "success", output: { text: "hello Ada" }, retries: 1, duplicate: "skipped", alive: [] };

describe("the installed package", () => {
  test("brings what it needs and no client of a store or a queue", () => {
    const installed = readdirSync(join(folder, "node_modules")).filter((name) => !name.startsWith("."));
    expect(installed).toEqual(
      expect.arrayContaining(["cockatiel", "devalue", "rate-limiter-flexible", "reflect-metadata", "taskwright", "zod"]),
    );
    expect(installed.filter((name) => ["bullmq", "ioredis", "pg", "redis"].includes(name))).toEqual([]);
  });

  test("holds what was built and the papers, and nothing else", () => {
    const other = packedFiles.filter((path) => !/^dist\/.+(\.js|\.d\.ts)$/.test(path));
    expect(other.toSorted()).toEqual(
      ["CHANGELOG.md", "LICENSE", "README.md", "package.json"].filter((path) => existsSync(join(root, path))),
    );
  });

  test("runs a task when it is imported, and lets the process end by itself", async () => {
    const program = ['import { Task, idempotentBy, retryOn } from "taskwright";', 'import { z } from "zod";', ...greet, "await run;"];
    expect(await answerOf("import.mjs", program)).toEqual(greeted);
  });

  test("runs a task when it is required from CommonJS", async () => {
    const program = ['const { Task, idempotentBy, retryOn } = require("taskwright");', 'const { z } = require("zod");', ...greet];
    expect(await answerOf("require.cjs", program)).toEqual(greeted);
  });

  test("loads by each of its entries, both ways, and is the same one both times", async () => {
    const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { exports: object }; // our own file
    const names = Object.keys(manifest.exports).map((subpath) => `taskwright${subpath.slice(1)}`);
    const entries = names.filter((name) => !name.endsWith(".json"));
    // Who loads the entry of an engine has installed the engine.
    symlinkSync(join(root, "node_modules/bullmq"), join(folder, "node_modules/bullmq"));
    const program = [
      'import { createRequire } from "node:module";',
      "const require = createRequire(import.meta.url);",
      "const same = async (name) => require(name) === (await import(name));",
      "console.log(JSON.stringify(await Promise.all(process.argv.slice(2).map(same))));",
    ];
    expect(await answerOf("entries.mjs", program, ...entries)).toEqual(entries.map(() => true));
  });
});

describe("two copies of the package in one process", () => {
  const twoCopies = [
    'import * as installed from "taskwright";',
    "const built = await import(process.argv[2]);",
    "const rejectionOf = (promise) => promise.then(() => undefined, (error) => error);",
    "const tasksOf = ({ Task }) => ({",
    '  Fails: class Fails extends Task.with() { work() { this.fail("no"); } },',
    "  Idle: class Idle extends Task.with() {},",
    "});",
    "const seen = async (maker, reader) => {",
    "  const { Fails, Idle } = tasksOf(maker);",
    "  const fault = await rejectionOf(Fails.executeBang());",
    "  const mistake = await rejectionOf(Idle.execute());",
    "  return {",
    "    fault: [reader.isFault(fault), reader.isFault(fault, Fails), reader.isFault(fault, Idle), fault instanceof reader.Fault],",
    "    mistake: [reader.isDefinitionError(mistake), mistake instanceof reader.DefinitionError, reader.isFault(mistake)],",
    "    both: [reader.isTaskwrightError(fault), reader.isTaskwrightError(mistake), reader.isTaskwrightError(new Error())],",
    "  };",
    "};",
  ];
  const dist = pathToFileURL(join(root, "dist/index.js")).href;

  test("know each other's errors", async () => {
    const program = [
      ...twoCopies,
      "const answer = [installed.Task === built.Task, await seen(installed, built), await seen(built, installed)];",
      "console.log(JSON.stringify(answer));",
    ];
    const known = { fault: [true, true, false, true], mistake: [true, true, false], both: [true, true, false] };
    expect(await answerOf("errors.mjs", program, dist)).toEqual([false, known, known]);
  });

  test("understand what the other has declared on a class", async () => {
    const program = [
      ...twoCopies,
      "const retriesOf = async (owner, other) => {",
      '  class Flaky extends owner.Task.with() { work() { if (this.attempt === 1) throw new Error("not yet"); } }',
      '  other.retryOn(Error, { limit: 1, delay: "1ms" })(Flaky);',
      "  return (await Flaky.execute()).retries;",
      "};",
      "console.log(JSON.stringify([await retriesOf(installed, built), await retriesOf(built, installed)]));",
    ];
    expect(await answerOf("declarations.mjs", program, dist)).toEqual([1, 1]);
  });
});
