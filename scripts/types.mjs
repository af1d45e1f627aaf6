// Checks the types of sources, tests, examples and scripts, without writing a file.
import { tsc } from "./tsc.mjs";

const { ok, output } = tsc(["-p", "tsconfig.json"]);
process.stdout.write(output);
process.exitCode = ok ? 0 : 1;
