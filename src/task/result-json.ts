import { isError, messageOf } from "../support/thrown.js";
import { setOwn } from "../support/freeze.js";
import type { Result } from "./result.js";

/** What of a result its JSON shows beside the facts of the run. */
export interface ResultJsonOptions {
  /** @default false */
  readonly output?: boolean;
  /** @default false */
  readonly context?: boolean;
  /** The stacks of errors. @default false */
  readonly stack?: boolean;
}

export interface ResultJson {
  readonly status: Result["status"];
  readonly [key: string]: Json | undefined;
}
export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

/** A result as plain JSON. Never throws, whatever people put into metadata, output or context. */
export function resultJson(result: Result, { output = false, context = false, stack = false }: ResultJsonOptions): ResultJson {
  const shown: Record<string, Json> = {};
  for (const [key, value] of Object.entries(result)) {
    if ((key === "output" && !output) || (key === "context" && !context) || value === undefined) continue;
    shown[key] = jsonSafe(value, stack);
  }
  return { ...shown, status: result.status };
}

/** Errors by name, message, code and cause. */
export function errorJson(error: Error, stack = false): Json {
  return jsonSafe(error, stack);
}

/** Any value as JSON: dates as ISO text, bigints as digits, errors by name and message, maps as objects, sets as arrays, cycles as a word. */
export function jsonSafe(value: unknown, stack = false): Json {
  return convert(value, { stack, path: new Set() });
}

interface Conversion {
  readonly stack: boolean;
  /** The objects around the one at hand: meeting one of them again is a cycle. */
  readonly path: Set<object>;
}

function convert(value: unknown, conversion: Conversion): Json {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number":
      return Number.isFinite(value) ? value : String(value);
    case "bigint":
      return value.toString();
    case "undefined":
      return null;
    case "symbol":
      return value.toString();
    case "function":
      return value.name === "" ? "[function]" : `[function ${value.name}]`;
    case "object":
      return value === null ? null : convertObject(value, conversion);
  }
}

function convertObject(value: object, conversion: Conversion): Json {
  if (conversion.path.has(value)) return "[circular]";
  conversion.path.add(value);
  try {
    return entriesOf(value, conversion);
  } catch {
    return "[unreadable]"; // a getter or a toJSON of somebody else's that throws
  } finally {
    conversion.path.delete(value);
  }
}

function entriesOf(value: object, conversion: Conversion): Json {
  if (isError(value)) return convertError(value, conversion);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "Invalid Date" : value.toISOString();
  if (Array.isArray(value)) return value.map((item) => convert(item, conversion));
  if (value instanceof Map)
    return record(
      [...value].map(([key, item]) => [typeof key === "object" ? "[object]" : String(key), item]),
      conversion,
    );
  if (value instanceof Set) return [...value].map((item) => convert(item, conversion));
  if (ArrayBuffer.isView(value)) return `[${value.constructor.name} of ${value.byteLength} bytes]`;
  if ("toJSON" in value && typeof value.toJSON === "function") return convert(Reflect.apply(value.toJSON, value, []), conversion);
  return record(Object.entries(value), conversion);
}

function convertError(error: Error, conversion: Conversion): Json {
  const fields: [string, unknown][] = [
    ["name", error.name],
    ["message", messageOf(error)],
  ];
  for (const key of ["code", "cause", "errors"] as const) {
    const value: unknown = Reflect.get(error, key);
    if (value !== undefined) fields.push([key, value]);
  }
  if (conversion.stack && error.stack !== undefined) fields.push(["stack", error.stack]);
  return record(fields, conversion);
}

function record(entries: readonly (readonly [string, unknown])[], conversion: Conversion): Json {
  const json: Record<string, Json> = {};
  for (const [key, item] of entries) {
    if (item !== undefined) setOwn(json, key, convert(item, conversion));
  }
  return json;
}
