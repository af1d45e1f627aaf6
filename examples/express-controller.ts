/**
 * A controller: one route, which hands the header `Idempotency-Key` to a task, and says in HTTP what became of the run.
 */
import { EventEmitter, once } from "node:events";
import type { AddressInfo } from "node:net";
import express, { type Response } from "express";
import { configure, idempotentBy, match, MemoryStore, Task, type Failed, type InputOf, type ResultOf } from "taskwright";
import { ChaosStore } from "taskwright/testing";
import { z } from "zod";

/** The key comes with each call. A duplicate of a request that is still under way fails; one of a request that is done gets its answer. */
@idempotentBy(() => undefined, {
  ttl: "24h",
  lease: "1m",
  onMissingKey: "fail",
  fingerprint: true,
  onDuplicate: { processing: "fail", completed: "replay" },
})
class ChargeCustomer extends Task.with({
  input: z.object({ customerId: z.string(), card: z.string(), amountCents: z.coerce.number().int().positive() }),
  output: z.object({ chargeId: z.string() }),
}) {
  async work() {
    if (this.input.card === "stolen") this.fail("the card was declined", { code: "card_declined" }, { retryable: false });
    return { chargeId: await cards.charge(this.input.card) };
  }
}

const app = express();
app.use(express.json());

app.post("/charges", async (request, response) => {
  const body = request.body as InputOf<typeof ChargeCustomer>; // whatever a stranger sends: the schema judges it
  const customerId = request.get("Authorization") ?? ""; // whoever has signed in
  const header = request.get("Idempotency-Key") ?? "";
  // Callers choose their keys, so a key holds only within what is theirs. A header without text is none.
  const options = header === "" ? {} : { idempotencyKey: `${encodeURIComponent(customerId)}:${header}` };
  reply(response, await ChargeCustomer.execute({ ...body, customerId }, options));
});

function reply(response: Response, result: ResultOf<typeof ChargeCustomer>): void {
  match(result, {
    success: ({ output, replayed }) => {
      if (replayed) response.set("Idempotent-Replayed", "true");
      response.status(201).json(output); // a replay is the same answer again
    },
    skipped: () => response.status(204).end(),
    failed: (failure) => {
      const { retryAfterMs } = failure.metadata;
      if (typeof retryAfterMs === "number") response.set("Retry-After", String(Math.ceil(retryAfterMs / 1_000)));
      response.status(statusOf(failure)).json({ code: failure.metadata.code, issues: failure.issues });
    },
  });
}

function statusOf({ metadata }: Failed): number {
  switch (metadata.code) {
    case "missing_key":
      return 400;
    case "card_declined":
      return 402;
    case "duplicate":
      return 409; // the first request is still under way
    case "fingerprint_mismatch":
    case "invalid_input":
      return 422;
    case "store_unavailable":
    case "aborted":
      return 503;
    default:
      return 500;
  }
}

/** Stands in for a provider. With one card, it takes its time. */
const cards = {
  charges: 0,
  desk: new EventEmitter(),
  async charge(card: string): Promise<string> {
    this.charges += 1;
    const id = `ch_${this.charges}`;
    if (card === "slow") {
      this.desk.emit("arrived");
      await once(this.desk, "answer");
    }
    return id;
  },
};

const store = new ChaosStore(new MemoryStore()); // a store that can be made to fail
configure((config) => {
  config.store = store;
});
const server = app.listen(0, "127.0.0.1");
await once(server, "listening");
const { port } = server.address() as AddressInfo; // it listens on a port, not on a pipe

async function post(what: string, body: object, { key, customer = "ada" }: { key?: string; customer?: string } = {}): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${port}/charges`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: customer, ...(key !== undefined && { "Idempotency-Key": key }) },
    body: JSON.stringify(body),
  });
  const { chargeId, code } = (await response.json()) as { chargeId?: string; code?: string }; // what `reply` sends
  const headers = ["Idempotent-Replayed", "Retry-After"].flatMap((name) =>
    response.headers.has(name) ? [`${name}: ${response.headers.get(name)}`] : [],
  );
  console.log(`${what.padEnd(42)} ${[response.status, chargeId ?? code, ...headers].join("  ")}`);
}

const charge = { card: "visa", amountCents: 9900 };
await post("no key", charge);
await post("a key", charge, { key: "k-1" });
await post("the same again", charge, { key: "k-1" });
await post("the same key for another amount", { ...charge, amountCents: 1 }, { key: "k-1" });
await post("the same key from another customer", charge, { key: "k-1", customer: "bob" });
await post("an input that does not fit", { ...charge, amountCents: "a lot" }, { key: "k-2" });
await post("a card that is declined", { ...charge, card: "stolen" }, { key: "k-3" });
await post("the same key with another card", charge, { key: "k-3" });

const arrived = once(cards.desk, "arrived");
const slow = post("a slow one", { ...charge, card: "slow" }, { key: "k-4" });
await arrived;
await post("the same again while it is under way", { ...charge, card: "slow" }, { key: "k-4" });
cards.desk.emit("answer");
await slow;

store.disturb("claim", "fail-before", { times: Infinity });
await post("while the store is down", charge, { key: "k-5" });

server.close();
