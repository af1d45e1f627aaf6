import type { AbortScope } from "../support/abort.js";
import type { Clock } from "../support/clock.js";
import { random } from "../support/random.js";

const FIRST_PAUSE_MS = 20;

/** The pauses of a run that waits for another to end: growing, scattered, cut short when this process frees the key, and over when the time is up. */
export class Waiting {
  readonly #clock: Clock;
  readonly #scope: AbortScope;
  readonly #deadline: number;
  readonly #longestMs: number;
  #pauseMs = FIRST_PAUSE_MS;

  constructor(clock: Clock, scope: AbortScope, waitMs: number, longestPauseMs: number) {
    this.#clock = clock;
    this.#scope = scope;
    this.#deadline = clock.now() + waitMs;
    this.#longestMs = longestPauseMs;
  }

  /** Waits a while for the key, though not past the end of the other's lease. Answers false when the time is up or the run is called off. */
  async pause(key: string, expiresInMs: number): Promise<boolean> {
    const left = this.#deadline - this.#clock.now();
    if (left <= 0 || this.#scope.aborted) return false;
    const scattered = this.#pauseMs * (0.5 + random() / 2); // so that many who wait do not all ask at once
    this.#pauseMs = Math.min(this.#pauseMs * 2, this.#longestMs);
    await this.#untilFreed(key, Math.max(1, Math.min(scattered, left, expiresInMs)));
    return !this.#scope.aborted;
  }

  #untilFreed(key: string, ms: number): Promise<void> {
    return new Promise((resolve) => {
      const goOn = (): void => {
        cancelTimer();
        stopListening();
        stopWaiting(key, goOn);
        resolve();
      };
      const stopListening = this.#scope.onAbort(goOn);
      const cancelTimer = this.#clock.timer(ms, goOn);
      startWaiting(key, goOn);
    });
  }
}

/**
 * Who waits for which key in this process, in the order of coming. Between processes nobody is told: there a pause has to end by
 * itself. A call for nothing does no harm: whoever is woken asks the store.
 */
const waiters = new Map<string, Set<() => void>>();

function startWaiting(key: string, goOn: () => void): void {
  const others = waiters.get(key);
  if (others === undefined) waiters.set(key, new Set([goOn]));
  else others.add(goOn);
}

function stopWaiting(key: string, goOn: () => void): void {
  const all = waiters.get(key);
  all?.delete(goOn);
  if (all?.size === 0) waiters.delete(key);
}

/** The key is free: the first who waits for it may go on. */
export function wakeFirst(key: string): void {
  const [first] = waiters.get(key) ?? [];
  first?.();
}

/** What everybody who waits for the key wants to know can be known now. */
export function wakeAll(key: string): void {
  for (const goOn of [...(waiters.get(key) ?? [])]) goOn();
}
