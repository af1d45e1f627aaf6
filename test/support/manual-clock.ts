import type { Clock } from "taskwright";

interface Timer {
  readonly at: number;
  readonly order: number;
  readonly callback: () => void;
}

/** A clock that stands still until the test moves it. */
export class ManualClock implements Clock {
  #now = 0;
  #order = 0;
  readonly #epochAtStart: number;
  readonly #timers = new Set<Timer>();
  /** The lengths of all timers that were ever set, in order. */
  readonly waits: number[] = [];

  constructor(epochMs: number = Date.UTC(2026, 0, 1)) {
    this.#epochAtStart = epochMs;
  }

  now(): number {
    return this.#now;
  }

  epoch(): number {
    return this.#epochAtStart + this.#now;
  }

  timer(ms: number, callback: () => void): () => void {
    const timer = { at: this.#now + ms, order: this.#order++, callback };
    this.waits.push(ms);
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** How many timers are waiting. */
  get pending(): number {
    return this.#timers.size;
  }

  /** Moves on, and lets everything that falls due happen, each at its own time. */
  async advance(ms: number): Promise<void> {
    const until = this.#now + ms;
    for (;;) {
      await settle();
      const [next] = [...this.#timers].toSorted((a, b) => a.at - b.at || a.order - b.order);
      if (next === undefined || next.at > until) break;
      this.#timers.delete(next);
      this.#now = next.at;
      next.callback();
    }
    this.#now = until;
    await settle();
  }
}

/** Lets all work that is ready go as far as it can: one turn of the event loop, with every promise in it. */
export function settle(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
