import type { Awaitable } from "../support/and-then.js";

/**
 * What a store must keep to. The shipped contract suite (`taskwright/testing`) holds every driver to these words.
 *
 * - Each method is one atomic step, also between processes.
 * - An entry whose time is up is absent in every method, at the very millisecond, whether or not it was swept.
 * - Every write carries an expiry: no entry lives for ever.
 * - A method that cannot reach the store rejects. It never answers as if it had.
 * - A store that has its answer at once, being in this process, may give it without a promise.
 */
export interface Store {
  /** What is there now, or undefined. */
  get(key: string): Awaitable<StoreEntry | undefined>;

  /**
   * Writes the value and its expiry.
   *
   * - `nx`: only if the key is absent, or already held by this `owner`: a claim that is repeated since its answer was lost
   *   is granted again, with a new expiry. The owner becomes the holder.
   * - `xx`: only if the key is present; with `owner`, only if that owner holds it. The entry has no owner afterwards.
   * - neither: always. The entry has the given owner, or none.
   */
  set(key: string, value: string, options: SetOptions): Awaitable<SetResult>;

  /** Removes the entry and tells whether it did. With `owner`: only if that owner holds it. */
  delete(key: string, options?: { readonly owner?: string }): Awaitable<boolean>;

  /** Moves the expiry to `ttlMs` from now and tells whether it did: only if that owner holds the key. Never creates an entry. */
  renew(key: string, options: { readonly owner: string; readonly ttlMs: number }): Awaitable<boolean>;

  /** Entries whose keys begin with the prefix, page by page and in no order. For inspection: an entry may come twice or be missed while others write. */
  entries(options: EntriesOptions): Awaitable<EntryPage>;

  /**
   * Counts under a key, for rate limits. A store need not have this: limits then count in each process for itself.
   *
   * The first count makes an entry whose value is `1` and whose life is `ttlMs`; each further one adds 1 and leaves the end of its life
   * as it is. Rejects where the entry is no count. Like every method it is one atomic step: of many counts at once, no two answer alike.
   */
  count?(key: string, options: { readonly ttlMs: number }): Awaitable<Count>;
}

export interface Count {
  /** How many were counted so far, this one included. */
  readonly count: number;
  /** When the next count begins from 1 again, in milliseconds; more than 0. */
  readonly expiresInMs: number;
}

export interface StoreEntry {
  readonly value: string;
  /** Who holds the key, while somebody does. */
  readonly owner?: string;
  /** What is left of its life, in milliseconds; more than 0. `Infinity` for what another program wrote without an expiry. */
  readonly expiresInMs: number;
}

export interface SetOptions {
  /** The life of the entry from now, in whole milliseconds; at least 1. Anything else rejects. */
  readonly ttlMs: number;
  readonly nx?: boolean;
  readonly xx?: boolean;
  /** One or more characters without a space. Anything else rejects. */
  readonly owner?: string;
}

export type SetResult =
  | {
      readonly ok: true;
      /** Grows from claim to claim on a key, also after expiry, deletion and restart. A resource that remembers the highest can refuse a late writer. */
      readonly fence: number;
    }
  | {
      readonly ok: false;
      /** What is there instead, seen in the same step: what a refused `nx` lost to, or who else holds what `xx` wanted. */
      readonly held: StoreEntry | undefined;
    };

export interface EntriesOptions {
  readonly prefix: string;
  /** About how many entries a page has at the most; from 1. @default 100 */
  readonly limit?: number;
  /** Where the page before ended. */
  readonly cursor?: string;
}

export interface EntryPage {
  readonly entries: readonly (StoreEntry & { readonly key: string })[];
  /** Hand this back for the next page; undefined when there is none. */
  readonly cursor: string | undefined;
}
