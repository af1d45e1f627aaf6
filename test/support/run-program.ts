import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { root } from "../../scripts/tsc.mjs";
import { startRedis } from "./redis.js";

/** How a program ended. */
export interface Ended {
  /** Undefined when it had to be stopped. */
  readonly code: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

interface RunOptions {
  readonly cwd?: string;
  readonly timeoutMs?: number;
  readonly args?: readonly string[];
  /** Variables beside those of this process. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs a program with Node to its end, or stops it when it takes longer than `timeoutMs`: something keeps it alive then. */
export function runProgram(file: string, { cwd = root, timeoutMs = 60_000, args = [], env = {} }: RunOptions = {}): Promise<Ended> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      ["--enable-source-maps", file, ...args],
      { cwd, timeout: timeoutMs, killSignal: "SIGKILL", env: { ...process.env, ...env } },
      (error, stdout, stderr) => {
        const stopped = error?.killed === true;
        resolve({ code: child.exitCode ?? undefined, stdout, stderr: stopped ? `${stderr}\nstill running after ${timeoutMs} ms` : stderr });
      },
    );
  });
}

/** A machine that does much else meanwhile is slow to start processes, and some programs start several. */
const READERS_PATIENCE_MS = 150_000;

/** Runs a program like a reader would. One that asks for REDIS_URL gets an empty server of its own, so that none meets the keys of another. */
export async function runAsReader(file: string): Promise<Ended> {
  if (!readFileSync(file, "utf8").includes("REDIS_URL")) return runProgram(file, { timeoutMs: READERS_PATIENCE_MS });
  const server = await startRedis();
  try {
    return await runProgram(file, { timeoutMs: READERS_PATIENCE_MS, env: { REDIS_URL: server.url } });
  } finally {
    await server.stop();
  }
}
