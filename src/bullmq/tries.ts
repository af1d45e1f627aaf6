import { systemClock } from "../support/clock.js";
import { toError } from "../support/thrown.js";

/** How long to wait before the next try. */
const PAUSE_MS = 200;

/**
 * The tries to write what becomes of one job, for as long as a lease. To write it again does no harm: only who holds the job can do so,
 * and the first that takes effect ends the hold.
 */
export class Tries {
  readonly #deadline: number;
  readonly #tell: (error: Error) => void;
  #hasFailed = false;

  constructor(leaseMs: number, tell: (error: Error) => void) {
    this.#deadline = systemClock.now() + leaseMs;
    this.#tell = tell;
  }

  /** Has one failed, so that it may have taken effect all the same? */
  get hasFailed(): boolean {
    return this.#hasFailed;
  }

  /** Waits a little, and tells whether there is time for one more. */
  async maybeAgain(thrown: unknown): Promise<boolean> {
    if (!this.#hasFailed) this.#tell(toError(thrown));
    this.#hasFailed = true;
    if (systemClock.now() >= this.#deadline) return false;
    await new Promise<void>((resolve) => systemClock.timer(PAUSE_MS, resolve));
    return true;
  }
}

/** The storage was asked and has said no: BullMQ's own errors have a number below 0. */
export function isRefusal(thrown: unknown): boolean {
  const code: unknown = typeof thrown === "object" && thrown !== null && "code" in thrown ? thrown.code : undefined;
  return typeof code === "number" && code < 0;
}

/** Has a job wait again. What cannot be written at last is told: the hold runs out then, and another worker finds the job. */
export async function moveBack(move: () => Promise<unknown>, leaseMs: number, tell: (error: Error) => void): Promise<void> {
  const tries = new Tries(leaseMs, tell);
  for (;;) {
    try {
      await move();
      return;
    } catch (thrown) {
      if (isRefusal(thrown) && tries.hasFailed) return; // it was moved the first time, and only the answer was lost
      if (isRefusal(thrown)) return tell(toError(thrown));
      if (!(await tries.maybeAgain(thrown))) return;
    }
  }
}
