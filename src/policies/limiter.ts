import { RateLimiterRedis, RateLimiterRes, type RateLimiterStoreAbstract } from "rate-limiter-flexible";
import type { CountingStore } from "../claims/counting-store.js";
import type { Count } from "../stores/store.js";

export interface LimiterAnswer {
  readonly passes: boolean;
  /** When the count begins anew, in milliseconds. */
  readonly expiresInMs: number;
}

// The root of all its limiters on stores is in the package's types, but among its exports only as the parent of others.
const StoreLimiter = Object.getPrototypeOf(RateLimiterRedis) as typeof RateLimiterStoreAbstract;

/** A limiter of rate-limiter-flexible that counts in our stores, whichever they are. */
export class Limiter extends StoreLimiter {
  readonly #perMs: number;

  constructor(limit: number, perMs: number) {
    super({ storeClient: undefined, keyPrefix: "", points: limit, duration: perMs / 1_000 });
    this.#perMs = perMs;
  }

  /** Counts one run. Rejects when the store does. */
  async ask(store: CountingStore, key: string): Promise<LimiterAnswer> {
    try {
      const { msBeforeNext } = await this.consume(key, 1, { store });
      return { passes: true, expiresInMs: msBeforeNext };
    } catch (thrown) {
      if (!(thrown instanceof RateLimiterRes)) throw thrown;
      return { passes: false, expiresInMs: thrown.msBeforeNext };
    }
  }

  /** Called by `consume`. The times that it is given are seconds turned into milliseconds, and may have dust of binary fractions on them. */
  async _upsert(key: string, _points: number, _ms: number, _force: boolean, { store }: { readonly store: CountingStore }): Promise<Count> {
    return store.count(key, { ttlMs: this.#perMs });
  }

  /** Called with what `_upsert` gave. */
  _getRateLimiterRes(_key: string, _points: number, { count, expiresInMs }: Count): RateLimiterRes {
    return new RateLimiterRes(Math.max(0, this.points - count), expiresInMs, count, count === 1);
  }
}
