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

  /** @param deadline By the clock's `now`. */
  constructor(clock: Clock, scope: AbortScope, deadline: number, longestPauseMs: number) {
    this.#clock = clock;
    this.#scope = scope;
    this.#deadline = deadline;
    this.#longestMs = longestPauseMs;
  }

  /** Waits a while for the key, though not past the end of the other's lease. Answers false when the time is up or the run is called off. */
  async pause(key: string, expiresInMs: number): Promise<boolean> {
    const left = this.#deadline - this.#clock.now();
    if (left <= 0 || this.#scope.aborted) return false;
    const scattered = Math.ceil(this.#pauseMs * (0.5 + random() / 2)); // so that many who wait do not all ask at once
    this.#pauseMs = Math.min(this.#pauseMs * 2, this.#longestMs);
    await this.#untilFreed(key, Math.max(1, Math.min(scattered, left, expiresInMs)));
    return !this.#scope.aborted;
  }

  /** It waits no more, and leaves its place. */
  end(key: string): void {
    const all = waiters.get(key);
    all?.delete(this);
    if (all?.size === 0) waiters.delete(key);
  }

  #untilFreed(key: string, ms: number): Promise<void> {
    return new Promise((resolve) => {
      const goOn = (): void => {
        cancelTimer();
        stopListening();
        place(key).set(this, undefined); // it asks now, and keeps its place meanwhile
        resolve();
      };
      const stopListening = this.#scope.onAbort(goOn);
      const cancelTimer = this.#clock.timer(ms, goOn);
      place(key).set(this, goOn);
    });
  }
}

/**
 * Who waits for which key in this process, in the order of coming, with the way to wake those who pause. Between processes nobody is
 * told: there a pause has to end by itself. A call for nothing does no harm: whoever is woken asks the store.
 */
const waiters = new Map<string, Map<Waiting, (() => void) | undefined>>();

function place(key: string): Map<Waiting, (() => void) | undefined> {
  const known = waiters.get(key);
  if (known !== undefined) return known;
  const fresh = new Map<Waiting, (() => void) | undefined>();
  waiters.set(key, fresh);
  return fresh;
}

/** The key is free: the first of those who pause may go on. */
export function wakeFirst(key: string): void {
  for (const goOn of waiters.get(key)?.values() ?? []) {
    if (goOn !== undefined) return goOn();
  }
}

/** What everybody who waits for the key wants to know can be known now. */
export function wakeAll(key: string): void {
  for (const goOn of [...(waiters.get(key)?.values() ?? [])]) goOn?.();
}
