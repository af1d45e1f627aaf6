import { random } from "../support/random.js";
import { sleep } from "../support/sleep.js";
import type { Run } from "../task/run.js";

const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 1_000;

/** The pauses of a run that waits for another to end: growing, scattered, and over when its time is up. */
export class Waiting {
  readonly #run: Run;
  readonly #deadline: number;
  #pauseMs = FIRST_PAUSE_MS;

  constructor(run: Run, waitForMs: number) {
    this.#run = run;
    this.#deadline = run.clock.now() + waitForMs;
  }

  /** Waits a while, though not past the end of the other's lease. Answers false when the time is up or the run is called off. */
  async pause(expiresInMs: number): Promise<boolean> {
    const left = this.#deadline - this.#run.clock.now();
    if (left <= 0 || this.#run.scope.aborted) return false;
    const scattered = this.#pauseMs * (0.5 + random() / 2); // so that many who wait do not all ask at once
    this.#pauseMs = Math.min(this.#pauseMs * 2, LONGEST_PAUSE_MS);
    await sleep(this.#run.clock, Math.max(1, Math.min(scattered, left, expiresInMs)), this.#run.scope);
    return !this.#run.scope.aborted;
  }
}
