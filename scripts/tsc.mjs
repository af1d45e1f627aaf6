// TypeScript, as this package is built and checked with it. Called by its path: the older compilers, against which the types are
// tested, are installed beside it and bring a command of the same name.
import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of the repository. */
export const root = fileURLToPath(new URL("..", import.meta.url));

/**
 * Runs the compiler in the root folder, and gives what it said.
 *
 * @param {readonly string[]} args
 * @returns {{ ok: boolean; output: string }}
 */
export function tsc(args) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), ...args], {
    cwd: root,
    encoding: "utf8",
  });
  return { ok: status === 0, output: stdout + stderr };
}

/**
 * Compiles programs that use the package as a stranger does: they import it by its name and get what is in `dist`.
 *
 * @param {{ files: readonly string[]; from: string; to: string }} programs Paths from the root: the files, their folder, and
 *   the folder that gets the compiled files, which is emptied first.
 * @returns {{ ok: boolean; output: string }}
 */
export function compilePrograms({ files, from, to }) {
  const folder = join(root, to);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const inFolder = (/** @type {string} */ path) => relative(folder, join(root, path));
  const compilerOptions = { noEmit: false, outDir: ".", rootDir: inFolder(from), inlineSourceMap: true, inlineSources: true, paths: {} };
  const config = { extends: inFolder("tsconfig.json"), compilerOptions, include: [], files: files.map(inFolder) };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  return tsc(["-p", join(folder, "tsconfig.json"), "--pretty", "false"]);
}
