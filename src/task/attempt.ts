import { Halt } from "./halt.js";
import type { Outcome } from "./outcome.js";
import type { Run } from "./run.js";
import { outcomeOfThrown } from "./thrown-outcome.js";

/** One attempt: calls `work`, and answers with what became of it. A run that is called off is answered at once. */
export async function attempt(run: Run): Promise<Outcome> {
  if (run.scope.cancelled) return run.abortedOutcome();
  run.attempts += 1;
  try {
    const returned = run.task.work();
    return succeeded(run, run.scope.cancellable ? await untilCancelled(run, returned) : await returned);
  } catch (thrown) {
    return outcomeOfThrown(run, thrown);
  }
}

/** A halt that was swallowed still decides. */
function succeeded(run: Run, output: unknown): Outcome {
  return run.halt ?? { status: "success", output };
}

/**
 * Waits for the work, but no longer than until the run is called off. The work may then still go on: it becomes the run's
 * aftermath, so that whoever holds something for the run keeps it until the work has come to rest.
 */
function untilCancelled(run: Run, work: unknown): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const atRest = Promise.resolve(work).then(
      (value) => {
        stopListening();
        resolve(value);
      },
      (thrown: unknown) => {
        stopListening();
        reject(thrown); // as it is, also when it is no error
      },
    );
    const stopListening = run.scope.onAbort(() => {
      if (!run.scope.cancelled) return;
      stopListening();
      run.aftermath = atRest;
      reject(new Halt(run, run.abortedOutcome()));
    });
  });
}
