import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join, posix } from "node:path";
import { pathToFileURL } from "node:url";
import { build, type Plugin } from "esbuild";
import type * as api from "taskwright";
import { readSources } from "../support/module-graph.js";

/** One exact replacement in one source file. */
export interface Change {
  /** A path below `src`. */
  readonly file: string;
  /** Must be there exactly once. */
  readonly find: string;
  readonly replace: string;
}

/** A copy of the library with module state of its own, as every process has one. */
export interface Library {
  readonly api: typeof api;
  /** The configuration itself: setting a clock or a store on it composes no plan anew. */
  configuration(): api.Configuration;
  /** Forgets the claims and waits of a schedule that was left half-way, and that a shutdown took place. */
  forget(): void;
}

/** What is changed in every copy: chance stands still, a waiting run looks seldom, and what a schedule leaves behind can be cleared. */
const SEAMS: readonly Change[] = [
  { file: "support/random.ts", find: "= Math.random;", replace: "= () => 0.5;" },
  { file: "claims/waiting.ts", find: "const FIRST_PAUSE_MS = 20;", replace: "const FIRST_PAUSE_MS = 1_000;" },
  { file: "policies/lock-layer.ts", find: "const LONGEST_PAUSE_MS = 250;", replace: "const LONGEST_PAUSE_MS = 1_000;" },
  { file: "claims/waiting.ts", find: "const waiters = new Map", replace: "export const waiters = new Map" },
];

/** What is taken from a copy. */
const ENTRY = `
  export * as api from "./index.js";
  export { configuration } from "./task/configuration.js";
  export { held } from "./claims/held-key.js";
  export { waiters } from "./claims/waiting.js";
`;
interface Copy {
  readonly api: typeof api;
  readonly configuration: api.Configuration;
  readonly held: { clear(): void };
  readonly waiters: Map<string, unknown>;
}

const sources = readSources("src");

/** Loads copies of the sources with these changes, each with module state of its own. */
export async function loadLibraries(count: number, changes: readonly Change[] = []): Promise<readonly Library[]> {
  const code = await bundle(changed(sources, [...SEAMS, ...changes]));
  // Below `node_modules` the copy finds what the library imports, and the test runner lets it be.
  mkdirSync("node_modules/.cache", { recursive: true });
  const root = mkdtempSync("node_modules/.cache/proof-");
  const path = join(root, "library.js");
  writeFileSync(path, code);
  const numbers = Array.from({ length: count }, (_, at) => at);
  const copies = await Promise.all(numbers.map((at) => load(`${pathToFileURL(path).href}?copy=${at}`)));
  rmSync(root, { recursive: true }); // all of it is loaded
  return copies.map(libraryOf);
}

async function load(address: string): Promise<Copy> {
  return (await import(/* @vite-ignore */ address)) as Copy; // what the entry exports
}

function libraryOf(copy: Copy): Library {
  return {
    api: copy.api,
    configuration: () => copy.configuration, // looked up each time: a reset makes another
    forget: () => {
      copy.held.clear();
      copy.waiters.clear();
      copy.api.resume();
    },
  };
}

/** @throws when a change does not fit exactly once: then it would not show what it is meant to show. */
function changed(files: ReadonlyMap<string, string>, changes: readonly Change[]): Map<string, string> {
  const result = new Map(files);
  for (const { file, find, replace } of changes) {
    const parts = (result.get(file) ?? "").split(find);
    if (parts.length !== 2)
      throw new Error(`src/${file} has ${parts.length - 1} places that read ${JSON.stringify(find)}, and one is needed`);
    result.set(file, parts.join(replace));
  }
  return result;
}

/** Puts all that the entry needs into one module. */
async function bundle(files: ReadonlyMap<string, string>): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: ENTRY, resolveDir: "." },
    bundle: true,
    write: false,
    format: "esm",
    platform: "node",
    target: "es2022",
    tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } },
    plugins: [fromMemory(files)],
  });
  return outputFiles[0]?.text ?? "";
}

function fromMemory(files: ReadonlyMap<string, string>): Plugin {
  return {
    name: "from memory",
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^\./ }, ({ path, importer }) => {
        const target = posix.join(posix.dirname(importer === "<stdin>" ? "index" : importer), path);
        return { path: target.replace(/\.js$/, ".ts"), namespace: "source" };
      });
      onResolve({ filter: /^[^.]/ }, ({ path }) => ({ path, external: true }));
      onLoad({ filter: /.*/, namespace: "source" }, ({ path }) => ({ contents: files.get(path) ?? "", loader: "ts" }));
    },
  };
}
