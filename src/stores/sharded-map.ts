/** A power of two, and large enough that a million keys make a thousand in each. */
const SHARDS = 1_024;
/** Keys differ at their ends, where the ids are. Reading more of them costs more than it spreads. */
const READ = 8;
/** A place in a walk is a shard and a number of entries in it, in one number. */
const SHARD_STEP = 2 ** 32;

/**
 * A Map in many small parts. One Map of a million entries stands still for tens of milliseconds whenever it grows or
 * shrinks; a small one does not.
 */
export class ShardedMap<V> {
  readonly #shards: (Map<string, V> | undefined)[] = Array.from({ length: SHARDS });
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(key: string): V | undefined {
    return this.#shards[shardOf(key)]?.get(key);
  }

  /** Adds a key that is not there. */
  add(key: string, value: V): void {
    const at = shardOf(key);
    const shard = (this.#shards[at] ??= new Map());
    shard.set(key, value);
    this.#size += 1;
  }

  delete(key: string): void {
    const at = shardOf(key);
    const shard = this.#shards[at];
    if (shard === undefined || !shard.delete(key)) return;
    this.#size -= 1;
    if (shard.size === 0) this.#shards[at] = undefined;
  }

  /** Visits entries from a place on, until `visit` answers false. Returns the place after, or undefined at the end. */
  walk(from: number, visit: (key: string, value: V) => boolean): number | undefined {
    let skip = from % SHARD_STEP;
    for (let at = Math.floor(from / SHARD_STEP); at < SHARDS; at += 1) {
      let seen = 0;
      for (const [key, value] of this.#shards[at] ?? []) {
        seen += 1;
        if (seen > skip && !visit(key, value)) return at * SHARD_STEP + seen;
      }
      skip = 0;
    }
    return undefined;
  }

  /** Removes what is `dead` from the shard `from` on, until `atLeast` entries were looked at. Returns the next shard, or undefined at the end. */
  purge(from: number, atLeast: number, dead: (value: V) => boolean): number | undefined {
    let looked = 0;
    for (let at = from; at < SHARDS; at += 1) {
      if (looked >= atLeast) return at;
      const shard = this.#shards[at];
      if (shard === undefined) continue;
      looked += shard.size;
      this.#purge(at, shard, dead);
    }
    return undefined;
  }

  /** One that is dead as a whole goes as a whole: a Map that is emptied key by key is copied again and again as it shrinks. */
  #purge(at: number, shard: Map<string, V>, dead: (value: V) => boolean): void {
    const before = shard.size;
    let live = 0;
    for (const value of shard.values()) if (!dead(value)) live += 1;
    if (live === 0) this.#shards[at] = undefined;
    else if (live < before) {
      for (const [key, value] of shard) if (dead(value)) shard.delete(key);
    }
    this.#size -= before - live;
  }
}

function shardOf(key: string): number {
  let hash = key.length;
  for (let at = Math.max(0, key.length - READ); at < key.length; at += 1) hash = Math.imul(hash ^ key.charCodeAt(at), 0x01000193);
  return (hash ^ (hash >>> 15)) & (SHARDS - 1);
}
