import { AbortedError, FinishedTaskError, isDefinitionError } from "../errors.js";
import { messageOf, toError } from "../support/thrown.js";
import { Fault } from "./fault.js";
import { Halt } from "./halt.js";
import type { FailedOutcome, Outcome } from "./outcome.js";
import type { Failed } from "./result.js";
import type { Run } from "./run.js";

/** What a thrown value makes of a run whose outcome is still open. A halt that came before it decides. */
export function outcomeOfThrown(run: Run, thrown: unknown): Outcome {
  return run.halt ?? failureOfThrown(run, thrown);
}

export function failureOfThrown(run: Run, thrown: unknown): FailedOutcome {
  if (Halt.is(thrown) && thrown.run !== run) return endedByOuterHalt(run);
  if (thrown instanceof Fault) return outcomeOfFailure(thrown.result);
  if (run.scope.cancelled) return run.abortedOutcome();
  const error = toError(Halt.is(thrown) ? new FinishedTaskError(thrown.toString()) : thrown);
  // Work that listens throws the signal's reason: it was called off, as work that does not listen is.
  if (run.scope.aborted && thrown === run.scope.reason) return { ...run.abortedOutcome(), error, reason: messageOf(error) };
  return { status: "failed", by: "error", error, reason: messageOf(error), retryable: !isDefinitionError(error) };
}

/** The failure of another run, come through to this one: the same error, reason and notes, and still its origin. */
export function outcomeOfFailure(result: Failed): FailedOutcome {
  const { error, reason, issues, metadata, origin, retryable } = result;
  return { status: "failed", by: "error", error, reason, issues, metadata, origin, retryable };
}

/** Code of this run has halted the run around it. That one will answer with the halt; nobody waits for this one. */
function endedByOuterHalt(run: Run): FailedOutcome {
  const error = new AbortedError(`${run.plan.name} was left by a halt of a run around it`);
  return { status: "failed", by: "refused", error, reason: error.message, retryable: true, metadata: { code: "aborted" } };
}
