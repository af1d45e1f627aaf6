import { isPlain } from "./freeze.js";

/**
 * One text for equal values: keys of objects, entries of maps and members of sets in order of their code units, types told
 * apart (`5`, `"5"`, `5n`, a date, an absent field from a null one). For hashing; it is not read back.
 *
 * @throws {TypeError} for what has no value to compare: functions, symbols, cycles, instances of unknown classes.
 */
export function canonical(value: unknown): string {
  return write(value, new Set());
}

function write(value: unknown, path: Set<object>): string {
  switch (typeof value) {
    case "string":
      return JSON.stringify(value);
    case "number":
      return Object.is(value, -0) ? "-0" : String(value);
    case "boolean":
    case "undefined":
      return String(value);
    case "bigint":
      return `${value}n`;
    case "object":
      return value === null ? "null" : around(value, path);
    default:
      throw new TypeError(`A ${typeof value} has no value to compare`);
  }
}

function around(value: object, path: Set<object>): string {
  if (path.has(value)) throw new TypeError("A value that contains itself cannot be compared");
  path.add(value);
  const text = writeObject(value, path);
  path.delete(value);
  return text;
}

function writeObject(value: object, path: Set<object>): string {
  if (Array.isArray(value)) return `[${value.map((item) => write(item, path)).join(",")}]`;
  if (value instanceof Date) return `Date(${value.getTime()})`;
  if (value instanceof URL) return `URL(${JSON.stringify(value.href)})`;
  if (value instanceof Map) return `Map{${sorted([...value].map(([key, item]) => `${write(key, path)}:${write(item, path)}`))}}`;
  if (value instanceof Set) return `Set{${sorted([...value].map((item) => write(item, path)))}}`;
  if (value instanceof ArrayBuffer) return bytes("ArrayBuffer", new Uint8Array(value));
  if (ArrayBuffer.isView(value)) return bytes(value.constructor.name, new Uint8Array(value.buffer, value.byteOffset, value.byteLength));
  if (!isPlain(value)) throw new TypeError(`An instance of ${value.constructor.name} cannot be compared`);
  const fields = Object.entries(value).filter(([, item]) => item !== undefined);
  return `{${sorted(fields.map(([key, item]) => `${JSON.stringify(key)}:${write(item, path)}`))}}`;
}

/** By code unit, never by locale. */
function sorted(parts: string[]): string {
  return parts.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0)).join(",");
}

function bytes(name: string, view: Uint8Array): string {
  return `${name}(${Buffer.from(view.buffer, view.byteOffset, view.byteLength).toString("base64")})`;
}
