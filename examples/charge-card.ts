/**
 * A payment from end to end: an application base class, an outcome for everything that can happen, and one place that answers it.
 */
import { match, onFailed, retryOn, settings, Task, type FailedOutcome } from "taskwright";
import { z } from "zod";

class CardNetworkError extends Error {}

/** Stands in for the provider. */
const cards = {
  async charge(card: string, amountCents: number) {
    if (card === "offline") throw new CardNetworkError("no answer from the card network");
    return card === "blocked"
      ? { accepted: false as const, why: "the card is blocked" }
      : { accepted: true as const, id: `ch_${amountCents}` };
  },
};

/** What all tasks of the application share. */
@settings({ tags: ["billing"] })
abstract class ApplicationTask extends Task {
  protected note(line: string): void {
    console.log(`  ${line}`);
  }
}

@retryOn(CardNetworkError, { limit: 2, delay: "10ms" })
class ChargeCard extends ApplicationTask.with({
  input: z.object({ card: z.string(), amountCents: z.coerce.number().int().positive(), currency: z.enum(["EUR", "USD"]).default("EUR") }),
  output: z.object({ chargeId: z.string(), amount: z.string() }),
}) {
  async work() {
    const { card, amountCents, currency } = this.input;
    this.note(`attempt ${this.attempt}: ${amountCents} cents on ${card}`);

    const charge = await cards.charge(card, amountCents);
    if (!charge.accepted) this.fail(charge.why, { code: "declined" }, { retryable: false });

    return { chargeId: charge.id, amount: `${(amountCents / 100).toFixed(2)} ${currency}` };
  }

  @onFailed()
  protected tell(outcome: FailedOutcome) {
    this.note(`told the customer: ${outcome.reason}`);
  }
}

async function charge(input: { card: string; amountCents: unknown }): Promise<void> {
  console.log(`charge ${input.card}`);
  const answer = match(await ChargeCard.execute(input), {
    success: ({ output }) => `200 ${output.chargeId}, ${output.amount}`,
    skipped: ({ reason }) => `204 ${reason}`,
    failed: ({ metadata, retryable }) =>
      metadata.code === "invalid_input" ? "422" : retryable ? "503, try again later" : `402 ${metadata.code}`,
  });
  console.log(`  ${answer}\n`);
}

await charge({ card: "visa", amountCents: "4250" });
await charge({ card: "blocked", amountCents: 4250 });
await charge({ card: "offline", amountCents: 4250 });
await charge({ card: "visa", amountCents: -1 });
