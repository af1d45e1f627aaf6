import { isDefinitionError, QueueClosedError, QueueUnavailableError } from "../errors.js";
import { messageOf, toError } from "../support/thrown.js";
import { withinTime } from "../support/time-limit.js";
import { configuration } from "../task/configuration.js";
import type { Engine } from "./port.js";

/** What a call is about, for the error when it fails. */
export interface CallKind {
  readonly what: string;
  /** The ids that jobs were to get. */
  readonly ids?: readonly string[];
  /** How much longer than usual it may take. */
  readonly patienceMs?: number;
}

/** What becomes of an answer that comes when nobody waits for it any more. */
export interface LateAnswer<T> {
  readonly late?: (answer: T) => void;
}

/** The queue's way to its engine: every call has a time limit, and fails in one way. */
export class EngineCalls {
  readonly #engine: Engine;
  readonly #limitMs: number;
  #closed = false;

  constructor(engine: Engine, limitMs: number) {
    this.#engine = engine;
    this.#limitMs = limitMs;
  }

  close(): void {
    this.#closed = true;
  }

  /**
   * @throws {QueueUnavailableError} when the engine rejects, or does not answer in time.
   * @throws {QueueClosedError}
   */
  async ask<T>({ what, ids = [], patienceMs = 0, late }: CallKind & LateAnswer<T>, call: (engine: Engine) => Promise<T>): Promise<T> {
    if (this.#closed) throw new QueueClosedError(`The queue is closed: ${what} is not possible any more.`);
    try {
      // Where jobs run within the enqueue, it takes as long as they do.
      if (this.#engine.runsWith !== undefined) return await call(this.#engine);
      return await withinTime({ clock: configuration.clock, ms: this.#limitMs + patienceMs, late }, () => call(this.#engine));
    } catch (thrown) {
      if (isDefinitionError(thrown)) throw thrown; // a mistake in the set-up, which no repetition mends
      throw this.#unavailable(what, ids, toError(thrown));
    }
  }

  #unavailable(what: string, ids: readonly string[], cause: Error): QueueUnavailableError {
    const repeat =
      ids.length === 0
        ? "Repeating the call is safe."
        : "Whether jobs were enqueued is not known: repeat the call with the ids in error.ids, each as the option id, and nothing is enqueued twice.";
    return new QueueUnavailableError(
      `The engine ${this.#engine.name} could not be asked to ${what} (${messageOf(cause)}). Is its storage reachable? ${repeat}`,
      ids,
      { cause },
    );
  }
}
