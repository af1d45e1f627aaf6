import { deepStrictEqual, ok } from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { SetResult, Store, StoreEntry } from "../../stores/store.js";

/** One promise of a store, and how it is put to the test. */
export interface ContractCase {
  readonly name: string;
  /** Only for stores that share their data (`peer`), whose clock a test can set to the millisecond (`clock`), or that count (`count`). */
  readonly needs?: "peer" | "clock" | "count";
  run(bench: Bench): Promise<void>;
}

/** A life that no case waits for, and one that it does. */
export const LONG_MS = 60_000;
export const SHORT_MS = 25;

/** What a case works with: a store, time, and claims as the library makes them. */
export class Bench {
  readonly store: Store;
  /** Another store on the same data. */
  readonly peer: Store;
  /** Lets time pass. */
  readonly advance: (ms: number) => Promise<void>;
  /** A store as it is after a restart of the process. */
  readonly restart: () => Promise<Store>;
  readonly #equal: (actual: unknown, expected: unknown) => void;
  /** What every key of this case begins with, so that cases may share a server. */
  readonly prefix: string = `contract:${randomUUID()}:`;
  #keys = 0;

  constructor(parts: {
    store: Store;
    peer: Store;
    advance: (ms: number) => Promise<void>;
    restart: () => Promise<Store>;
    equal: (actual: unknown, expected: unknown) => void;
  }) {
    this.store = parts.store;
    this.peer = parts.peer;
    this.advance = parts.advance;
    this.restart = parts.restart;
    this.#equal = parts.equal;
  }

  /** A key that nobody else uses. */
  key(): string {
    this.#keys += 1;
    return `${this.prefix}${this.#keys}`;
  }

  async claim(key: string, owner: string, ttlMs: number = LONG_MS, store: Store = this.store): Promise<SetResult> {
    return store.set(key, "processing", { nx: true, owner, ttlMs });
  }

  async complete(key: string, owner: string, ttlMs: number = LONG_MS, store: Store = this.store): Promise<SetResult> {
    return store.set(key, "completed", { xx: true, owner, ttlMs });
  }

  /** A key that an owner has claimed. */
  async claimed(owner: string, ttlMs: number = LONG_MS): Promise<string> {
    const key = this.key();
    this.granted(await this.claim(key, owner, ttlMs));
    return key;
  }

  /** A key whose claim has just expired, and that no sweep has been told of. */
  async expired(owner: string): Promise<string> {
    const key = await this.claimed(owner, SHORT_MS);
    await this.advance(SHORT_MS);
    return key;
  }

  equal(actual: unknown, expected: unknown): void {
    this.#equal(actual, expected);
  }

  holds(condition: boolean, promise: string): void {
    ok(condition, promise);
  }

  /** The write was done. Returns its fence. */
  granted(result: SetResult): number {
    ok(result.ok, `the write was refused, though it should be done: ${JSON.stringify(result)}`);
    return result.fence;
  }

  /** The write was not done, and told what is there instead. */
  refused(result: SetResult, held: Omit<StoreEntry, "expiresInMs"> | undefined, atMostMs: number = LONG_MS): void {
    ok(!result.ok, "the write was done, though it should be refused");
    this.entry(result.held, held, atMostMs);
  }

  /** The entry is as expected, has an owner only if one is expected, and some life left. */
  entry(actual: StoreEntry | undefined, expected: Omit<StoreEntry, "expiresInMs"> | undefined, atMostMs: number = LONG_MS): void {
    if (actual === undefined || expected === undefined) return this.equal(actual, expected);
    const { expiresInMs, ...rest } = actual;
    this.equal(rest, expected);
    ok(expiresInMs > 0 && expiresInMs <= atMostMs, `the entry has ${expiresInMs} ms to live, not more than 0 and at most ${atMostMs}`);
  }

  /** What is there now is as expected. */
  async finds(key: string, expected: Omit<StoreEntry, "expiresInMs"> | undefined, atMostMs: number = LONG_MS): Promise<void> {
    this.entry(await this.store.get(key), expected, atMostMs);
  }

  /** The call is turned away as a mistake. */
  async rejects(call: () => Promise<unknown>, what: string): Promise<void> {
    const rejected = await call().then(
      () => false,
      () => true,
    );
    ok(rejected, `${what} must reject`);
  }
}

/** How two values are compared when the runner has no say. */
export const equalByAssert: (actual: unknown, expected: unknown) => void = (actual, expected) => deepStrictEqual(actual, expected);
