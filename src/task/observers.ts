import { toError } from "../support/thrown.js";
import { deliver, heard } from "../telemetry/emitter.js";
import type { EventName, EventPayloads } from "../telemetry/events.js";
import type { Run } from "./run.js";

/** Everybody who watches a run: listeners and loggers. Nothing they do changes it, and nothing is built when nobody is there. */

/** The way to announce an event, or nothing when nobody listens: `announce(run, "task_retried")?.({ attempt })`. */
export function announce<Name extends EventName>(run: Run, name: Name): ((payload: EventPayloads[Name]) => void) | undefined {
  return heard(run.plan.emitters, name) ? (payload) => send(run, name, payload) : undefined;
}

function send<Name extends EventName>(run: Run, name: Name, payload: EventPayloads[Name]): void {
  const event = Object.freeze({
    name,
    task: run.plan.name,
    runId: run.runId,
    chainId: run.chain.id,
    parentId: run.parent?.runId,
    correlationId: run.chain.correlationId,
    timestamp: run.clock.epoch(),
    payload: Object.freeze(payload),
  });
  deliver(run.plan.emitters, event, (error) => {
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
    guarded(() => logger.error({ task: run.plan.name, runId: run.runId, observer, err: error }, message));
  } else if (!heard(run.plan.emitters, "observer_error") && !warned.has(message)) {
    warned.add(message); // once for each place, when nobody else would hear of it
    process.emitWarning(`${message}: ${error.stack ?? error.message}`, "TaskwrightWarning");
  }
}

/** Calls a logger. One that throws is nobody's concern but its own. */
export function guarded(log: () => void): void {
  try {
    log();
  } catch (error) {
    const message = "The logger threw; its line is lost";
    if (warned.has(message)) return;
    warned.add(message);
    process.emitWarning(`${message}: ${toError(error).message}`, "TaskwrightWarning");
  }
}
