/**
 * A worker of the demo: a process of its own that runs the task for what it is sent. Its store and its card provider are at its parent.
 */
import { configure, type EventName, type InputOf } from "taskwright";
import { cards, ChargeCustomer, told, type Told } from "./charge-customer.js";
import { ask, hear, ParentStore, type Answer } from "./parent-store.js";

/** What the parent is told, beside the questions. */
export type Report = { readonly event: EventName; readonly detail?: string } | { readonly told: Told } | { readonly ready: true };
/** What the parent sends, beside the answers. */
export interface Delivery {
  readonly deliver: InputOf<typeof ChargeCustomer>;
}

const report = (message: Report): unknown => process.send?.(message);

cards.provider = { charge: (...args) => ask("charge", ...args) };
configure((config) => {
  config.store = new ParentStore();
  config.telemetry.subscribe("idempotency_claimed", ({ name }) => report({ event: name }));
  config.telemetry.subscribe("idempotency_completed", ({ name }) => report({ event: name }));
  config.telemetry.subscribe("idempotency_duplicate", ({ name, payload }) => report({ event: name, detail: payload.state }));
});

process.on("message", (message: Delivery | Answer) => {
  if ("deliver" in message) void run(message);
  else hear(message);
});
report({ ready: true });

async function run({ deliver }: Delivery): Promise<void> {
  report({ told: told(await ChargeCustomer.execute(deliver)) });
}
