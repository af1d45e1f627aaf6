// The long versions of the proofs, with their figures: npm run prove, or npm run prove -- interleavings
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { root } from "./tsc.mjs";

const vitest = join(root, "node_modules/vitest/vitest.mjs");
const { status } = spawnSync(process.execPath, [vitest, "run", "--project", "proof", ...process.argv.slice(2)], {
  cwd: root,
  env: { ...process.env, TASKWRIGHT_PROVE: "long" },
  stdio: "inherit",
});
process.exit(status ?? 1);
