import { isThenable } from "../support/and-then.js";
import { messageOf, stackOf, toError } from "../support/thrown.js";
import { deliver, heard } from "../telemetry/emitter.js";
import type { EventName, EventPayloads, TelemetryEvent } from "../telemetry/events.js";
import { errorJson } from "./result-json.js";
import type { Run } from "./run.js";

/** Everybody who watches a run: listeners and loggers. Nothing they do changes it, and nothing is built when nobody is there. */

/** The way to announce an event, or nothing when nobody listens: `announce(run, "task_retried")?.({ attempt })`. */
export function announce<Name extends EventName>(run: Run, name: Name): ((payload: EventPayloads[Name]) => void) | undefined {
  return heard(run.plan.emitters, name) ? (payload) => send(run, name, payload) : undefined;
}

function send<Name extends EventName>(run: Run, name: Name, payload: EventPayloads[Name]): void {
  const event: object = Object.freeze({
    name,
    task: run.plan.name,
    runId: run.runId,
    chainId: run.chain.id,
    parentId: run.parentId,
    depth: run.depth,
    index: run.index,
    correlationId: run.chain.correlationId,
    timestamp: run.clock.epoch(),
    payload: Object.freeze(payload),
  });
  // Name and payload belong together by this function's own type.
  deliver(run.plan.emitters, event as TelemetryEvent, (error) => {
    if (name === "observer_error") logObserverError(run, "a listener of observer_error", toError(error));
    else reportObserver(run, `a listener of ${name}`, error);
  });
}

/** Reports what went wrong in something that only watches. */
export function reportObserver(run: Run, observer: string, thrown: unknown): void {
  const error = toError(thrown);
  announce(run, "observer_error")?.({ observer, error });
  logObserverError(run, observer, error);
}

const warned = new Set<string>();

function logObserverError(run: Run, observer: string, error: Error): void {
  const { logger } = run.plan;
  const message = `${run.plan.name}: ${observer} failed; the outcome is unchanged`;
  if (logger !== undefined) {
    guarded(() => logger.error({ task: run.plan.name, runId: run.runId, observer, error: errorJson(error, true) }, message));
  } else if (!heard(run.plan.emitters, "observer_error") && !warned.has(message)) {
    warned.add(message); // once for each place, when nobody else would hear of it
    process.emitWarning(`${message}: ${stackOf(error)}`, "TaskwrightWarning");
  }
}

/** Calls a logger. One that throws or rejects is nobody's concern but its own. */
export function guarded(log: () => unknown): void {
  try {
    const answer = log();
    if (isThenable(answer)) void Promise.resolve(answer).then(undefined, warnOfLogger);
  } catch (error) {
    warnOfLogger(error);
  }
}

function warnOfLogger(thrown: unknown): void {
  const message = "The logger failed; its line is lost";
  if (warned.has(message)) return;
  warned.add(message);
  process.emitWarning(`${message}: ${messageOf(toError(thrown))}`, "TaskwrightWarning");
}
