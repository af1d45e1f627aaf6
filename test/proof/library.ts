import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import type * as api from "taskwright";
import ts from "typescript-6"; // TypeScript 7 has no programming interface yet
import type * as configuration from "../../src/task/configuration.js";
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
  { file: "claims/shutdown.ts", find: "const held = new Bag", replace: "export const held = new Bag" },
  { file: "claims/waiting.ts", find: "const waiters = new Map", replace: "export const waiters = new Map" },
];

/** What a run needs: not the queues, not the stores of other processes, not what is for tests. */
const sources = new Map([...readSources("src")].filter(([path]) => !/^(bullmq|queue|redis|stores\/redis|testing|adapters)\//.test(path)));
const compiled = new Map<string, string>();

/** Loads one more copy of the sources, with these changes. */
export async function loadLibrary(changes: readonly Change[] = []): Promise<Library> {
  // Below `node_modules` the copy finds what the library imports, and the test runner lets it be.
  mkdirSync("node_modules/.cache", { recursive: true });
  const root = mkdtempSync("node_modules/.cache/proof-");
  for (const [path, text] of changed(sources, [...SEAMS, ...changes])) {
    const target = join(root, path.replace(/\.ts$/, ".js"));
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, compile(text));
  }
  const load = async <T>(path: string): Promise<T> => (await import(/* @vite-ignore */ pathToFileURL(join(root, path)).href)) as T; // what stands at that path
  const index = await load<typeof api>("index.js");
  const configured = await load<typeof configuration>("task/configuration.js");
  const shutdown = await load<{ readonly held: { clear(): void } }>("claims/shutdown.js");
  const waiting = await load<{ readonly waiters: Map<string, unknown> }>("claims/waiting.js");
  rmSync(root, { recursive: true }); // all of it is loaded
  return {
    api: index,
    configuration: () => configured.configuration,
    forget: () => {
      shutdown.held.clear();
      waiting.waiters.clear();
      index.resume();
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

function compile(text: string): string {
  let code = compiled.get(text);
  if (code === undefined) {
    const compilerOptions = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022, verbatimModuleSyntax: true };
    code = ts.transpileModule(text, { compilerOptions }).outputText;
    compiled.set(text, code);
  }
  return code;
}
