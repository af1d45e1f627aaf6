/** Subscribing to events, by name. */
import { configure, type EventName, type Listener, type Result, type Telemetry, type TelemetryEvent } from "taskwright";
import type { Equal, Expect } from "./exact.js";
import { ChargeCard, Ping } from "./tasks.js";

export const stop: () => void = ChargeCard.telemetry.subscribe("task_executed", (event) => {
  const { name, payload, task, parentId, timestamp } = event;
  type _Executed = [
    Expect<Equal<typeof name, "task_executed">>,
    Expect<Equal<typeof payload.result, Result>>,
    Expect<Equal<typeof task, string>>,
    Expect<Equal<typeof parentId, string | undefined>>,
    Expect<Equal<typeof timestamp, number>>,
  ];
});
configure(({ telemetry }) => {
  telemetry.subscribe("retry_scheduled", async ({ payload }) => payload.delayMs + payload.attempt + payload.error.message.length);
  telemetry.subscribe("observer_error", ({ payload: { observer, error } }) => `${observer} ${error.message}`);
  telemetry.subscribe("task_deprecated", ({ payload }) => payload.message);
  telemetry.subscribe("task_started", () => undefined);
});

// One listener for several events.
export const everything = (event: TelemetryEvent): string => `${event.name} of ${event.task}`;
export const executedOnly = (event: TelemetryEvent): string => {
  if (event.name === "task_executed") return event.payload.result.status;
  return event.name === "retry_scheduled" ? `${event.payload.delayMs}` : "";
};
for (const name of ["task_started", "task_executed"] as const) Ping.telemetry.subscribe(name, everything);
export const listener: Listener<"task_retried"> = ({ payload }) => payload.attempt;
export function listen<Name extends EventName>(telemetry: Telemetry, name: Name, to: Listener<Name>): () => void {
  return telemetry.subscribe(name, to);
}

// @ts-expect-error: an event that does not exist
Ping.telemetry.subscribe("task_finished", () => undefined);
// @ts-expect-error: another spelling
Ping.telemetry.subscribe("taskExecuted", () => undefined);
// @ts-expect-error: a pattern in the place of a name
Ping.telemetry.subscribe("task_*", () => undefined);
// @ts-expect-error: no listener
Ping.telemetry.subscribe("task_executed");
// @ts-expect-error: the listener first
Ping.telemetry.subscribe(() => undefined, "task_executed");
// @ts-expect-error: a value in the place of the listener
Ping.telemetry.subscribe("task_executed", console);
// @ts-expect-error: a field of the payload that does not exist
Ping.telemetry.subscribe("task_executed", ({ payload }) => payload.output);
// @ts-expect-error: a misspelt field of the payload
Ping.telemetry.subscribe("retry_scheduled", ({ payload }) => payload.delayMS);
// @ts-expect-error: the payload's field on the event itself
Ping.telemetry.subscribe("task_executed", ({ result }) => result);
// @ts-expect-error: an event without a payload
Ping.telemetry.subscribe("task_started", ({ payload }) => payload.runId);
// @ts-expect-error: another event's listener
Ping.telemetry.subscribe("task_executed", listener);
// @ts-expect-error: the output is read before the status is known
Ping.telemetry.subscribe("task_executed", ({ payload }) => payload.result.output);
// @ts-expect-error: of any event, the payload is read before its name is known
export const early = (event: TelemetryEvent): unknown => event.payload.result;
// @ts-expect-error: events are for reading
Ping.telemetry.subscribe("task_executed", (event) => (event.task = "mine"));
// @ts-expect-error: another emitter's word
void Ping.telemetry.on;
// @ts-expect-error: what stops a listener takes nothing
stop("task_executed");
