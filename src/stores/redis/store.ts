import { DefinitionError } from "../../errors.js";
import { describe } from "../../support/check.js";
import { faultOfLife, faultOfOwner, faultOfPage, faultOfWrite } from "../check.js";
import type { Count, EntriesOptions, EntryPage, SetOptions, SetResult, Store, StoreEntry } from "../store.js";
import type { RedisClient } from "./client.js";
import { parseRaw, rawOf } from "./raw-value.js";
import { scanPage } from "./scan.js";
import { Steps } from "./steps.js";
import { verify, type Verification } from "./verify.js";

const MEMBERS = ["evalsha", "eval", "pipeline", "call"] as const;

/**
 * The store of many processes: Redis 6.2 or newer, or Valkey, through an ioredis client that is yours: single, Sentinel or
 * Cluster, with any `keyPrefix`. One key per entry and one round trip per method.
 *
 * Time limits, retries and reconnecting are the client's, and its errors come through unchanged.
 */
export class RedisStore implements Store {
  readonly #client: RedisClient;
  readonly #steps: Steps;

  /** @throws {DefinitionError} when the client lacks something that is needed. */
  constructor(client: RedisClient) {
    for (const member of MEMBERS) {
      if (typeof client?.[member] !== "function") {
        throw new DefinitionError(`RedisStore takes an ioredis client (Redis or Cluster), got ${describe(client)} without ${member}().`);
      }
    }
    this.#client = client;
    this.#steps = new Steps(client);
  }

  get(key: string): Promise<StoreEntry | undefined> {
    return this.#steps.take(entryOf, key, "read");
  }

  set(key: string, value: string, options: SetOptions): Promise<SetResult> {
    const fault = faultOfWrite(options);
    if (fault !== undefined) return Promise.reject(fault);
    const { ttlMs, nx, xx, owner } = options;
    const life = lifeOf(ttlMs);
    if (nx === true) return this.#steps.take(resultOf, key, "claim", owner === undefined ? rawOf(value) : value, life, owner);
    if (xx === true) return this.#steps.take(resultOf, key, "complete", rawOf(value), life, owner);
    return this.#steps.take(resultOf, key, "put", rawOf(value, owner), life);
  }

  delete(key: string, { owner }: { readonly owner?: string } = {}): Promise<boolean> {
    const fault = faultOfOwner(owner);
    if (fault !== undefined) return Promise.reject(fault);
    return this.#steps.take(isOne, key, "remove", undefined, undefined, owner);
  }

  renew(key: string, { owner, ttlMs }: { readonly owner: string; readonly ttlMs: number }): Promise<boolean> {
    const fault = faultOfLife(ttlMs) ?? faultOfOwner(owner);
    if (fault !== undefined) return Promise.reject(fault);
    return this.#steps.take(isOne, key, "renew", undefined, lifeOf(ttlMs), owner);
  }

  async entries(options: EntriesOptions): Promise<EntryPage> {
    const fault = faultOfPage(options);
    if (fault !== undefined) throw fault;
    const { keys, cursor } = await scanPage(this.#client, options);
    const found = await Promise.all(keys.map((key) => this.get(key)));
    return { entries: keys.flatMap((key, at) => (found[at] === undefined ? [] : [{ key, ...found[at] }])), cursor };
  }

  count(key: string, { ttlMs }: { readonly ttlMs: number }): Promise<Count> {
    const fault = faultOfLife(ttlMs);
    if (fault !== undefined) return Promise.reject(fault);
    return this.#steps.take(countOf, key, "count", undefined, lifeOf(ttlMs));
  }

  /**
   * Proves on this very server what the store relies on: claims, owner checks, expiry, fences. Call it once at start-up.
   *
   * @returns what works but deserves attention, `maxmemory-policy` above all.
   * @throws {DefinitionError} when the server does not keep a promise.
   */
  verify(): Promise<Verification> {
    return verify(this, this.#client);
  }
}

/**
 * Redis shows a key for one millisecond longer than it was told, so it is told one less. It cannot be told 0: a life of 1 ms
 * is the one that ends late.
 */
function lifeOf(ttlMs: number): number {
  return Math.max(1, ttlMs - 1);
}

function resultOf(reply: unknown): SetResult {
  return reply === null || Array.isArray(reply) ? { ok: false, held: entryOf(reply) } : { ok: true, fence: Number(reply) };
}

/** Numbers are texts where a client is told to give them so. */
function entryOf(reply: unknown): StoreEntry | undefined {
  if (!Array.isArray(reply)) return undefined;
  const left = Number(reply[1]);
  // What another program wrote without an expiry never ends.
  return { ...parseRaw(String(reply[0])), expiresInMs: left < 0 ? Number.POSITIVE_INFINITY : left + 1 };
}

function countOf(reply: unknown): Count {
  const [count, left] = reply as [unknown, unknown]; // as the script says
  return { count: Number(count), expiresInMs: Number(left) + 1 };
}

function isOne(reply: unknown): boolean {
  return Number(reply) === 1;
}
