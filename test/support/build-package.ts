import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { root } from "../../scripts/tsc.mjs";

/** Builds the package once before the tests that look at it, so that they never look at an old one. */
export function setup(): void {
  const { status } = spawnSync(process.execPath, [join(root, "scripts/build.mjs")], { stdio: "inherit" });
  if (status !== 0) throw new Error("The package does not build; see above. Its tests cannot run.");
}
