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

/** Under which names the kinds keep the schemas inside them. Others are not read: a default's may be a getter with the user's code behind it. */
const PARTS = ["innerType", "element", "shape", "options", "items", "rest", "keyType", "valueType", "left", "right", "catchall"];

function partsOf(definition: Definition): readonly unknown[] {
  return PARTS.flatMap((name) => (name in definition ? schemasIn(definition[name]) : []));
}

/** One schema, a list of them, or a record by field. Anything else is handed on as it is, and is then no schema that is known. */
function schemasIn(part: unknown): readonly unknown[] {
  if (part === undefined || part === null) return [];
  if (Array.isArray(part)) return part;
  return typeof part === "object" && definitionOf(part) === undefined ? Object.values(part) : [part];
}
