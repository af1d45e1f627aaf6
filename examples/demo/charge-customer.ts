import { idempotentBy, match, retryOn, Task, type ResultOf } from "taskwright";
import { z } from "zod";

export class NetworkError extends Error {}

export interface CardProvider {
  /** The same key gives the same charge, however often it is asked for: good providers work like this. */
  charge(card: string, amountCents: number, idempotencyKey: string | undefined): Promise<string>;
}

/** The provider, or the way to it. Each process says at its start which it is. */
export const cards: { provider: CardProvider | undefined } = { provider: undefined };

/** `ttl`: how long a success is remembered. `lease`: how soon the key is free when the process has died. In seconds, and short for once. */
@idempotentBy("paymentId", { ttl: 600, lease: 3 })
@retryOn(NetworkError, { limit: 3, delay: "100ms", jitter: "exponential" })
export class ChargeCustomer extends Task.with({
  input: z.object({ paymentId: z.string(), card: z.string(), amountCents: z.coerce.number().int().nonnegative() }),
  output: z.object({ chargeId: z.string() }),
}) {
  async work() {
    const { card, amountCents } = this.input;
    if (amountCents === 0) this.skip("there is nothing to charge");

    const chargeId = await cards.provider?.charge(card, amountCents, this.claim?.key);
    if (chargeId === undefined || chargeId === "declined") this.fail("the card was declined", { code: "card_declined" });

    return { chargeId };
  }
}

/** What became of a run, as the demo shows it. */
export interface Told {
  readonly status: "success" | "skipped" | "failed";
  readonly text: string;
  /** When a duplicate of a run that is still at work may come again. */
  readonly retryAfterMs: number | undefined;
}

export function told(result: ResultOf<typeof ChargeCustomer>): Told {
  const text = match(result, {
    success: ({ output, retries }) => `${output.chargeId}${retries > 0 ? `, after ${retries} retries` : ""}`,
    skipped: ({ reason }) => reason ?? "",
    failed: ({ reason, issues }) => issues[0]?.message ?? reason,
  });
  const { retryAfterMs } = result.metadata;
  return { status: result.status, text, retryAfterMs: typeof retryAfterMs === "number" ? retryAfterMs : undefined };
}
