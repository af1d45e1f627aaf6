import { currentRun } from "../task/chain.js";
import { configuration } from "../task/configuration.js";
import type { Origin } from "../task/origin.js";

/** What the run of a job is to know of the place where it was enqueued. */
export function originHere(): Origin | undefined {
  const run = currentRun();
  if (run === undefined) return correlated();
  const { chain, runId, depth, index } = run;
  return { chainId: chain.id, parentId: runId, correlationId: chain.correlationId, depth: depth + 1, index: index + 1 };
}

/** Outside of all runs there may still be a request. Its id is worth having, but no enqueue fails for the lack of it. */
function correlated(): Origin | undefined {
  try {
    const correlationId: unknown = configuration.correlationId?.();
    return typeof correlationId === "string" ? { correlationId } : undefined;
  } catch {
    return undefined; // the runs on the worker will ask, and report it
  }
}
