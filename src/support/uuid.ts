import { randomFillSync } from "node:crypto";

const HEX: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));
const POOL = new Uint8Array(4_096);
const PER_ID = 10;
let used = POOL.length;

/** A UUID version 7 (RFC 9562, section 5.7): 48 bits of epoch milliseconds, then 74 random bits. Sorts by time of making. */
export function uuidv7(epochMs: number): string {
  if (used + PER_ID > POOL.length) {
    randomFillSync(POOL);
    used = 0;
  }
  const at = used;
  used += PER_ID;
  const high = Math.floor(epochMs / 2 ** 32);
  const low = epochMs >>> 0;
  const random = (offset: number): number => POOL[at + offset] ?? 0;
  const hex = (byte: number): string => HEX[byte & 0xff] ?? "";
  return (
    hex(high >>> 8) +
    hex(high) +
    hex(low >>> 24) +
    hex(low >>> 16) +
    "-" +
    hex(low >>> 8) +
    hex(low) +
    "-" +
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
