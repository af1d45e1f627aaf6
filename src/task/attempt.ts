import type { AbortScope } from "../support/abort.js";
import { isThenable, type Awaitable } from "../support/and-then.js";
import { insidePlace } from "./chain.js";
import type { Outcome } from "./outcome.js";
import { both, type Run } from "./run.js";
import { outcomeOfThrown } from "./thrown-outcome.js";

/**
 * One attempt: calls `work`, and answers with what became of it. A run that is called off is answered at once, and work does not
 * begin on a claim or a lock that is lost.
 */
export function attempt(run: Run): Awaitable<Outcome> {
  run.checkHolds();
  if (run.scope.aborted) return run.abortedOutcome();
  run.attempts += 1;
  const scope = run.attemptScope ?? run.scope;
  const returned = (output: unknown): Outcome => succeeded(run, output);
  const threw = (thrown: unknown): Outcome => ended(run, outcomeOfThrown(run, thrown));
  try {
    const work: unknown = scope === run.scope ? run.task.work() : insidePlace(run, scope, () => run.task.work());
    if (!isThenable(work)) return returned(work);
    const working = Promise.resolve(work);
    return scope.cancellable ? untilCancelled(run, scope, working, returned, threw) : working.then(returned, threw);
  } catch (thrown) {
    return threw(thrown);
  }
}

/** A halt that was swallowed still decides. */
function succeeded(run: Run, output: unknown): Outcome {
  return ended(run, run.halt ?? { status: "success", output });
}

function ended(run: Run, outcome: Outcome): Outcome {
  run.gatherLateWork();
  return outcome;
}

/**
 * Waits for the work, but no longer than until the attempt is called off. The work may then still go on: it becomes the run's
 * aftermath, so that whoever holds something for the run keeps it until the work has come to rest, and the work of runs inside it.
 */
function untilCancelled(
  run: Run,
  scope: AbortScope,
  working: Promise<unknown>,
  returned: (output: unknown) => Outcome,
  threw: (thrown: unknown) => Outcome,
): Promise<Outcome> {
  return new Promise((resolve) => {
    const callOff = (): void => {
      if (!scope.cancelled) return;
      stopListening();
      const earlier = run.aftermath; // of an attempt before, which still goes on too
      const atRest = (): Promise<void> | undefined => run.lateInside; // known once the work has come to rest
      const late = working.then(atRest, atRest);
      run.aftermath = earlier === undefined ? late : both(earlier, late);
      resolve(ended(run, calledOff(run)));
    };
    const stopListening = scope.onAbort(callOff);
    void working.then(
      (output) => {
        stopListening();
        if (!scope.cancelled) resolve(returned(output));
      },
      (thrown: unknown) => {
        stopListening();
        if (!scope.cancelled) resolve(threw(thrown));
      },
    );
    callOff(); // the work may have called it off itself, before anybody listened
  });
}

/** What a halt has decided before stands, also where its cleaning up takes too long. */
function calledOff(run: Run): Outcome {
  return run.halt ?? (run.scope.cancelled ? undefined : run.attemptScope?.overdue) ?? run.abortedOutcome();
}
