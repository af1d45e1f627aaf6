import { setImmediate } from "node:timers"; // the real one, whatever a test runner puts into its global place
import type { Clock } from "../support/clock.js";

interface Timer {
  readonly due: number;
  readonly callback: () => void;
}

/**
 * A clock that stands still until a test moves it: `configure((config) => { config.clock = clock; })`, `new MemoryStore({ clock })`.
 *
 * ```ts
 * const clock = new ManualClock();
 * const result = ChargeCustomer.execute(input);   // waits 30 s between its attempts
 * await clock.advance(30_000);
 * ```
 */
export class ManualClock implements Clock {
  #now = 0;
  #epochOffset: number;
  readonly #timers = new Set<Timer>();

  /** @param epoch Milliseconds since 1970 at the start. @default 2030-01-01 */
  constructor(epoch: number = Date.UTC(2030, 0, 1)) {
    this.#epochOffset = epoch;
  }

  now(): number {
    return this.#now;
  }

  epoch(): number {
    return this.#now + this.#epochOffset;
  }

  timer(ms: number, callback: () => void): () => void {
    const timer = { due: this.#now + Math.max(0, ms), callback };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  /** Timers that wait. A test may ask that none is left behind. */
  get pending(): number {
    return this.#timers.size;
  }

  /**
   * Lets time pass. Timers fire in the order in which they are due, each at its own time, and what follows from one
   * (promises, further timers) has happened before the next.
   */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    await settled();
    for (let timer = this.#next(end); timer !== undefined; timer = this.#next(end)) {
      this.#timers.delete(timer);
      this.#now = Math.max(this.#now, timer.due);
      timer.callback();
      await settled();
    }
    this.#now = Math.max(this.#now, end);
    await settled();
  }

  /** Sets the wall clock forward, or back, as a time server would. `now` and the timers do not notice. */
  jump(ms: number): void {
    this.#epochOffset += ms;
  }

  /** The earliest timer that is due by then; of several at one time, the one that was set first. */
  #next(end: number): Timer | undefined {
    let earliest: Timer | undefined;
    for (const timer of this.#timers) {
      if (timer.due <= end && (earliest === undefined || timer.due < earliest.due)) earliest = timer;
    }
    return earliest;
  }
}

/** Every promise that can go on has gone on, however long the chain. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
