import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Runs a file of `apart/` in a process of its own and answers with the number that it prints. */
export async function apart(file, ...args) {
  const { stdout } = await run(process.execPath, [fileURLToPath(new URL(`apart/${file}`, import.meta.url)), ...args]);
  return Number(stdout);
}
