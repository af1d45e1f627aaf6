import { describe, expect, test } from "vitest";
import ts from "typescript-6";
import { readSources, walk, type Sources } from "../support/module-graph.js";

const sources = readSources("src");

/** The machine's time, timers and chance: only `support` asks for them, so that tests can hold them still. */
const CLOCKS: Readonly<Record<string, readonly string[]>> = {
  Date: ["now"],
  performance: ["now"],
  Math: ["random"],
};
const TIMERS: readonly string[] = ["setTimeout", "setInterval"];
const CLOCK_MODULES: readonly string[] = ["node:timers", "node:timers/promises", "node:perf_hooks"];

interface Place {
  readonly node: ts.Node;
  readonly file: ts.SourceFile;
}

function places(files: Sources, found: (node: ts.Node, file: ts.SourceFile) => boolean): readonly Place[] {
  const all: Place[] = [];
  for (const [path, text] of files) {
    walk(path, text, (node, file) => {
      if (found(node, file)) all.push({ node, file });
    });
  }
  return all;
}

/** `task/run.ts:12 Date.now` */
function written({ node, file }: Place): string {
  return `${file.fileName}:${lineOf(file, node.getStart())} ${node.getText()}`;
}

function lineOf(file: ts.SourceFile, position: number): number {
  return file.getLineAndCharacterOfPosition(position).line + 1;
}

function clockUses(files: Sources): readonly string[] {
  const outside = new Map([...files].filter(([path]) => !path.startsWith("support/")));
  return places(outside, isClock).map(written);
}

function isClock(node: ts.Node): boolean {
  if (ts.isPropertyAccessExpression(node)) {
    const owner = node.expression.getText();
    return Object.hasOwn(CLOCKS, owner) && CLOCKS[owner]?.includes(node.name.text) === true;
  }
  if (ts.isNewExpression(node)) return node.expression.getText() === "Date" && node.arguments?.length === 0;
  if (ts.isImportDeclaration(node)) return isWholeImport(node) && CLOCK_MODULES.includes(node.moduleSpecifier.getText().slice(1, -1));
  const isName = ts.isIdentifier(node) && !(ts.isPropertyAccessExpression(node.parent) && node.parent.name === node);
  return isName && TIMERS.includes(node.text);
}

/** Not one that picks names, which are then seen themselves. */
function isWholeImport({ importClause }: ts.ImportDeclaration): boolean {
  return (
    importClause?.name !== undefined || (importClause?.namedBindings !== undefined && ts.isNamespaceImport(importClause.namedBindings))
  );
}

/** An assertion with no comment on its lines and none on the line above. */
function bareAssertions(files: Sources): readonly string[] {
  return places(files, (node, file) => ts.isAsExpression(node) && node.type.getText() !== "const" && !hasReason(node, file)).map(written);
}

function hasReason(node: ts.Node, file: ts.SourceFile): boolean {
  const lines = file.text.split("\n");
  const [first, last] = [lineOf(file, node.getStart()), lineOf(file, node.getEnd())];
  const around = lines.slice(Math.max(0, first - 2), last);
  return around.some((line) => /\/\/|^\s*\*|\/\*/.test(line));
}

describe("the house rules for src", () => {
  test("no file is longer than 300 lines", () => {
    const long = [...sources].filter(([, text]) => text.split("\n").length > 301).map(([path]) => path);
    expect(long).toEqual([]);
  });

  test("time, timers and chance come from support", () => {
    expect(clockUses(sources)).toEqual([]);
  });

  test("every type assertion has its reason beside it", () => {
    expect(bareAssertions(sources)).toEqual([]);
  });

  test("no line is taken out of the checks", () => {
    const marks = [...sources].filter(([, text]) => /(oxlint|eslint)-disable|@ts-(ignore|expect-error|nocheck)|oxfmt-ignore/.test(text));
    expect(marks.map(([path]) => path)).toEqual([]);
  });
});

describe("the check of the house rules", () => {
  const planted = (path: string, text: string): Sources => new Map([[path, text]]);

  test.each([
    "Date.now()",
    "new Date()",
    "Math.random",
    "performance.now()",
    "setTimeout(f, 1)",
    "globalThis.x = setInterval",
    'import { setTimeout as wait } from "node:timers/promises";',
    'import timers from "node:timers";',
    'import * as hooks from "node:perf_hooks";',
  ])("sees %s outside support", (text) => {
    expect(clockUses(planted("task/run.ts", text))).toHaveLength(1);
    expect(clockUses(planted("support/clock.ts", text))).toEqual([]);
  });

  test.each([
    "new Date(run.clock.epoch())",
    "clock.now()",
    "// Date.now() is asked nowhere",
    "timers.setTimeout",
    'import { setImmediate } from "node:timers";',
  ])("lets %s pass", (text) => {
    expect(clockUses(planted("task/run.ts", text))).toEqual([]);
  });

  test("sees an assertion without a reason, and a reason above or beside it", () => {
    expect(bareAssertions(planted("task/a.ts", "const a = b as string;"))).toEqual(["task/a.ts:1 b as string"]);
    expect(bareAssertions(planted("task/a.ts", "const a = b as string; // checked above"))).toEqual([]);
    expect(bareAssertions(planted("task/a.ts", "// Checked above.\nconst a = b as string;"))).toEqual([]);
    expect(bareAssertions(planted("task/a.ts", "const a = [] as const;"))).toEqual([]);
  });
});
