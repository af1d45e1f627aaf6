import type { EntryPage, SetOptions, SetResult, Store, StoreEntry } from "taskwright";
import type { Process } from "./process.js";
import type { Operation } from "./scenario.js";

/** One call of the store on its way. It takes effect, and is answered, when the explorer says so. */
export interface Call {
  /** Unique and the same in every repetition of a schedule: the process and a count. */
  readonly id: string;
  readonly process: Process;
  readonly operation: Operation;
  readonly key: string;
  /** As whom it is made. */
  readonly owner: string | undefined;
  readonly ttlMs: number | undefined;
  /** When it was sent. */
  readonly sentAt: number;
  /** Is it under way for so long that time may pass meanwhile? */
  isSlow?: boolean;
  perform(store: Store): Promise<unknown>;
  /** What the store said, once the call has been carried out or has failed, and until the answer is delivered. */
  answer?: Answer;
  /** Hands the answer to whoever waits for it. */
  settle(answer: Answer): void;
}

export type Answer =
  | { readonly value: unknown }
  | { readonly error: Error }
  /** Refused already; what holds the key is looked up when the answer is delivered, as by a store that needs two steps for it. */
  | { readonly refused: true };

interface Sending {
  readonly operation: Operation;
  readonly key: string;
  readonly owner?: string | undefined;
  readonly ttlMs?: number;
}

/** The store as a process sees it: every call stops on its way. */
export class PausedStore implements Store {
  readonly #process: Process;
  #count = 0;

  constructor(process: Process) {
    this.#process = process;
  }

  get(key: string): Promise<StoreEntry | undefined> {
    return this.#send({ operation: "get", key }, async (store) => store.get(key));
  }

  set(key: string, value: string, options: SetOptions): Promise<SetResult> {
    const { nx, owner, ttlMs } = options;
    return this.#send({ operation: nx === true ? "claim" : "complete", key, owner, ttlMs }, async (store) =>
      store.set(key, value, options),
    );
  }

  delete(key: string, options: { readonly owner?: string } = {}): Promise<boolean> {
    return this.#send({ operation: "delete", key, owner: options.owner }, async (store) => store.delete(key, options));
  }

  renew(key: string, options: { readonly owner: string; readonly ttlMs: number }): Promise<boolean> {
    return this.#send({ operation: "renew", key, ...options }, async (store) => store.renew(key, options));
  }

  entries(): Promise<EntryPage> {
    return Promise.reject(new Error("no scenario walks through the store"));
  }

  #send<T>(sending: Sending, perform: (store: Store) => Promise<T>): Promise<T> {
    const process = this.#process;
    return new Promise((resolve, reject) => {
      process.send({
        id: `${process.name}#${(this.#count += 1)}`,
        process,
        operation: sending.operation,
        key: sending.key,
        owner: sending.owner,
        ttlMs: sending.ttlMs,
        sentAt: process.world.now,
        perform,
        settle: (answer) => ("value" in answer ? resolve(answer.value as T) : reject(failure(answer))), // what `perform` gave
      });
    });
  }
}

function failure(answer: Answer): Error {
  return "error" in answer ? answer.error : new Error("the look that the answer needs was not taken");
}
