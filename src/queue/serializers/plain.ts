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

function copy(value: unknown, rules: Rules, path: readonly PropertyKey[], around: Set<object>): unknown {
  const treatment = rules.treat(value, path);
  if (treatment !== undefined && "refused" in treatment) throw refusal(rules, path, treatment.refused);
  if (treatment !== undefined) return treatment.value;
  if (value === null || typeof value === "string" || typeof value === "boolean" || typeof value === "number") return value;
  if (typeof value !== "object") throw refusal(rules, path, describe(value));
  if (around.has(value)) throw refusal(rules, path, "a value that contains itself");
  around.add(value);
  const copied = Array.isArray(value) ? copyItems(value, rules, path, around) : copyFields(value, rules, path, around);
  around.delete(value);
  return copied;
}

function copyItems(items: readonly unknown[], rules: Rules, path: readonly PropertyKey[], around: Set<object>): unknown[] {
  return Array.from(items, (item, index) => copy(item, rules, [...path, index], around)); // holes become undefined, which is refused
}

/** Fields that are undefined are left out: who reads them finds undefined there. */
function copyFields(value: object, rules: Rules, path: readonly PropertyKey[], around: Set<object>): object {
  if (!isPlain(value)) throw refusal(rules, path, `an instance of ${classOf(value)}`);
  const keys = Object.keys(value);
  const copied: Record<string, unknown> = {};
  for (const key of rules.sortKeys ? keys.toSorted((a, b) => (a < b ? -1 : 1)) : keys) {
    const field: unknown = Reflect.get(value, key);
    if (field !== undefined) setOwn(copied, key, copy(field, rules, [...path, key], around));
  }
  return copied;
}

function classOf(value: object): string {
  const maker: unknown = value.constructor;
  return typeof maker === "function" && maker.name !== "" ? maker.name : "a class";
}

function refusal({ name }: Rules, path: readonly PropertyKey[], what: string): UnserializableError {
  return new UnserializableError(`${name} cannot carry the input: ${what} at input${pathText(path)}`, path);
}

function pathText(path: readonly PropertyKey[]): string {
  return path.map((key) => (typeof key === "number" ? `[${key}]` : `.${String(key)}`)).join("");
}
