import { DefinitionError } from "../../errors.js";
import { describe } from "../../support/check.js";
import { faultOfLife, faultOfOwner, faultOfPage, faultOfWrite } from "../check.js";
import type { EntriesOptions, EntryPage, SetOptions, SetResult, Store, StoreEntry } from "../store.js";
import type { RedisClient } from "./client.js";
import { evaluate } from "./evaluate.js";
import { parseRaw, rawOf } from "./raw-value.js";
import { scanPage } from "./scan.js";
import { CLAIM, COMPLETE, DELETE, PUT, READ, RENEW } from "./scripts.js";
import { verify, type Verification } from "./verify.js";

const MEMBERS = ["evalsha", "eval", "call"] as const;

/**
 * The store of many processes: Redis 6.2 or newer, or Valkey, through an ioredis client that is yours: single, Sentinel or
 * Cluster, with any `keyPrefix`. One key per entry and one round trip per method.
 *
 * Time limits, retries and reconnecting are the client's, and its errors come through unchanged.
 */
export class RedisStore implements Store {
  readonly #client: RedisClient;

  /** @throws {DefinitionError} when the client lacks something that is needed. */
  constructor(client: RedisClient) {
    for (const member of MEMBERS) {
      if (typeof client?.[member] !== "function") {
        throw new DefinitionError(`RedisStore takes an ioredis client (Redis or Cluster), got ${describe(client)} without ${member}().`);
      }
    }
    this.#client = client;
  }

  get(key: string): Promise<StoreEntry | undefined> {
    return evaluate(this.#client, READ, key).then(entryOf);
  }

  set(key: string, value: string, options: SetOptions): Promise<SetResult> {
    const fault = faultOfWrite(options);
    if (fault !== undefined) return Promise.reject(fault);
    return this.#write(key, value, options).then(resultOf);
  }

  delete(key: string, { owner }: { readonly owner?: string } = {}): Promise<boolean> {
    const fault = faultOfOwner(owner);
    if (fault !== undefined) return Promise.reject(fault);
    return evaluate(this.#client, DELETE, key, owner ?? NOBODY).then(isOne);
  }

  renew(key: string, { owner, ttlMs }: { readonly owner: string; readonly ttlMs: number }): Promise<boolean> {
    const fault = faultOfLife(ttlMs) ?? faultOfOwner(owner);
    if (fault !== undefined) return Promise.reject(fault);
    return evaluate(this.#client, RENEW, key, owner, ttlMs).then(isOne);
  }

  async entries(options: EntriesOptions): Promise<EntryPage> {
    const fault = faultOfPage(options);
    if (fault !== undefined) throw fault;
    const { keys, cursor } = await scanPage(this.#client, options);
    const found = await Promise.all(keys.map((key) => this.get(key)));
    return { entries: keys.flatMap((key, at) => (found[at] === undefined ? [] : [{ key, ...found[at] }])), cursor };
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

  #write(key: string, value: string, { ttlMs, nx, xx, owner }: SetOptions): Promise<unknown> {
    if (nx === true) return evaluate(this.#client, CLAIM, key, owner === undefined ? rawOf(value) : value, ttlMs, owner ?? NOBODY);
    if (xx === true) return evaluate(this.#client, COMPLETE, key, rawOf(value), ttlMs, owner ?? NOBODY);
    return evaluate(this.#client, PUT, key, rawOf(value, owner), ttlMs);
  }
}

/** What stands for no owner among a script's arguments. */
const NOBODY = "";

function resultOf(reply: unknown): SetResult {
  return reply === null || Array.isArray(reply) ? { ok: false, held: entryOf(reply) } : { ok: true, fence: Number(reply) };
}

/** Numbers are texts where a client is told to give them so. */
function entryOf(reply: unknown): StoreEntry | undefined {
  if (!Array.isArray(reply)) return undefined;
  const left = Number(reply[1]);
  // What somebody else wrote without an expiry never ends.
  return { ...parseRaw(String(reply[0])), expiresInMs: left < 0 ? Number.POSITIVE_INFINITY : left };
}

function isOne(reply: unknown): boolean {
  return Number(reply) === 1;
}
