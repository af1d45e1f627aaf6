import { createHash, randomFillSync } from "node:crypto";

const POOL = Buffer.alloc(8_192);
/** The pool as hexadecimal digits. */
let digits = "";
let used = 0;
/** 74 random bits take 18 digits and half of one. */
const PER_ID = 19;
let stamp = { at: -1, text: "" };

/** A UUID version 7 (RFC 9562, section 5.7): 48 bits of epoch milliseconds, then 74 random bits. Sorts by time of making. */
export function uuidv7(epochMs: number): string {
  if (used + PER_ID > digits.length) {
    digits = randomFillSync(POOL).toString("hex");
    used = 0;
  }
  if (stamp.at !== epochMs) stamp = { at: epochMs, text: stampOf(epochMs) }; // many ids are made in one millisecond
  const at = used;
  used += PER_ID;
  const middle = digits.slice(at + 1, at + 4) + "-" + variantOf(digits.charCodeAt(at)) + digits.slice(at + 4, at + 7);
  return stamp.text + (middle + "-" + digits.slice(at + 7, at + PER_ID));
}

/** The bits `10`, and the last two of a digit. */
function variantOf(code: number): string {
  return "89ab".charAt((code <= 0x39 ? code : code + 1) & 0x03); // a, b, c … stand for 10, 11, 12 …, and their codes are 97, 98, 99 …
}

function stampOf(epochMs: number): string {
  const time = Math.floor(epochMs).toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7`;
}

/** A UUID of version 8 (RFC 9562, section 5.8), made of a text: the same for the same text. */
export function uuidOf(text: string): string {
  const hex = createHash("sha256").update(text).digest("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
