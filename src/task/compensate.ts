import { AbortScope } from "../support/abort.js";
import { toError } from "../support/thrown.js";
import { insidePlace } from "./chain.js";
import type { Layer } from "./layer.js";
import { announce, reportObserver } from "./observers.js";
import type { Run } from "./run.js";

/**
 * Undoes, by the task's `rollback`, what a failed run may have done: only when `work` was started, and only once it has
 * come to rest. If the run has had to answer before that, the rollback follows in its aftermath.
 */
export const compensate: Layer = (next) => async (run) => {
  const outcome = await next(run);
  if (outcome.status !== "failed" || run.attempts === 0) return outcome;
  run.closed = true; // whatever rollback says, the run has failed
  if (run.aftermath === undefined) {
    await rollBack(run);
    run.gatherLateWork();
  } else {
    run.aftermath = run.aftermath.then(() => rollBack(run)).then(() => run.lateInside);
  }
  return outcome;
};

/** A rollback that fails is told, but hides nothing: the outcome stays the failure that called for it. */
async function rollBack(run: Run): Promise<void> {
  run.rollingBack = true;
  try {
    // Whatever has called the run off, what undoes it has a signal that has not aborted, and may run tasks.
    await insidePlace(run, new AbortScope(), () => run.task.rollback?.());
    run.rollback = { done: true };
    announce(run, "task_rolled_back")?.({});
  } catch (thrown) {
    const error = toError(thrown);
    run.rollback = { error };
    announce(run, "task_rolled_back")?.({ error });
    reportObserver(run, "rollback", error);
  } finally {
    run.rollingBack = false;
  }
}
