import { DefinitionError } from "../errors.js";
import { describe } from "../support/check.js";
import type { EntriesOptions, SetOptions } from "./store.js";

/** What every store refuses, in the same words. Each answers with the error to reject with, or nothing. */

export function faultOfWrite({ ttlMs, nx, xx, owner }: SetOptions): DefinitionError | undefined {
  if (nx === true && xx === true)
    return new DefinitionError("A store's set() takes nx or xx, not both: a key cannot be absent and present.");
  return faultOfLife(ttlMs) ?? faultOfOwner(owner);
}

export function faultOfLife(ttlMs: number): DefinitionError | undefined {
  if (Number.isSafeInteger(ttlMs) && ttlMs >= 1) return undefined;
  return new DefinitionError(
    `ttlMs must be a whole number of milliseconds of 1 or more, got ${describe(ttlMs)}. No entry may live for ever.`,
  );
}

export function faultOfOwner(owner: string | undefined): DefinitionError | undefined {
  // A store may keep the owner in one text with the value, and must tell the two apart.
  if (owner === undefined || (typeof owner === "string" && owner !== "" && !owner.includes(" "))) return undefined;
  return new DefinitionError(`owner must be a text of one or more characters without a space, got ${describe(owner)}.`);
}

export function faultOfPage({ limit = 1 }: EntriesOptions): DefinitionError | undefined {
  if (Number.isSafeInteger(limit) && limit >= 1) return undefined;
  return new DefinitionError(`limit must be a whole number of 1 or more, got ${describe(limit)}.`);
}

export function faultOfCount(key: string): Error {
  return new Error(`The entry ${key} is no count: something else was written under this key.`);
}

export function cursorFault(cursor: string): DefinitionError {
  return new DefinitionError(
    `entries() was given the cursor ${describe(cursor)}, which it never handed out. Hand back the cursor of the page before.`,
  );
}
