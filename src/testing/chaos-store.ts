import type { Awaitable } from "../support/and-then.js";
import type { Count, EntriesOptions, EntryPage, SetOptions, SetResult, Store, StoreEntry } from "../stores/store.js";
import { Disturbance, type DisturbanceOptions, type FaultOf, type StoreCall, type StoreOperation } from "./disturbance.js";

/**
 * A store on which calls go wrong as a test wishes.
 *
 * ```ts
 * const chaos = new ChaosStore(new MemoryStore());
 * chaos.disturb("complete", "fail-after");                 // once: the write is done, its answer is lost
 * const late = chaos.disturb("claim", "delay", { times: Infinity });
 * await late.met;                                          // a claim has come, and waits
 * late.release();
 * ```
 */
export class ChaosStore implements Store {
  /** Every call so far, in order, whether it went wrong or not. */
  readonly calls: StoreCall[] = [];
  readonly #store: Store;
  #disturbances: Disturbance[] = [];
  /** What the last read of each key answered. */
  readonly #read = new Map<string, StoreEntry | undefined>();

  /** There only if the store has it. */
  readonly count?: (key: string, options: { readonly ttlMs: number }) => Awaitable<Count>;

  constructor(store: Store) {
    this.#store = store;
    const count = store.count?.bind(store);
    if (count !== undefined) this.count = (key, options) => this.#call({ operation: "count", key, options }, () => count(key, options));
  }

  /** Makes the next call of an operation go wrong, or the next `times` of them. Of several disturbances, a call meets the oldest that fits. */
  disturb<Operation extends StoreOperation>(
    operation: Operation,
    fault: FaultOf<Operation>,
    options: DisturbanceOptions = {},
  ): Disturbance {
    const disturbance = new Disturbance(operation, fault, options);
    this.#disturbances.push(disturbance);
    return disturbance;
  }

  /** Ends all disturbances. What waits goes on; what never answers still does not. */
  calm(): void {
    for (const disturbance of this.#disturbances) disturbance.end();
    this.#disturbances = [];
  }

  get(key: string): Awaitable<StoreEntry | undefined> {
    const read = async (): Promise<StoreEntry | undefined> => {
      const entry = await this.#store.get(key);
      this.#read.set(key, entry);
      return entry;
    };
    return this.#call({ operation: "get", key }, read, () => Promise.resolve(this.#read.get(key)));
  }

  set(key: string, value: string, options: SetOptions): Awaitable<SetResult> {
    const operation = options.nx === true ? "claim" : options.xx === true ? "complete" : "set";
    const write = (): Awaitable<SetResult> => this.#store.set(key, value, options);
    const vanish = async (): Promise<SetResult> => {
      const result = await write();
      if (result.ok) return result;
      await this.#store.delete(key);
      return { ok: false, held: undefined };
    };
    return this.#call({ operation, key, value, options }, write, vanish);
  }

  delete(key: string, options: { readonly owner?: string } = {}): Awaitable<boolean> {
    return this.#call({ operation: "delete", key, options }, () => this.#store.delete(key, options));
  }

  renew(key: string, options: { readonly owner: string; readonly ttlMs: number }): Awaitable<boolean> {
    return this.#call({ operation: "renew", key, options }, () => this.#store.renew(key, options));
  }

  entries(options: EntriesOptions): Awaitable<EntryPage> {
    return this.#call({ operation: "entries", key: options.prefix, options }, () => this.#store.entries(options));
  }

  /** @param odd What the call does under the fault that only its operation knows: `stale` or `vanish`. */
  #call<Answer>(call: StoreCall, perform: () => Awaitable<Answer>, odd: () => Awaitable<Answer> = perform): Awaitable<Answer> {
    this.calls.push(call);
    const disturbance = this.#disturbances.find((candidate) => candidate.meets(call));
    return disturbance === undefined ? perform() : disturbance.undergo(call, perform, odd);
  }
}
