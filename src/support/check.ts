import { DefinitionError } from "../errors.js";

/** Checks of options at declaration. Every message names the option, what was given, what is allowed and the next step. */

/** @throws {DefinitionError} when `options` is no plain record or has a key that is not in `allowed`. */
export function checkOptions(owner: string, options: unknown, allowed: readonly string[]): void {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw new DefinitionError(`${owner} takes an object of options, got ${describe(options)}. Allowed: ${list(allowed)}.`);
  }
  const unknown = Object.keys(options).filter((key) => !allowed.includes(key));
  if (unknown.length > 0) {
    throw new DefinitionError(`${owner} has no option ${list(unknown)}. Allowed: ${list(allowed)}. Check the spelling.`);
  }
}

/** @throws {DefinitionError} unless the value is one of the words. */
export function checkWord<W extends string>(option: string, value: unknown, words: readonly W[]): W {
  const found = words.find((word) => word === value);
  if (found === undefined) throw new DefinitionError(`${option} must be one of ${list(words)}, got ${describe(value)}.`);
  return found;
}

/** @throws {DefinitionError} unless the value is a whole number from `min` to `max`. */
export function checkInteger(option: string, value: unknown, min: number, max: number = Number.MAX_SAFE_INTEGER): number {
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < min || value > max) {
    const range = max === Number.MAX_SAFE_INTEGER ? `of ${min} or more` : `from ${min} to ${max}`;
    throw new DefinitionError(`${option} must be a whole number ${range}, got ${describe(value)}.`);
  }
  return value;
}

/** @throws {DefinitionError} unless the value is true or false. */
export function checkBoolean(option: string, value: unknown): boolean {
  if (typeof value !== "boolean") throw new DefinitionError(`${option} must be true or false, got ${describe(value)}.`);
  return value;
}

/** @throws {DefinitionError} unless the value is a function. */
export function checkFunction(option: string, value: unknown): void {
  if (typeof value !== "function") throw new DefinitionError(`${option} must be a function, got ${describe(value)}.`);
}

/** A value in an error message: short, and never the contents of an object, which may be secret. Never throws. */
export function describe(value: unknown): string {
  try {
    if (typeof value === "string") return value.length > 80 ? `a text of ${value.length} characters` : JSON.stringify(value);
    if (typeof value === "bigint") return `${value}n`;
    if (typeof value === "function")
      return typeof value.name === "string" && value.name !== "" ? `the function ${value.name}` : "a function";
    if (Array.isArray(value)) return "an array";
    return typeof value === "object" && value !== null ? "an object" : String(value);
  } catch {
    return "a value that cannot be read"; // a revoked proxy say
  }
}

export function list(words: readonly string[]): string {
  return words.map((word) => JSON.stringify(word)).join(", ");
}
