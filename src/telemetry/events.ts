import type { Result } from "../task/result.js";

/** Everything that is announced, with what each event carries beside the common fields. One union, on one page. */
export interface EventPayloads {
  /** A run begins: inside the middlewares, before anything of the task. */
  task_started: Readonly<Record<never, never>>;
  /** The task is marked as deprecated, and its gates let the mark through. */
  task_deprecated: { readonly message: string };
  /** An attempt failed and another will follow after the wait. `attempt` is the number of the coming retry, from 1. */
  retry_scheduled: { readonly attempt: number; readonly delayMs: number; readonly error: Error };
  /** A further attempt begins now. `attempt` counts retries, from 1. */
  task_retried: { readonly attempt: number };
  /** The last attempt that was allowed has failed. `retries` is how many there were. */
  retries_exhausted: { readonly retries: number; readonly error: Error };
  /** `rollback` has ended; with `error` when it threw. */
  task_rolled_back: { readonly error?: Error };
  /** The run has answered. */
  task_executed: { readonly result: Result };
  /** Something that only watches (callback, middleware, subscriber, logger) failed. The outcome is what it was. */
  observer_error: { readonly observer: string; readonly error: Error };
}

export type EventName = keyof EventPayloads;

/** What a listener gets. */
export interface TelemetryEvent<Name extends EventName = EventName> {
  readonly name: Name;
  /** The task's name. */
  readonly task: string;
  readonly runId: string;
  readonly chainId: string;
  readonly parentId: string | undefined;
  readonly correlationId: string | undefined;
  /** Milliseconds since 1970. */
  readonly timestamp: number;
  readonly payload: EventPayloads[Name];
}

/** The names that can be subscribed to. Written as a record so that one left out does not compile. */
const NAMES: Readonly<Record<EventName, true>> = {
  task_started: true,
  task_deprecated: true,
  retry_scheduled: true,
  task_retried: true,
  retries_exhausted: true,
  task_rolled_back: true,
  task_executed: true,
  observer_error: true,
};

export const eventNames: readonly EventName[] = Object.keys(NAMES) as EventName[]; // the record's keys are exactly these

export function isEventName(name: unknown): name is EventName {
  return typeof name === "string" && Object.hasOwn(NAMES, name);
}
