import { AsyncResource } from "node:async_hooks";
import { performance } from "node:perf_hooks";

/** Where time comes from. Nothing else in the library asks the machine for it, so tests can hold it still. */
export interface Clock {
  /** Milliseconds from an arbitrary start, never going backwards: for durations and deadlines. */
  now(): number;
  /** Milliseconds since 1970: for timestamps that people read. It may jump. */
  epoch(): number;
  /**
   * Calls back once, `ms` from now, and returns the way to call that off.
   * A `background` timer does not keep the process alive.
   */
  timer(ms: number, callback: () => void, options?: { background?: boolean }): () => void;
}

/** The longest wait that `setTimeout` keeps; beyond it, it would fire at once. */
const LONGEST_MS = 2 ** 31 - 1;

/**
 * Background timers are shared, so they belong to nobody: set within a run, they would fire in its context, give it to whatever
 * they start, and keep it alive.
 */
const nobody = new AsyncResource("Taskwright", { requireManualDestroy: true });

export const systemClock: Clock = {
  now: () => performance.now(),
  epoch: () => Date.now(),
  timer(ms, callback, { background = false } = {}) {
    const deadline = performance.now() + ms;
    let timeout: NodeJS.Timeout;
    const arm = (): void => {
      timeout = setTimeout(fire, Math.min(Math.ceil(Math.max(0, deadline - performance.now())), LONGEST_MS));
      if (background) timeout.unref();
    };
    // Node's timers count in whole milliseconds and may be early by one: then the rest is waited for.
    const fire = (): void => (performance.now() < deadline ? arm() : callback());
    if (background) nobody.runInAsyncScope(arm);
    else arm();
    return () => clearTimeout(timeout);
  },
};
