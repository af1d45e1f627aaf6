import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript-6"; // TypeScript 7 has no programming interface yet

/** The modules of a source tree: path from its root, to text. */
export type Sources = ReadonlyMap<string, string>;

/** One import or re-export. */
export interface Edge {
  readonly from: string;
  /** A path in the tree for a relative import, else the name as it is written. */
  readonly to: string;
  /** Is it there at run time? Type imports are not. */
  readonly value: boolean;
}

/** Reads all TypeScript files under a folder. */
export function readSources(folder: string): Sources {
  const paths = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".ts"));
  return new Map(paths.toSorted().map((path) => [path.replaceAll("\\", "/"), readFileSync(join(folder, path), "utf8")]));
}

/** Calls back for every node of a module, from the outside in. */
export function walk(path: string, text: string, visit: (node: ts.Node, file: ts.SourceFile) => void): void {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.ESNext, true);
  const into = (node: ts.Node): void => {
    visit(node, file);
    ts.forEachChild(node, into);
  };
  into(file);
}

/** Everything that the modules import, in whatever way. */
export function edgesOf(sources: Sources): readonly Edge[] {
  return [...sources].flatMap(([from, text]) => {
    const edges: Edge[] = [];
    walk(from, text, (node) => {
      const found = importOf(node);
      if (found !== undefined) edges.push({ from, to: resolve(from, found.name), value: found.value });
    });
    return edges;
  });
}

function importOf(node: ts.Node): { readonly name: string; readonly value: boolean } | undefined {
  // With `verbatimModuleSyntax`, only a whole `import type` goes away: `import { type A }` still loads the module.
  if (ts.isImportDeclaration(node)) return named(node.moduleSpecifier, node.importClause?.phaseModifier !== ts.SyntaxKind.TypeKeyword);
  if (ts.isExportDeclaration(node)) return named(node.moduleSpecifier, !node.isTypeOnly);
  if (ts.isImportTypeNode(node)) return ts.isLiteralTypeNode(node.argument) ? named(node.argument.literal, false) : undefined;
  const loads =
    ts.isCallExpression(node) && (node.expression.kind === ts.SyntaxKind.ImportKeyword || node.expression.getText() === "require");
  return loads ? named(node.arguments[0], true) : undefined;
}

function named(specifier: ts.Node | undefined, value: boolean): { readonly name: string; readonly value: boolean } | undefined {
  return specifier !== undefined && ts.isStringLiteralLike(specifier) ? { name: specifier.text, value } : undefined;
}

function resolve(from: string, name: string): string {
  return name.startsWith(".") ? join(from, "..", name).replaceAll("\\", "/").replace(/\.js$/, ".ts") : name;
}

/** A way round for each module that reaches itself through imports that exist at run time, each way once. */
export function valueCycles(edges: readonly Edge[]): readonly string[] {
  const atRunTime = edges.filter((edge) => edge.value);
  const cycles = new Set<string>();
  const done = new Set<string>();
  const follow = (at: string, way: readonly string[]): void => {
    const start = way.indexOf(at);
    if (start >= 0) cycles.add(written(way.slice(start)));
    if (start >= 0 || done.has(at)) return;
    for (const { from, to } of atRunTime) if (from === at) follow(to, [...way, at]);
    done.add(at);
  };
  for (const { from } of atRunTime) follow(from, []);
  return [...cycles];
}

/** Begins with the first module by name, so that one cycle is written in one way. */
function written(way: readonly string[]): string {
  const first = way.indexOf(way.toSorted()[0] ?? "");
  const turned = [...way.slice(first), ...way.slice(0, first)];
  return [...turned, turned[0]].join(" → ");
}
