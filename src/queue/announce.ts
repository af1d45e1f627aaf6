import { messageOf, toError } from "../support/thrown.js";
import { configuration } from "../task/configuration.js";
import type { TaskClass } from "../task/contract.js";
import type { Origin } from "../task/origin.js";
import { planOf } from "../task/plan.js";
import { deliver, heard } from "../telemetry/emitter.js";
import type { EventPayloads, JobEventName, TelemetryEvent } from "../telemetry/events.js";

/** The job that an event is about. */
export interface JobOfEvent {
  readonly id: string;
  readonly task: string;
  /** The task's class, where it is known: its own listeners hear the event too. */
  readonly type: TaskClass | undefined;
  readonly origin: Origin | undefined;
}

/** The way to announce an event of a job, or nothing when nobody listens. */
export function announceJob<Name extends JobEventName>(job: JobOfEvent, name: Name): ((payload: EventPayloads[Name]) => void) | undefined {
  const emitters = job.type === undefined ? [configuration.telemetry] : planOf(job.type).emitters;
  if (!heard(emitters, name)) return undefined;
  return (payload) => {
    const event: object = Object.freeze({
      name,
      task: job.task,
      jobId: job.id,
      chainId: job.origin?.chainId,
      correlationId: job.origin?.correlationId,
      timestamp: configuration.clock.epoch(),
      payload: Object.freeze(payload),
    });
    // Name and payload belong together by this function's own type.
    deliver(emitters, event as TelemetryEvent, (thrown) => warnOnce(`A listener of ${name} failed`, thrown));
  };
}

const warned = new Set<string>();

/** For what is nobody's result: once for each kind. */
export function warnOnce(what: string, thrown: unknown): void {
  if (warned.has(what)) return;
  warned.add(what);
  process.emitWarning(`${what}: ${messageOf(toError(thrown))}`, "TaskwrightWarning");
}
