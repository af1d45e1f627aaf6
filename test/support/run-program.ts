import { execFile } from "node:child_process";
import { root } from "../../scripts/tsc.mjs";

/** How a program ended. */
export interface Ended {
  /** Undefined when it had to be stopped. */
  readonly code: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program with Node to its end, or stops it when it takes longer than `timeoutMs`: something keeps it alive then. */
export function runProgram(
  file: string,
  { cwd = root, timeoutMs = 30_000, args = [] }: { cwd?: string; timeoutMs?: number; args?: readonly string[] } = {},
): Promise<Ended> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      ["--enable-source-maps", file, ...args],
      { cwd, timeout: timeoutMs, killSignal: "SIGKILL" },
      (error, stdout, stderr) => {
        const stopped = error?.killed === true;
        resolve({ code: child.exitCode ?? undefined, stdout, stderr: stopped ? `${stderr}\nstill running after ${timeoutMs} ms` : stderr });
      },
    );
  });
}
