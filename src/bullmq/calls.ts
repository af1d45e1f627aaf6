import { QueueUnavailableError, StoreTimeoutError } from "../errors.js";
import { systemClock } from "../support/clock.js";
import { messageOf, toError } from "../support/thrown.js";
import { withinTime } from "../support/time-limit.js";

/** What may have become of a call that gave no answer, and what to do about it. */
const AFTERWARDS = {
  read: "Nothing was changed by it.",
  write: "It may have taken effect, or do so yet. To repeat it is safe.",
  enqueue: "It may have taken effect, or do so yet. To repeat it with the same ids is safe: what is there already is not kept again.",
} as const;

/**
 * Calls of the storage, each with an end. Without one a call would wait for as long as Redis is away: its client keeps what it
 * cannot send until it can.
 */
export class Calls {
  readonly #storage: string;
  readonly #limitMs: number;
  /** What the connection has last complained of; a call that runs out of time does not know why by itself. */
  #complaint: Error | undefined;

  constructor(storage: string, limitMs: number) {
    this.#storage = storage;
    this.#limitMs = limitMs;
  }

  get limitMs(): number {
    return this.#limitMs;
  }

  complained(error: Error): void {
    this.#complaint = error;
  }

  /**
   * @param what The call in words, as the beginning of a sentence.
   * @param ids Of the jobs that are to be enqueued.
   * @throws {QueueUnavailableError} when the storage refuses the call, or does not answer it in time.
   */
  async make<T>(what: string, kind: keyof typeof AFTERWARDS, call: () => Promise<T>, ids: readonly string[] = []): Promise<T> {
    try {
      const answer = await withinTime({ clock: systemClock, ms: this.#limitMs }, call);
      this.#complaint = undefined;
      return answer;
    } catch (thrown) {
      throw this.#unavailable(`${what} failed`, AFTERWARDS[kind], toError(thrown), ids);
    }
  }

  #unavailable(what: string, afterwards: string, error: Error, ids: readonly string[]): QueueUnavailableError {
    if (error instanceof QueueUnavailableError) return error;
    const timeIsUp = error instanceof StoreTimeoutError;
    const cause = timeIsUp ? (this.#complaint ?? error) : error;
    const why = timeIsUp ? `did not answer within ${this.#limitMs} ms` : "refused it";
    const detail = cause === error && timeIsUp ? "" : ` (${messageOf(cause)})`;
    return new QueueUnavailableError(`${what}: ${this.#storage} ${why}${detail}. ${afterwards}`, ids, { cause });
  }
}
