import { checkOptions } from "../../support/check.js";
import { plainCopy, type Rules, type Treatment } from "./plain.js";
import type { Serializer } from "./serializer.js";

export interface JsonOptions {
  /**
   * Sorts the keys of objects, so that inputs that differ only in the order of their keys get the same derived key.
   *
   * @default false: the bytes are those that `JSON.stringify` gives, which other languages can match
   */
  readonly canonical?: boolean;
}

/**
 * JSON, the default. A date, and whatever else has a `toJSON`, arrives as text: let the input schema take it (`z.coerce.date()`), or take
 * {@link cborSerializer}. What JSON would change or lose in silence is refused: undefined in an array, NaN, bigints, maps, sets, bytes,
 * instances of classes.
 */
export function jsonSerializer(options: JsonOptions = {}): Serializer {
  checkOptions("jsonSerializer()", options, ["canonical"]);
  const rules: Rules = { name: "The json serializer", sortKeys: options.canonical === true, treat };
  return Object.freeze({
    name: "json",
    serialize: (input: unknown) => Buffer.from(JSON.stringify(sortable(input, rules)), "utf8"),
    deserialize: (bytes: Uint8Array): unknown => JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8")),
  });
}

function sortable(input: unknown, rules: Rules): unknown {
  return plainCopy(input === undefined ? {} : input, rules);
}

function treat(value: unknown): Treatment {
  if (typeof value === "number" && !Number.isFinite(value)) return { refused: String(value) };
  if (typeof value !== "object" || value === null) return undefined;
  if (ArrayBuffer.isView(value)) return { refused: "bytes" };
  if (!("toJSON" in value) || typeof value.toJSON !== "function") return undefined;
  const text: unknown = Reflect.apply(value.toJSON, value, []);
  return typeof text === "string" ? { value: text } : { refused: "a value whose toJSON gives no text" };
}
