/**
 * Three ways to watch: listeners for all tasks, listeners for one class, and Node's diagnostics channels. None of them can change a run.
 */
import { channel } from "node:diagnostics_channel";
import { configure, retryOn, Task, type TelemetryEvent } from "taskwright";
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
channel("taskwright:task_executed").subscribe((message) => {
  const { name, task, payload } = message as TelemetryEvent<"task_executed">; // what is published there
  console.log(`channel: ${name} of ${task}, ${payload.result.status}`);
});

await SendMail.execute({ to: "ada@example.com" });
await SendInvoice.execute({ to: "bob@example.com" });
stop();
await SendInvoice.execute({ to: "nowhere" });

console.log("\nCounted:", Object.fromEntries(counters));
