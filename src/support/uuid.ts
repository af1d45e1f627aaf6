import { createHash, randomFillSync } from "node:crypto";

const HEX: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));
const POOL = new Uint8Array(16_384);
const PER_ID = 10;
let used = POOL.length;
let stamp = { at: -1, text: "" };

/** A UUID version 7 (RFC 9562, section 5.7): 48 bits of epoch milliseconds, then 74 random bits. Sorts by time of making. */
export function uuidv7(epochMs: number): string {
  if (used + PER_ID > POOL.length) {
    randomFillSync(POOL);
    used = 0;
  }
  if (stamp.at !== epochMs) stamp = { at: epochMs, text: stampOf(epochMs) }; // many ids are made in one millisecond
  const at = used;
  used += PER_ID;
  const random = (offset: number): number => POOL[at + offset] ?? 0;
  const hex = (byte: number): string => HEX[byte] ?? "";
  return (
    stamp.text +
    hex(0x70 | (random(0) & 0x0f)) +
    hex(random(1)) +
    "-" +
    hex(0x80 | (random(2) & 0x3f)) +
    hex(random(3)) +
    "-" +
    hex(random(4)) +
    hex(random(5)) +
    hex(random(6)) +
    hex(random(7)) +
    hex(random(8)) +
    hex(random(9))
  );
}

function stampOf(epochMs: number): string {
  const digits = Math.floor(epochMs).toString(16).padStart(12, "0");
  return `${digits.slice(0, 8)}-${digits.slice(8)}-`;
}

/** A UUID of version 8 (RFC 9562, section 5.8), made of a text: the same for the same text. */
export function uuidOf(text: string): string {
  const hex = createHash("sha256").update(text).digest("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
