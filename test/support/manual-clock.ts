import { ManualClock as ShippedClock } from "../../src/testing/manual-clock.js";

/** The clock that the package ships for tests, which also remembers what it was asked for. */
export class ManualClock extends ShippedClock {
  /** The lengths of all timers that were ever set, in order. */
  readonly waits: number[] = [];

  override timer(ms: number, callback: () => void): () => void {
    this.waits.push(ms);
    return super.timer(ms, callback);
  }
}

/** Lets all work that is ready go as far as it can: one turn of the event loop, with every promise in it. */
export function settle(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
