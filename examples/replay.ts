/**
 * Replay: a duplicate is answered with the output of the first run, and with its types. Who comes while the first is at work waits for it.
 */
import { isDeepStrictEqual } from "node:util";
import { configure, idempotentBy, MemoryStore, Task } from "taskwright";
import { z } from "zod";

const store = new MemoryStore();
configure((config) => {
  config.store = store;
  config.telemetry.subscribe("idempotency_replayed", ({ name, task }) => console.log(`  ${name} of ${task}`));
  config.telemetry.subscribe("idempotency_output_lost", ({ name, task, payload }) => console.log(`  ${name} of ${task}: ${payload.why}`));
});

let runs = 0;

@idempotentBy("invoiceId", { ttl: "24h", onDuplicate: "replay" })
class IssueInvoice extends Task.with({
  input: z.object({ invoiceId: z.string() }),
  output: z.object({
    number: z.bigint(),
    issuedAt: z.date(),
    lines: z.map(z.string(), z.number()),
    pdf: z.instanceof(Uint8Array),
    link: z.instanceof(URL),
    discount: z.number(),
    note: z.string().nullable(),
    reference: z.string().optional(),
  }),
}) {
  async work() {
    runs += 1;
    return {
      number: 9_007_199_254_740_993n,
      issuedAt: new Date("2030-01-01T12:00:00Z"),
      lines: new Map([["tea", 4.5]]),
      pdf: new Uint8Array([0x25, 0x50, 0x44, 0x46]),
      link: new URL("https://example.com/invoices/i-1"),
      discount: -0,
      note: null,
      reference: undefined,
    };
  }
}

console.log("Three at the same moment, and one later:");
const atOnce = await Promise.all([1, 2, 3].map(() => IssueInvoice.execute({ invoiceId: "i-1" })));
const later = await IssueInvoice.execute({ invoiceId: "i-1" });
console.log(`  replayed: ${[...atOnce, later].map((result) => result.status === "success" && result.replayed).join(", ")}`);
console.log(`  work ran: ${runs} time`);

const [first] = atOnce;
if (first?.status === "success" && later.status === "success") {
  console.log(`  the same, types and all: ${isDeepStrictEqual(first.output, later.output)}`);
  console.log("  what a replay gives:", { ...later.output, link: later.output.link.href });
}

/** What no encoding can carry is not kept. The success stands; later duplicates are skipped, as they have nothing to be answered with. */
@idempotentBy("invoiceId", { onDuplicate: "replay" })
class OpenInvoice extends Task.with({
  input: z.object({ invoiceId: z.string() }),
  output: z.object({ close: z.custom<() => void>((value) => typeof value === "function") }),
}) {
  work() {
    return { close: () => undefined };
  }
}

console.log("\nAn output that cannot be stored:");
console.log(`  first: ${(await OpenInvoice.execute({ invoiceId: "i-2" })).status}`);
console.log(`  again: ${(await OpenInvoice.execute({ invoiceId: "i-2" })).status}`);

/** A later release wants more of an invoice than an earlier one has stored. */
@idempotentBy("invoiceId", { onDuplicate: "replay" })
class PayInvoice extends Task.with({
  input: z.object({ invoiceId: z.string() }),
  output: z.object({ paidAt: z.date(), receipt: z.string() }),
}) {
  work() {
    return { paidAt: new Date(), receipt: "r-1" };
  }
}

console.log("\nAn output that an earlier release has stored, before receipts came up:");
const output = '[{"paidAt":1},["Date","2030-01-01T12:00:00.000Z"]]';
await store.set("cmdx:idem:PayInvoice:i-3", `completed ${JSON.stringify({ output })}`, { ttlMs: 60_000 });
const paid = await PayInvoice.execute({ invoiceId: "i-3" });
console.log(`  ${paid.status}: ${paid.reason}`);
