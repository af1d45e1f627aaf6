import { NetworkError, type CardProvider } from "./charge-customer.js";

/** A card provider that lives in the demo. One key makes one charge: asked again with it, it gives the charge that it has. */
export class Bank implements CardProvider {
  readonly charges = new Map<string, { readonly id: string; readonly amount: string }>();
  readonly #say: (line: string) => void;
  #lost = 0;

  constructor(say: (line: string) => void) {
    this.#say = say;
  }

  async charge(card: string, amountCents: number, idempotencyKey: string = ""): Promise<string> {
    if (card === "tired" && this.#lost++ < 2) throw new NetworkError("connection reset");
    if (card === "stolen") return "declined";

    const known = this.charges.get(idempotencyKey);
    if (known !== undefined) {
      this.#say(`knows this key: ${known.id} again, and nothing is charged`);
      return known.id;
    }
    const charge = { id: `ch_${this.charges.size + 1}`, amount: `${(amountCents / 100).toFixed(2)} EUR` };
    this.charges.set(idempotencyKey, charge);
    this.#say(`charges ${charge.amount}, ${charge.id}`);
    return charge.id;
  }
}
