// The long versions of the proofs, with their figures: npm run prove, or npm run prove -- interleavings, or faults/kills
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { root } from "./tsc.mjs";

const vitest = join(root, "node_modules/vitest/vitest.mjs");
/** Every schedule, then real servers and processes: faults, soaks, locks. Other tests have no long version. */
const ALL = ["test/proof", "test/faults", "test/scenarios/locked-processes", "test/bullmq/soak-processes"];
const asked = process.argv.slice(2);
const projects = ["--project", "proof", "--project", "package"];
const { status } = spawnSync(process.execPath, [vitest, "run", ...projects, ...(asked.length > 0 ? asked : ALL)], {
  cwd: root,
  env: { ...process.env, TASKWRIGHT_PROVE: "long" },
  stdio: "inherit",
});
process.exit(status ?? 1);
