import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { redisIfStarted } from "./servers.mjs";

const run = promisify(execFile);

/** Runs a file of `apart/` in a process of its own, on the same Redis if there is one, and answers with the number that it prints. */
export async function apart(file, ...args) {
  const server = await redisIfStarted();
  const env = { ...process.env, ...(server && { REDIS_URL: server.url }) };
  const path = fileURLToPath(new URL(`apart/${file}`, import.meta.url));
  const { stdout } = await run(process.execPath, ["--expose-gc", path, ...args.map(String)], { env });
  const figure = Number(stdout);
  if (stdout.trim() === "" || Number.isNaN(figure)) throw new Error(`apart/${file} ${args.join(" ")} printed no number: ${stdout}`);
  return figure;
}
