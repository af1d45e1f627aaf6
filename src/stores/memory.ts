import type { Awaitable } from "../support/and-then.js";
import { checkInteger, checkOptions } from "../support/check.js";
import { systemClock, type Clock } from "../support/clock.js";
import { cursorFault, faultOfCount, faultOfLife, faultOfOwner, faultOfPage, faultOfWrite } from "./check.js";
import { ShardedMap } from "./sharded-map.js";
import type { Count, EntriesOptions, EntryPage, SetOptions, SetResult, Store, StoreEntry } from "./store.js";

export interface MemoryStoreOptions {
  /** Where time comes from. @default the system's clock, which never goes backward */
  readonly clock?: Clock;
  /** How often entries whose time is up are cleared away, in milliseconds. They are absent before that, too. @default 30000 */
  readonly sweepEveryMs?: number;
}

/** One key's entry. Written over in place, so that a run allocates one for its whole life. */
interface Slot {
  value: string;
  owner: string | undefined;
  /** By the clock's `now`. At this very moment the entry is absent. */
  expiresAt: number;
}

/** Entries looked at in one go, by a page: less than a millisecond of work. */
const SLICE = 1_000;
/** The least that the sweep looks at in one go; it goes on to the end of a shard. Of a million entries that is one shard, about a thousand. */
const SWEEP_SLICE = 500;
/** Between two slices of one sweep, so that other work gets its turn. */
const PAUSE_MS = 5;

/**
 * The store of one process, and the default: for development, tests and programs that run once. Another process sees
 * nothing of it, and a restart forgets it. Live entries are never given up to save memory.
 *
 * No method waits for anything, so each is one atomic step, and answers at once.
 */
export class MemoryStore implements Store {
  readonly #clock: Clock;
  readonly #sweepEveryMs: number;
  readonly #slots = new ShardedMap<Slot>();
  /** What turns the clock's `now` into milliseconds since 1970, as they were when the store was made. */
  readonly #epochOffset: number;
  #lastFence = 0;
  #sweeping = false;

  constructor(options: MemoryStoreOptions = {}) {
    checkOptions("MemoryStore", options, ["clock", "sweepEveryMs"]);
    const { clock = systemClock, sweepEveryMs = 30_000 } = options;
    this.#clock = clock;
    this.#sweepEveryMs = checkInteger("MemoryStore: sweepEveryMs", sweepEveryMs, 1);
    this.#epochOffset = clock.epoch() - clock.now();
  }

  /** How many entries are kept, among them those whose time is up and that the sweep has not met yet. */
  get size(): number {
    return this.#slots.size;
  }

  get(key: string): Awaitable<StoreEntry | undefined> {
    const now = this.#clock.now();
    const slot = this.#live(key, now);
    return slot === undefined ? undefined : entryOf(slot, now);
  }

  set(key: string, value: string, options: SetOptions): Awaitable<SetResult> {
    const fault = faultOfWrite(options);
    if (fault !== undefined) return Promise.reject(fault);
    const { ttlMs, nx = false, xx = false, owner } = options;
    const now = this.#clock.now();
    const slot = this.#slots.get(key);
    const held = slot !== undefined && now < slot.expiresAt ? slot : undefined;
    const refused =
      held === undefined
        ? xx
        : (nx && (owner === undefined || held.owner !== owner)) || (xx && owner !== undefined && held.owner !== owner);
    if (refused) return { ok: false, held: held === undefined ? undefined : entryOf(held, now) };

    const holder = xx ? undefined : owner;
    if (slot === undefined) this.#add(key, { value, owner: holder, expiresAt: now + ttlMs });
    else {
      slot.value = value;
      slot.owner = holder;
      slot.expiresAt = now + ttlMs;
    }
    return { ok: true, fence: this.#nextFence(now) };
  }

  delete(key: string, { owner }: { readonly owner?: string } = {}): Awaitable<boolean> {
    const fault = faultOfOwner(owner);
    if (fault !== undefined) return Promise.reject(fault);
    const slot = this.#live(key, this.#clock.now());
    if (slot === undefined || (owner !== undefined && slot.owner !== owner)) return false;
    this.#slots.delete(key);
    return true;
  }

  renew(key: string, { owner, ttlMs }: { readonly owner: string; readonly ttlMs: number }): Awaitable<boolean> {
    const fault = faultOfLife(ttlMs) ?? faultOfOwner(owner);
    if (fault !== undefined) return Promise.reject(fault);
    const now = this.#clock.now();
    const slot = this.#live(key, now);
    if (slot === undefined || slot.owner !== owner) return false;
    slot.expiresAt = now + ttlMs;
    return true;
  }

  entries(options: EntriesOptions): Awaitable<EntryPage> {
    const fault = faultOfPage(options);
    if (fault !== undefined) return Promise.reject(fault);
    const { prefix, limit = 100, cursor } = options;
    const from = cursor === undefined ? 0 : Number(cursor);
    if (!Number.isSafeInteger(from) || from < 0) return Promise.reject(cursorFault(String(cursor)));
    const now = this.#clock.now();
    const entries: (StoreEntry & { key: string })[] = [];
    let looked = 0;
    const next = this.#slots.walk(from, (key, slot) => {
      looked += 1;
      if (now < slot.expiresAt && key.startsWith(prefix)) entries.push({ key, ...entryOf(slot, now) });
      return entries.length < limit && looked < SLICE;
    });
    return { entries, cursor: next === undefined ? undefined : String(next) };
  }

  count(key: string, { ttlMs }: { readonly ttlMs: number }): Awaitable<Count> {
    const fault = faultOfLife(ttlMs);
    if (fault !== undefined) return Promise.reject(fault);
    const now = this.#clock.now();
    let slot = this.#slots.get(key);
    if (slot === undefined) {
      slot = { value: "0", owner: undefined, expiresAt: now + ttlMs };
      this.#add(key, slot);
    } else if (now >= slot.expiresAt) {
      slot.value = "0";
      slot.owner = undefined;
      slot.expiresAt = now + ttlMs;
    }
    if (slot.owner !== undefined || !/^\d+$/.test(slot.value)) return Promise.reject(faultOfCount(key));
    const count = Number(slot.value) + 1;
    slot.value = String(count);
    return { count, expiresInMs: Math.ceil(slot.expiresAt - now) };
  }

  #live(key: string, now: number): Slot | undefined {
    const slot = this.#slots.get(key);
    return slot !== undefined && now < slot.expiresAt ? slot : undefined;
  }

  #add(key: string, slot: Slot): void {
    this.#slots.add(key, slot);
    if (this.#sweeping) return;
    this.#sweeping = true; // a timer exists while entries do, and none before the first of them
    this.#sweepIn(this.#sweepEveryMs, 0);
  }

  #sweepIn(ms: number, from: number): void {
    this.#clock.timer(ms, () => this.#sweep(from), { background: true });
  }

  #sweep(from: number): void {
    const now = this.#clock.now();
    const next = this.#slots.purge(from, SWEEP_SLICE, (slot) => now >= slot.expiresAt);
    if (next !== undefined) this.#sweepIn(PAUSE_MS, next);
    else if (this.#slots.size > 0) this.#sweepIn(this.#sweepEveryMs, 0);
    else this.#sweeping = false;
  }

  /** Microseconds since 1970, pushed on where claims come faster. So a process started later begins above. */
  #nextFence(now: number): number {
    this.#lastFence = Math.max(this.#lastFence + 1, Math.floor((now + this.#epochOffset) * 1_000));
    return this.#lastFence;
  }
}

function entryOf(slot: Slot, now: number): StoreEntry {
  const expiresInMs = Math.ceil(slot.expiresAt - now);
  return slot.owner === undefined ? { value: slot.value, expiresInMs } : { value: slot.value, owner: slot.owner, expiresInMs };
}
