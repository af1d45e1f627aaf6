import { idempotentBy, Task, type IdempotencyOptions } from "taskwright";
import { z } from "zod";

export const INPUT = { paymentId: "pay_123" };
export const KEY = "cmdx:idem:ChargeCustomer:pay_123";

/** What a run of the task may do. Anything that is left out does nothing. */
export interface Acts {
  readonly work?: (task: ChargeTask) => unknown;
  readonly rollback?: (task: ChargeTask) => unknown;
}

/** The task, as its own functions see it. */
export type ChargeTask = Task & { readonly input: { readonly paymentId: string; readonly amountCents: number } };

/** The seed's own task: one charge for each payment. `seen` counts what was really done. */
export function chargeTask(options: IdempotencyOptions = {}, { work, rollback }: Acts = {}) {
  const seen = { works: 0, rollbacks: 0 };
  class ChargeCustomer extends Task.with({
    input: z.object({ paymentId: z.string(), amountCents: z.coerce.number().int().positive().default(100) }),
  }) {
    async work(): Promise<unknown> {
      seen.works += 1;
      return work?.(this);
    }

    override async rollback(): Promise<void> {
      seen.rollbacks += 1;
      await rollback?.(this);
    }
  }
  idempotentBy("paymentId", options)(ChargeCustomer);
  return { ChargeCustomer, seen };
}

/** The texts of the calls that reached the store, without what is the same for all of them. */
export function operations(calls: readonly { readonly operation: string }[]): string[] {
  return calls.map(({ operation }) => operation);
}
