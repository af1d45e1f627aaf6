import { channel, subscribe, unsubscribe } from "node:diagnostics_channel";
import { afterEach, expect, test } from "vitest";
import { resetConfiguration, type TelemetryEvent } from "taskwright";
import { eventNames } from "../../src/telemetry/events.js";
import { recordEvents, taskOf } from "../support/builders.js";

afterEach(() => {
  resetConfiguration();
});

test("every event is published on a channel of its own, and it is the very event that listeners get", async () => {
  const published: unknown[] = [];
  const listener = (event: unknown): void => {
    published.push(event);
  };
  subscribe("taskwright:task_started", listener);
  subscribe("taskwright:task_executed", listener);
  const events = recordEvents("task_started", "task_executed");

  await taskOf(() => 1).execute();
  unsubscribe("taskwright:task_started", listener);
  unsubscribe("taskwright:task_executed", listener);
  await taskOf(() => 1).execute();

  expect(published).toHaveLength(2);
  expect(published[0]).toBe(events[0]);
  expect(published[1]).toBe(events[1]);
});

test("a channel alone is enough for an event to be built", async () => {
  const published: TelemetryEvent[] = [];
  const listener = (event: unknown): void => {
    published.push(event as TelemetryEvent);
  };
  subscribe("taskwright:task_executed", listener);

  const result = await taskOf(() => 1).execute();
  unsubscribe("taskwright:task_executed", listener);

  expect(published).toMatchObject([{ name: "task_executed", runId: result.runId, payload: { result } }]);
});

test("no channel has a subscriber by itself", () => {
  for (const name of eventNames) expect(channel(`taskwright:${name}`).hasSubscribers).toBe(false);
});
