// Builds dist from src with plain tsc. The new dist is made beside the old one and takes its place when it is whole: no file of a
// former build is left in it, and whoever reads it meanwhile finds all of it.
import { renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { root, tsc } from "./tsc.mjs";

const fresh = join(root, `tmp/build-${process.pid}`);
const { ok, output } = tsc(["-p", "tsconfig.build.json", "--outDir", fresh]);
process.stdout.write(output);
if (ok) {
  rmSync(join(root, "dist"), { recursive: true, force: true });
  renameSync(fresh, join(root, "dist"));
} else {
  rmSync(fresh, { recursive: true, force: true });
  process.exitCode = 1;
}
