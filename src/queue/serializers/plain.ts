import { UnserializableError } from "../../errors.js";
import { describe } from "../../support/check.js";
import { isPlain, setOwn } from "../../support/freeze.js";
import { messageOf, toError } from "../../support/thrown.js";

/** What a serializer says of one value: what to write in its place, that it is to be left to the common rules, or why it cannot be. */
export type Treatment = { readonly value: unknown } | { readonly refused: string } | undefined;

/** How one serializer sees values that are neither plain objects nor arrays nor simple. */
export interface Rules {
  readonly name: string;
  readonly sortKeys: boolean;
  treat(value: unknown, path: readonly PropertyKey[]): Treatment;
}

/** How deep an input may be nested. JSON and CBOR overflow the stack a good deal later. */
const MAX_DEPTH = 500;
/** How much of a path is told that is too long. */
const SHOWN_DEPTH = 10;

/**
 * A copy of the value that holds nothing but what the serializer can carry. What it cannot is refused with its path, where a
 * serializer by itself would drop it, flatten it or turn it into null.
 *
 * @throws {UnserializableError}
 */
export function plainCopy(value: unknown, rules: Rules): unknown {
  try {
    return copy(value, rules, [], new Set());
  } catch (thrown) {
    if (thrown instanceof UnserializableError) throw thrown;
    const error = toError(thrown); // a getter or a proxy of somebody's, or a nesting without end
    throw new UnserializableError(`${rules.name} cannot carry the input: ${messageOf(error)}`, [], { cause: error });
  }
}

/** @param path Where the value is; of all values the same array, which is pushed to and popped from on the way. */
function copy(value: unknown, rules: Rules, path: PropertyKey[], around: Set<object>): unknown {
  const treatment = rules.treat(value, path);
  if (treatment !== undefined && "refused" in treatment) throw refusal(rules, path, treatment.refused);
  if (treatment !== undefined) return treatment.value;
  if (value === null || typeof value === "string" || typeof value === "boolean" || typeof value === "number") return value;
  if (typeof value !== "object") throw refusal(rules, path, whatIs(value));
  if (around.has(value)) throw refusal(rules, path, "a value that contains itself");
  if (around.size === MAX_DEPTH) throw refusal(rules, path.slice(0, SHOWN_DEPTH), `a nesting of more than ${MAX_DEPTH} levels`);
  around.add(value);
  const copied = Array.isArray(value) ? copyItems(value, rules, path, around) : copyFields(value, rules, path, around);
  around.delete(value);
  return copied;
}

function copyItems(items: readonly unknown[], rules: Rules, path: PropertyKey[], around: Set<object>): unknown[] {
  return Array.from(items, (item, index) => copyAt(index, item, rules, path, around)); // holes become undefined, which is refused
}

/** Fields that are undefined are left out: who reads them finds undefined there. */
function copyFields(value: object, rules: Rules, path: PropertyKey[], around: Set<object>): object {
  if (!isPlain(value)) throw refusal(rules, path, `an instance of ${classOf(value)}`);
  const keys = Object.keys(value);
  const copied: Record<string, unknown> = {};
  for (const key of rules.sortKeys ? keys.toSorted((a, b) => (a < b ? -1 : 1)) : keys) {
    const field: unknown = Reflect.get(value, key);
    if (field !== undefined) setOwn(copied, key, copyAt(key, field, rules, path, around));
  }
  return copied;
}

function copyAt(key: PropertyKey, value: unknown, rules: Rules, path: PropertyKey[], around: Set<object>): unknown {
  path.push(key);
  const copied = copy(value, rules, path, around);
  path.pop();
  return copied;
}

/** In words, without what may be a secret. */
function whatIs(value: unknown): string {
  return typeof value === "bigint" || typeof value === "symbol" ? `a ${typeof value}` : describe(value);
}

function classOf(value: object): string {
  const maker: unknown = value.constructor;
  return typeof maker === "function" && maker.name !== "" ? maker.name : "a class";
}

function refusal({ name }: Rules, path: readonly PropertyKey[], what: string): UnserializableError {
  return new UnserializableError(`${name} cannot carry the input: ${what} at input${pathText(path)}`, [...path]);
}

function pathText(path: readonly PropertyKey[]): string {
  return path.map((key) => (typeof key === "number" ? `[${key}]` : `.${String(key)}`)).join("");
}
