import { Task } from "taskwright";
import { z } from "zod";

/** An application's own base, with members that its tasks share. */
export abstract class ApplicationTask extends Task {
  static region = "eu";
  protected audit(line: string): string {
    return `${this.runId} ${line}`;
  }
}

/** The task that most cases use: a default, two coercions, an output that is transformed on its way out. */
export class ChargeCard extends ApplicationTask.with({
  input: z.object({
    orderId: z.string(),
    amount: z.coerce.number().int(),
    currency: z.enum(["USD", "EUR"]).default("USD"),
    note: z.string().optional(),
  }),
  output: z.object({ chargeId: z.string(), at: z.coerce.date() }),
}) {
  async work() {
    return { chargeId: this.audit(this.input.orderId), at: "2026-01-01" };
  }
}

/** Extends a task; everything is inherited. */
export class ChargeVip extends ChargeCard {
  readonly discount = 0.1;

  override async work() {
    const charge = await super.work();
    return { ...charge, chargeId: `${charge.chargeId} less ${this.discount}` };
  }
}

/** Takes nothing, and its output is what `work` returns. */
export class Ping extends Task.with() {
  work() {
    return { pong: true };
  }
}

/** Everything in its input may be left out. */
export class ListOrders extends Task.with({ input: z.object({ page: z.number().default(1), search: z.string().optional() }) }) {
  async work() {
    return { ids: [`${this.input.page}`] };
  }
}

/** One of two shapes, told apart by a field. */
export class Refund extends Task.with({
  input: z.discriminatedUnion("by", [
    z.object({ by: z.literal("card"), cardId: z.string() }),
    z.object({ by: z.literal("bank"), iban: z.string(), bic: z.string().optional() }),
  ]),
  output: z.object({ refundId: z.string() }),
}) {
  async work() {
    const { input } = this;
    return { refundId: input.by === "card" ? input.cardId : input.iban };
  }
}

export class CardError extends Error {
  readonly bank: string = "";
}
