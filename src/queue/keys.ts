import { createHash } from "node:crypto";
import { DefinitionError } from "../errors.js";
import { describe } from "../support/check.js";

/** The three ways to give a key to one call. The first that is set counts: `uniqueKey`, `idempotencyKey`, then derivation. */
export interface KeyOptions {
  /** The key, as it stands. Tasks of one namespace share their keys: put the task's name into it. */
  readonly uniqueKey?: string | null | undefined;
  /** The same as `uniqueKey`, and weaker: the more descriptive name. */
  readonly idempotencyKey?: string | null | undefined;
  /** Derives the key from the task's name and the input; `false` leaves it out. @default what `@queued` says, else false */
  readonly idempotent?: boolean | undefined;
}

/** The longest key that is kept as it is, in bytes. Storage that indexes keys has limits not far above. */
const MAX_BYTES = 512;

/**
 * The key that `idempotent` derives: `auto:` and 32 hexadecimal digits of a hash of the task's name and the serialized input. Public, so
 * that producers in other languages can make the same.
 *
 * @param payload The bytes that the serializer gives, before any codec; a text stands for its UTF-8 bytes.
 */
export function autoKey(taskName: string, payload: Uint8Array | string): string {
  const hash = createHash("sha256").update(taskName, "utf8").update(SEPARATOR).update(payload);
  return `auto:${hash.digest("hex").slice(0, 32)}`;
}

/** A byte that no task name has, so that a name is never taken for the beginning of a payload. */
const SEPARATOR = Uint8Array.of(0);

/** How a key was come by. */
export interface ResolvedKey {
  readonly text: string;
  readonly derived: boolean;
}

/**
 * The one key of a call.
 *
 * @throws {DefinitionError} when a given key is none.
 */
export function resolveKey(options: KeyOptions, isIdempotent: boolean, taskName: string, payload: Uint8Array): ResolvedKey | undefined {
  if (isGiven(options.uniqueKey)) return { text: checkKey("uniqueKey", options.uniqueKey), derived: false };
  if (isGiven(options.idempotencyKey)) return { text: checkKey("idempotencyKey", options.idempotencyKey), derived: false };
  return isIdempotent ? { text: autoKey(taskName, payload), derived: true } : undefined;
}

/** Only what is absent is passed over: an empty text is a mistake, and not a reason to derive. */
function isGiven(key: string | null | undefined): key is string {
  return key !== undefined && key !== null;
}

/** @throws {DefinitionError} when it is blank or cannot be kept. A key that is too long is replaced by its hash. */
export function checkKey(option: string, key: unknown): string {
  if (typeof key !== "string") throw new DefinitionError(`${option} must be a text, got ${describe(key)}.`);
  if (key.trim() === "") {
    throw new DefinitionError(`${option} is blank, so all jobs with it would be one. Leave it out where there is no key.`);
  }
  if (key.includes("\0") || !key.isWellFormed()) {
    throw new DefinitionError(`${option} must be well-formed text without NUL, got ${describe(key)}. Encode bytes as hexadecimal digits.`);
  }
  return Buffer.byteLength(key) <= MAX_BYTES ? key : `h:${createHash("sha256").update(key, "utf8").digest("hex")}`;
}
