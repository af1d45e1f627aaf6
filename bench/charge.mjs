/** The work that all rows do: an answer made from its input, and nothing that takes time of its own. */
import { z } from "zod";

export const input = z.object({ paymentId: z.string(), amountCents: z.number().int().positive() });
export const output = z.object({ chargeId: z.string() });

export const GIVEN = Object.freeze({ paymentId: "pay_100000000000", amountCents: 9900 });

/** Inputs of duplicates: a few keys, so that none is the only one. No fresh input is among them. */
const HELD = Array.from({ length: 16 }, (_, at) => Object.freeze({ paymentId: `pay_${String(at).padStart(12, "0")}`, amountCents: 9900 }));

let turn = 0;

/** An input that had its first run in {@link runAllHeld}: each in its turn. */
export function held() {
  return HELD[(turn += 1) % HELD.length];
}

/** The first runs, of which what is measured then are duplicates. */
export async function runAllHeld(call) {
  await Promise.all(HELD.map((given) => call(given)));
}

let made = 0;

export function charge({ paymentId }) {
  made += 1;
  return { chargeId: paymentId };
}

/** How many charges were made in this process, for rows that prove what they do. */
export function charges() {
  return made;
}

// Twelve digits always, so that every key is as long as any other; begun at another place by each process that shares a server.
let payments = 100_000_000_000 + (Date.now() % 800_000) * 1e6;

/** An input that nobody had before. */
export function fresh() {
  return { paymentId: `pay_${(payments += 1)}`, amountCents: 9900 };
}
