/**
 * How long to wait before a retry. `attempt` counts retries from 0, `delay` is the base delay and `previous` the wait that
 * this gave last time, in milliseconds; `random` gives a number from 0 up to 1.
 */
type Strategy = (attempt: number, delay: number, previous: number | undefined, random: () => number) => number;

/** Beyond these the numbers say nothing any more: 2^30 base delays, and the last Fibonacci number that a double holds exactly. */
const MAX_DOUBLINGS = 30;
const MAX_FIBONACCI = 78;

const STRATEGIES: Readonly<Record<JitterName, Strategy>> = {
  exponential: (attempt, delay) => delay * 2 ** Math.min(attempt, MAX_DOUBLINGS),
  linear: (attempt, delay) => delay * (attempt + 1),
  fibonacci: (attempt, delay) => delay * fibonacci(Math.min(attempt + 1, MAX_FIBONACCI)),
  full_random: (_attempt, delay, _previous, random) => random() * delay,
  half_random: (_attempt, delay, _previous, random) => delay / 2 + (random() * delay) / 2,
  bounded_random: (_attempt, delay, _previous, random) => delay + random() * delay,
  // Marc Brooker, "Exponential Backoff And Jitter": between the base delay and three times the previous wait.
  decorrelated_jitter: (_attempt, delay, previous, random) => delay + random() * (Math.max(3 * (previous || delay), delay) - delay),
};

/** The names of the built-in strategies. */
export type JitterName = "exponential" | "linear" | "fibonacci" | "full_random" | "half_random" | "bounded_random" | "decorrelated_jitter";
/** A strategy of your own: gets the retry's number from 0, the base delay and the previous wait in milliseconds; gives milliseconds. */
export type JitterFunction = (attempt: number, delayMs: number, previousMs: number | undefined) => number;
export type Jitter = JitterName | JitterFunction;

export const jitterNames: readonly JitterName[] = Object.keys(STRATEGIES) as JitterName[]; // the record's keys are exactly these

export interface Backoff {
  readonly delayMs: number;
  readonly maxDelayMs?: number | undefined;
  readonly jitter?: Jitter | undefined;
}

/** The wait before a retry. An answer of a strategy that is no finite number falls back to the base delay. */
export function backoffMs(backoff: Backoff, attempt: number, previousMs: number | undefined, random: () => number): number {
  const { delayMs, maxDelayMs, jitter } = backoff;
  const wait = waitOf(jitter, attempt, delayMs, previousMs, random);
  const usable = Number.isFinite(wait) ? Math.max(0, wait) : delayMs;
  return maxDelayMs === undefined ? usable : Math.min(usable, maxDelayMs);
}

function waitOf(jitter: Jitter | undefined, attempt: number, delay: number, previous: number | undefined, random: () => number): number {
  if (jitter === undefined) return delay;
  return typeof jitter === "function" ? jitter(attempt, delay, previous) : STRATEGIES[jitter](attempt, delay, previous, random);
}

function fibonacci(n: number): number {
  let [current, next] = [0, 1];
  for (let i = 0; i < n; i += 1) [current, next] = [next, current + next];
  return current;
}
