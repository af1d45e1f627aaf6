/**
 * Idempotency in one process: what a duplicate gets, what frees a key, and what a caller can do about keys.
 */
import { configure, idempotentBy, keyFor, MemoryStore, slots, Task, type Result } from "taskwright";
import { z } from "zod";

/** Stands in for a provider. It gets the key as well, as good providers want it. */
const cards = {
  charged: new Map<string | undefined, number>(),
  async charge(amountCents: number, options: { readonly idempotencyKey: string | undefined }): Promise<string> {
    if (amountCents > 100_000) throw new Error("over the limit of the card");
    this.charged.set(options.idempotencyKey, amountCents);
    return `ch_${this.charged.size}`;
  },
};

const store = new MemoryStore(); // the default; named here, so that it can be looked into
configure((config) => {
  config.store = store;
});

/** `fingerprint`: one payment has one amount. A second request with another is a mistake of the caller's, and no duplicate. */
@idempotentBy("paymentId", { ttl: "10m", fingerprint: true, onMissingKey: "fail" })
class ChargeCustomer extends Task.with({
  input: z.object({ paymentId: z.string().optional(), amountCents: z.coerce.number().int().positive() }),
  output: z.object({ chargeId: z.string() }),
}) {
  async work() {
    return { chargeId: await cards.charge(this.input.amountCents, { idempotencyKey: this.claim?.key }) };
  }
}

/** A subclass has keys of its own, and here another answer to duplicates. */
@idempotentBy({ onDuplicate: "fail" })
class ChargeOnce extends ChargeCustomer {}

function show(what: string, { status, reason, metadata }: Result): void {
  console.log(
    `${what}\n  ${status}${metadata.code === undefined ? "" : ` (${metadata.code})`}${reason === undefined ? "" : `: ${reason}`}`,
  );
}

const payment = { paymentId: "pay_1", amountCents: 9900 };
show("the first call", await ChargeCustomer.execute(payment));
show(
  "the same again, the amount as a text: keys come from the parsed input",
  await ChargeCustomer.execute({ ...payment, amountCents: "9900" }),
);
show("the same payment with another amount", await ChargeCustomer.execute({ ...payment, amountCents: 1 }));

show("no payment id", await ChargeCustomer.execute({ amountCents: 9900 }));
show("none, but a key from the caller", await ChargeCustomer.execute({ amountCents: 9900 }, { idempotencyKey: "order-7" }));

show("a failure", await ChargeCustomer.execute({ paymentId: "pay_2", amountCents: 200_000 }));
show("frees its key", await ChargeCustomer.execute({ paymentId: "pay_2", amountCents: 50_000 }));

const [one, two] = await Promise.all([ChargeOnce.execute(payment), ChargeOnce.execute(payment)]);
show("two at the same moment: one of them", one);
show("and the other", two);

console.log("\nThe key that a call would use:", await keyFor(ChargeCustomer, { paymentId: "pay_9", amountCents: 1 }));

const remembered: string[] = [];
for await (const { key, state } of slots(store)) remembered.push(`${key} ${state}`);
console.log("What is remembered:", remembered.toSorted());
console.log("What was charged:", cards.charged);
