import type { Result } from "./result.js";

/** A run and the runs that were started inside it, in order of starting. */
export interface ChainNode {
  readonly result: Result;
  readonly children: readonly ChainNode[];
}

/** A node whose children are still coming. */
interface GrowingNode extends ChainNode {
  readonly children: ChainNode[];
}

/** Builds the tree of a chain from its results, in whatever order they came. A run whose parent is not among them is a root. */
export function chainTree(results: Iterable<Result>): readonly ChainNode[] {
  const nodes = [...results].toSorted((a, b) => a.index - b.index).map((result): GrowingNode => ({ result, children: [] }));
  const byId = new Map(nodes.map((node) => [node.result.runId, node]));
  const roots: ChainNode[] = [];
  for (const node of nodes) {
    const parent = node.result.parentId === undefined ? undefined : byId.get(node.result.parentId);
    (parent?.children ?? roots).push(node);
  }
  return roots;
}
