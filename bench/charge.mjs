/** The work that all rows do: an answer made from its input, and nothing that takes time of its own. */
import { z } from "zod";

export const input = z.object({ paymentId: z.string(), amountCents: z.number().int().positive() });
export const output = z.object({ chargeId: z.string() });

export const GIVEN = Object.freeze({ paymentId: "pay_123", amountCents: 9900 });

export function charge({ paymentId }) {
  return { chargeId: paymentId };
}
