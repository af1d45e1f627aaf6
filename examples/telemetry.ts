/**
 * Three ways to watch: listeners for all tasks, listeners for one class, and Node's diagnostics channels. None of them can change a run.
 * Then the events that tell what happens to a key.
 */
import { channel } from "node:diagnostics_channel";
import { configure, idempotentBy, MemoryStore, resetConfiguration, retryOn, Task, type EventName, type TelemetryEvent } from "taskwright";
import { ChaosStore } from "taskwright/testing";
import { z } from "zod";

class MailServerDown extends Error {}

let outages = 1;

@retryOn(MailServerDown, { delay: 0 })
class SendMail extends Task.with({ input: z.object({ to: z.email() }) }) {
  work() {
    if (outages-- > 0) throw new MailServerDown("connection refused");
    return { sent: true };
  }
}

class SendInvoice extends SendMail {}

// Counters, as a metrics library has them.
const counters = new Map<string, number>();
const count = (name: string): unknown => counters.set(name, (counters.get(name) ?? 0) + 1);

configure(({ telemetry }) => {
  telemetry.subscribe("task_executed", ({ task, payload }) => count(`${task}.${payload.result.status}`));
  telemetry.subscribe("task_retried", ({ task }) => count(`${task}.retried`));

  // A listener may fail. The run does not notice; this is where it is told.
  telemetry.subscribe("task_started", () => {
    throw new Error("the metrics server is down");
  });
  telemetry.subscribe("observer_error", ({ payload }) =>
    console.log(`told, and nothing more: ${payload.observer}: ${payload.error.message}`),
  );
});

// For one class and those that extend it.
const stop = SendMail.telemetry.subscribe("task_executed", ({ task }) => console.log(`SendMail, or one that extends it: ${task}`));

// Without knowing who calls: an APM subscribes to the channel by its name.
const executed = channel("taskwright:task_executed");
const hear = (message: unknown): void => {
  const { name, task, payload } = message as TelemetryEvent<"task_executed">; // what is published there
  console.log(`channel: ${name} of ${task}, ${payload.result.status}`);
};
executed.subscribe(hear);

await SendMail.execute({ to: "ada@example.com" });
await SendInvoice.execute({ to: "bob@example.com" });
stop();
await SendInvoice.execute({ to: "nowhere" });

console.log("\nCounted:", Object.fromEntries(counters));

// What happens to a key: the first three tell of a good run and its duplicate, the others of what goes wrong.
resetConfiguration();
executed.unsubscribe(hear);

@idempotentBy("orderId", { fingerprint: true })
class Refund extends Task.with({ input: z.object({ orderId: z.string().optional(), cents: z.number() }) }) {
  work() {
    if (this.input.cents > 1_000) this.fail("too much to refund without a person");
    return { refunded: this.input.cents };
  }
}

const store = new ChaosStore(new MemoryStore());
const names: readonly EventName[] = [
  "idempotency_claimed",
  "idempotency_completed",
  "idempotency_duplicate",
  "idempotency_released",
  "idempotency_bypassed",
  "idempotency_mismatch",
  "idempotency_store_error",
];
configure((config) => {
  config.store = store;
  for (const name of names) config.telemetry.subscribe(name, ({ payload }) => console.log(`  ${name.padEnd(23)}`, inWords(payload)));
});

function inWords(payload: object): string {
  return Object.values(payload)
    .map((value: unknown) => (value instanceof Error ? value.message : String(value)))
    .join("  ");
}

async function refund(what: string, input: { orderId?: string; cents: number }): Promise<void> {
  console.log(`\n${what}`);
  const { status, metadata } = await Refund.execute(input);
  console.log(`  → ${status}`, metadata.code ?? "");
}

await refund("A refund:", { orderId: "o-1", cents: 500 });
await refund("The same again:", { orderId: "o-1", cents: 500 });
await refund("Another amount for that order:", { orderId: "o-1", cents: 900 });
await refund("One that fails:", { orderId: "o-2", cents: 5_000 });
await refund("One without a key:", { cents: 500 });

store.disturb("claim", "fail-before", { times: 2 }); // a call of the store is made once again
await refund("While the store is down:", { orderId: "o-3", cents: 500 });
