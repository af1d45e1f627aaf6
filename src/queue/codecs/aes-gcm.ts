import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { DefinitionError } from "../../errors.js";
import { checkOptions, describe, list } from "../../support/check.js";
import type { Codec } from "./codec.js";

export interface AesGcmOptions {
  /** Keys of 32 bytes by their names. The names travel in the open. */
  readonly keys: Readonly<Record<string, Uint8Array>>;
  /** The name of the key to encrypt with; the others are there to read what is older. @default the only key */
  readonly current?: string;
}

const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;

/**
 * Encrypts payloads and answers with AES-256-GCM, so that the engine's storage holds nothing readable but task names, keys and reasons.
 * To change the key, add the new one everywhere, then make it `current`, and take the old one away once no job of it is left.
 *
 * What is written: the length of the key's name in one byte, the name, the nonce, the encrypted bytes, the tag. The name is authenticated.
 */
export function aesGcm(options: AesGcmOptions): Codec {
  checkOptions("aesGcm()", options, ["keys", "current"]);
  const keys = checkKeys(options.keys);
  const names = [...keys.keys()];
  const current = options.current ?? (names.length === 1 ? names[0] : undefined);
  const key = current === undefined ? undefined : keys.get(current);
  if (current === undefined || key === undefined) {
    throw new DefinitionError(`aesGcm(): current must name one of the keys, ${list(names)}, got ${describe(options.current)}.`);
  }
  return Object.freeze({
    name: "aes-gcm",
    encode: (bytes: Uint8Array) => encrypt(bytes, current, key),
    decode: (bytes: Uint8Array) => decrypt(bytes, keys),
  });
}

function checkKeys(given: unknown): ReadonlyMap<string, Uint8Array> {
  const entries: [string, unknown][] = typeof given === "object" && given !== null ? Object.entries(given) : [];
  if (entries.length === 0) throw new DefinitionError(`aesGcm(): keys must be an object of keys by name, got ${describe(given)}.`);
  return new Map(
    entries.map(([name, key]) => {
      if (Buffer.byteLength(name) > 255 || name === "") throw new DefinitionError(`aesGcm(): a key's name has from 1 to 255 bytes.`);
      if (key instanceof Uint8Array && key.byteLength === KEY_BYTES) return [name, Uint8Array.from(key)];
      throw new DefinitionError(
        `aesGcm(): the key ${JSON.stringify(name)} must be ${KEY_BYTES} bytes. Make one with randomBytes(${KEY_BYTES}).`,
      );
    }),
  );
}

function encrypt(bytes: Uint8Array, name: string, key: Uint8Array): Uint8Array {
  const label = Buffer.from(name, "utf8");
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(label);
  const encrypted = Buffer.concat([cipher.update(bytes), cipher.final()]);
  return Buffer.concat([Uint8Array.of(label.byteLength), label, nonce, encrypted, cipher.getAuthTag()]);
}

function decrypt(given: Uint8Array, keys: ReadonlyMap<string, Uint8Array>): Uint8Array {
  const bytes = Buffer.from(given.buffer, given.byteOffset, given.byteLength);
  const nonceAt = 1 + (bytes[0] ?? 0);
  const label = bytes.subarray(1, nonceAt);
  const key = keys.get(label.toString("utf8"));
  if (key === undefined || bytes.byteLength < nonceAt + NONCE_BYTES + TAG_BYTES) {
    throw new Error(`aesGcm() has no key for what was encrypted with ${describe(label.toString("utf8"))}`);
  }
  const nonce = bytes.subarray(nonceAt, nonceAt + NONCE_BYTES);
  const decipher = createDecipheriv("aes-256-gcm", key, nonce).setAAD(label).setAuthTag(bytes.subarray(-TAG_BYTES));
  return Buffer.concat([decipher.update(bytes.subarray(nonceAt + NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
}
