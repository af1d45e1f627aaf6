/** What is read of zod's schemas and checks: their kind and their parts. */
interface Definition {
  readonly type?: unknown;
  readonly check?: unknown;
  readonly [part: string]: unknown;
}

/** Kinds that hold no code of the user's, so that nothing in them can be asynchronous. Transforms, pipes, lazy and custom ones are not among them. */
const SYNC_KINDS: ReadonlySet<unknown> = new Set(
  "string number int boolean bigint symbol undefined null void any unknown never nan date literal enum template_literal file object array tuple record map set union intersection optional nullable default prefault nonoptional readonly".split(
    " ",
  ),
);

/**
 * Can this zod schema never need to be awaited? It says no when in doubt: for a kind that it does not know, or a check that is a
 * function of the user's.
 */
export function isAlwaysSync(schema: unknown, seen: Set<unknown> = new Set()): boolean {
  if (seen.has(schema)) return true;
  seen.add(schema);
  const definition = definitionOf(schema);
  if (definition === undefined || !SYNC_KINDS.has(definition.type)) return false;
  return checksOf(definition).every(isBuiltIn) && partsOf(definition).every((part) => isAlwaysSync(part, seen));
}

function definitionOf(schema: unknown): Definition | undefined {
  const internals: unknown = typeof schema === "object" && schema !== null && "_zod" in schema ? schema._zod : undefined;
  const definition: unknown = typeof internals === "object" && internals !== null && "def" in internals ? internals.def : undefined;
  return typeof definition === "object" && definition !== null ? (definition as Definition) : undefined; // an object has parts, known or not
}

function checksOf({ checks }: Definition): readonly unknown[] {
  return Array.isArray(checks) ? checks : [];
}

function isBuiltIn(check: unknown): boolean {
  const kind = definitionOf(check)?.check;
  return kind !== undefined && kind !== "custom" && kind !== "overwrite" && kind !== "property";
}

/** The schemas inside, wherever the kind keeps them: under a name, in a list, or by field. */
function partsOf(definition: Definition): readonly unknown[] {
  return Object.entries(definition).flatMap(([name, part]) => (name === "checks" ? [] : schemasIn(part)));
}

function schemasIn(part: unknown): readonly unknown[] {
  if (definitionOf(part) !== undefined) return [part];
  if (Array.isArray(part)) return part.flatMap(schemasIn);
  return typeof part === "object" && part !== null && Object.getPrototypeOf(part) === Object.prototype
    ? Object.values(part).filter((item) => definitionOf(item) !== undefined)
    : [];
}
