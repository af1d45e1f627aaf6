import type { AbortScope } from "../support/abort.js";
import { isThenable } from "../support/and-then.js";
import { insidePlace } from "./chain.js";
import type { Outcome } from "./outcome.js";
import { both, type Run } from "./run.js";
import { outcomeOfThrown } from "./thrown-outcome.js";

/**
 * One attempt: calls `work`, and answers with what became of it. A run that is called off is answered at once, and work does not
 * begin on a claim or a lock that is lost.
 */
export async function attempt(run: Run): Promise<Outcome> {
  run.checkHolds();
  if (run.scope.aborted) return run.abortedOutcome();
  run.attempts += 1;
  const scope = run.attemptScope ?? run.scope;
  try {
    const work: unknown = scope === run.scope ? run.task.work() : insidePlace(run, scope, () => run.task.work());
    if (scope.cancellable && isThenable(work)) return await untilCancelled(run, scope, work);
    return succeeded(run, await work);
  } catch (thrown) {
    return outcomeOfThrown(run, thrown);
  } finally {
    run.gatherLateWork();
  }
}

/** A halt that was swallowed still decides. */
function succeeded(run: Run, output: unknown): Outcome {
  return run.halt ?? { status: "success", output };
}

/**
 * Waits for the work, but no longer than until the attempt is called off. The work may then still go on: it becomes the run's
 * aftermath, so that whoever holds something for the run keeps it until the work has come to rest, and the work of runs inside it.
 */
function untilCancelled(run: Run, scope: AbortScope, work: PromiseLike<unknown>): Promise<Outcome> {
  const atRest = Promise.resolve(work).then(
    (output) => succeeded(run, output),
    (thrown: unknown) => outcomeOfThrown(run, thrown),
  );
  return new Promise((resolve) => {
    const callOff = (): void => {
      if (!scope.cancelled) return;
      stopListening();
      const earlier = run.aftermath; // of an attempt before, which still goes on too
      const late = atRest.then(() => run.lateInside); // known once the work has come to rest
      run.aftermath = earlier === undefined ? late : both(earlier, late);
      resolve(calledOff(run));
    };
    const stopListening = scope.onAbort(callOff);
    void atRest.then((outcome) => {
      stopListening();
      resolve(outcome);
    });
    callOff(); // the work may have called it off itself, before anybody listened
  });
}

/** What a halt has decided before stands, also where its cleaning up takes too long. */
function calledOff(run: Run): Outcome {
  return run.halt ?? (run.scope.cancelled ? undefined : run.attemptScope?.overdue) ?? run.abortedOutcome();
}
