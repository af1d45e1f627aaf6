// Compiles one example against the built package and runs it: node scripts/example.mjs demo
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { compilePrograms, root } from "./tsc.mjs";

const name = process.argv[2] ?? "";
const file = `examples/${name}.ts`;
if (!existsSync(join(root, file))) {
  const names = readdirSync(join(root, "examples")).filter((entry) => entry.endsWith(".ts"));
  console.error(`There is no example "${name}". The examples are: ${names.map((entry) => entry.slice(0, -".ts".length)).join(", ")}.`);
  process.exit(1);
}
const to = `tmp/example-${name}`;
const { ok, output } = compilePrograms({ files: [file], from: "examples", to });
process.stderr.write(output);
if (!ok) process.exit(1);
const { status } = spawnSync(process.execPath, ["--enable-source-maps", join(root, to, `${name}.js`), ...process.argv.slice(3)], {
  stdio: "inherit",
});
process.exit(status ?? 1);
