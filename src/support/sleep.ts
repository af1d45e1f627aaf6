import type { AbortScope } from "./abort.js";
import type { Clock } from "./clock.js";

/** Waits, but no longer than until the scope is aborted. Never rejects, and leaves neither timer nor listener behind. */
export function sleep(clock: Clock, ms: number, scope: AbortScope): Promise<void> {
  if (scope.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const stopListening = scope.onAbort(() => {
      cancelTimer();
      stopListening();
      resolve();
    });
    const cancelTimer = clock.timer(ms, () => {
      stopListening();
      resolve();
    });
  });
}
