// Builds dist from src with plain tsc, from nothing each time, so that no file of a former build is left in it.
import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";

const at = (path) => new URL(`../${path}`, import.meta.url);
rmSync(at("dist"), { recursive: true, force: true });
const { status } = spawnSync(process.execPath, [at("node_modules/typescript/bin/tsc").pathname, "-p", at("tsconfig.build.json").pathname], {
  stdio: "inherit",
});
process.exit(status ?? 1);
