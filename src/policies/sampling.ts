import type { Clock } from "../support/clock.js";

/** Opens a circuit by the share of failures among the runs of late. */
export interface SamplingRule {
  /** The share of failures that opens the circuit, from above 0 to 1. */
  readonly threshold: number;
  /** How far back runs count, in milliseconds. */
  readonly durationMs: number;
  /** Fewer runs per second than this, on average over the duration, say nothing. */
  readonly minimumRps: number;
}

/** The runs that ended in one slice of time. */
interface Slice {
  readonly number: number;
  successes: number;
  failures: number;
}

/** A duration is forgotten by tenths. */
const SLICES = 10;

/**
 * The runs of late, counted. Cockatiel's own sampling asks the wall clock, which may jump, and after a quiet time it still counts runs of
 * before; this one forgets by the clock that everything else goes by.
 */
export class Sampling {
  readonly #rule: SamplingRule;
  readonly #clock: Clock;
  /** The slices that still count, the oldest first. */
  #slices: Slice[] = [];

  constructor(rule: SamplingRule, clock: Clock) {
    this.#rule = rule;
    this.#clock = clock;
  }

  clear(): void {
    this.#slices = [];
  }

  success(): void {
    this.#current().successes += 1;
  }

  /** Counts a failure, and tells whether there are too many of them. */
  failure(): boolean {
    this.#current().failures += 1;
    const { threshold, durationMs, minimumRps } = this.#rule;
    const failures = this.#slices.reduce((sum, slice) => sum + slice.failures, 0);
    const runs = this.#slices.reduce((sum, slice) => sum + slice.successes, failures);
    return runs * 1_000 >= minimumRps * durationMs && failures >= threshold * runs;
  }

  #current(): Slice {
    const number = Math.floor((this.#clock.now() * SLICES) / this.#rule.durationMs);
    this.#slices = this.#slices.filter((slice) => slice.number > number - SLICES);
    const last = this.#slices.at(-1);
    if (last?.number === number) return last;
    const current = { number, successes: 0, failures: 0 };
    this.#slices.push(current);
    return current;
  }
}
