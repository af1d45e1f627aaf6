/**
 * The TypeScript on the pages, as programs that are compiled and run.
 *
 * - A block fenced as `ts` is a module of its own: it runs as it stands.
 * - A block fenced as `ts continue` goes on where the block before it ended.
 * - `<!--ts`, code and `-->`, each from the start of a line, directly above a fence is code that readers do not see: set-up.
 *   With `<!--ts continue` it goes on where the block before it ended: checks, and the closing of what was opened.
 *
 * TypeScript and JavaScript stand under no other fence, so that none goes untested.
 */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { compilePrograms, root } from "../../scripts/tsc.mjs";

export interface Snippet {
  /** The page's path. */
  readonly page: string;
  /** The line of the page with the first fence, from 1. */
  readonly line: number;
  /** The code. Each line of it stands at its line of the page, so that what a compiler or a stack says of it is true of the page. */
  readonly text: string;
}

interface Code {
  readonly line: number;
  readonly end: number;
  readonly hidden: boolean;
  readonly continues: boolean;
}

const CODE_LANGUAGE = /^(ts|js|[cm]ts|[cm]js|tsx|jsx|typescript|javascript|node)\b/i;

/** Reads the programs of a page. Throws where the page does not keep to the convention. */
export function snippetsOf(page: string, markdown: string): readonly Snippet[] {
  const lines = markdown.split("\n");
  const programs: Code[][] = [];
  let setUp: Code[] = [];
  for (const code of codeOf(page, lines)) {
    if (code.hidden && !code.continues) {
      setUp.push(code);
      continue;
    }
    if (!code.continues) programs.push([]);
    const program = programs.at(-1);
    if (program === undefined) throw wrong(page, code.line, "there is no block to continue");
    program.push(...setUp, code);
    setUp = [];
  }
  return programs.map((parts) => ({
    page,
    line: parts.find(({ hidden }) => !hidden)?.line ?? 0,
    text: lines.map((text, at) => (parts.some(({ line, end }) => at >= line && at < end - 1) ? text : "")).join("\n"),
  }));
}

/** The code of a page from the top, each piece from the line that opens it to the line that closes it. */
function codeOf(page: string, lines: readonly string[]): readonly Code[] {
  const found: Code[] = [];
  for (let at = 0; at < lines.length; at += 1) {
    const opening = openingOf(page, lines, at);
    if (opening === undefined) continue;
    const end = lines.findIndex((line, below) => below > at && opening.closing.test(line));
    if (end < 0) throw wrong(page, at + 1, "what is opened here is never closed");
    if (opening.code !== undefined) found.push({ ...opening.code, line: at + 1, end: end + 1 });
    if (opening.code?.hidden === true && !opening.code.continues) expectFence(page, lines, end + 1);
    at = end;
  }
  return found;
}

interface Opening {
  readonly closing: RegExp;
  /** None when it is a block in another language. */
  readonly code: Pick<Code, "hidden" | "continues"> | undefined;
}

function openingOf(page: string, lines: readonly string[], at: number): Opening | undefined {
  const line = lines[at] ?? "";
  if (/^\s*<!--\s*ts\b/.test(line)) {
    const [, continues] = /^<!--ts( continue)?$/.exec(line) ?? [undefined, wrongOpening(page, at, line)];
    return { closing: /^-->$/, code: { hidden: true, continues: continues !== undefined } };
  }
  const [, fence, info = ""] = /^\s*(`{3,}|~{3,})\s*(.*)$/.exec(line) ?? [];
  if (fence === undefined) return undefined;
  const closing = new RegExp(`^\\s*${fence}${fence.charAt(0)}*\\s*$`);
  if (!CODE_LANGUAGE.test(info)) return { closing, code: undefined };
  const [, continues] = /^```ts( continue)?$/.exec(line) ?? [undefined, wrongOpening(page, at, line)];
  return { closing, code: { hidden: false, continues: continues !== undefined } };
}

function expectFence(page: string, lines: readonly string[], at: number): void {
  const next = lines.slice(at).find((line) => line.trim() !== "") ?? "";
  if (!/^```ts( continue)?$|^<!--ts$/.test(next)) throw wrong(page, at, "hidden set-up stands directly above a block fenced as ts");
}

function wrongOpening(page: string, at: number, line: string): never {
  throw wrong(page, at + 1, `"${line}": code is fenced as \`ts\` or \`ts continue\`, hidden code as \`<!--ts\` or \`<!--ts continue\``);
}

function wrong(page: string, line: number, what: string): Error {
  return new Error(`${page}:${line}: ${what}`);
}

/** What came of compiling snippets. */
export interface Compiled {
  /** What the compiler has against one of them; empty when nothing. */
  faultsOf(snippet: Snippet): string;
  /** The program of one of them. */
  programOf(snippet: Snippet): string;
}

/** Compiles them all in one go against the built package. `name` tells the folder under `tmp`. */
export function compileSnippets(snippets: readonly Snippet[], name: string): Compiled {
  const from = `tmp/${name}/pages`;
  const fileOf = ({ page, line }: Snippet): string => `${from}/${page}.${line}.ts`;
  rmSync(join(root, from), { recursive: true, force: true });
  for (const snippet of snippets) {
    mkdirSync(dirname(join(root, fileOf(snippet))), { recursive: true });
    writeFileSync(join(root, fileOf(snippet)), snippet.text);
  }
  const to = `tmp/${name}/programs`;
  const { output } = compilePrograms({ files: snippets.map(fileOf), from, to });
  const faults = output.split(/\n(?=\S)/); // what is indented belongs to the line above
  return {
    faultsOf: (snippet) =>
      faults
        .filter((fault) => !fault.startsWith(from) || fault.startsWith(`${fileOf(snippet)}(`))
        .map((fault) => fault.replace(`${fileOf(snippet)}(`, `${snippet.page}(`))
        .join("\n")
        .trim(),
    programOf: ({ page, line }) => join(root, to, `${page}.${line}.js`),
  };
}
