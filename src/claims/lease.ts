import { LeaseLostError } from "../errors.js";
import { Alarm, alarmsOf } from "../support/alarms.js";
import type { Awaitable } from "../support/and-then.js";
import type { Clock } from "../support/clock.js";
import { withinTime } from "../support/time-limit.js";
import type { SetResult, Store } from "../stores/store.js";
import { wakeFirst } from "./waiting.js";

export type LossReason = "refused" | "expired" | "max_hold";

export interface LeaseOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly key: string;
  /** A token that nobody else has. */
  readonly owner: string;
  readonly leaseMs: number;
  /** Renewals end this long after the claim. */
  readonly maxHoldMs: number;
  /** How long a call of the store may take. */
  readonly storeTimeoutMs: number;
  /** Called once, when the lease is known or must be assumed to be lost. */
  readonly onLost: (why: LossReason, error: LeaseLostError) => void;
  /** Called when a renewal fails. It is tried again while there is time. */
  readonly onRenewError: (error: unknown) => void;
}

/**
 * A key held in a store: claimed, renewed while it is needed, and written to or freed only by its owner.
 *
 * The holder's view of time is on the safe side. It counts the lease from before the call that granted it, the store from when it
 * carried the call out, and it takes off an allowance for late timers and clocks that run at different rates. So the holder
 * knows of the loss before anybody else can claim:
 *
 *     holder   |- sends claim ----- lease -----| must assume it is lost
 *     store        |- grants --------- lease ------| others may claim
 */
export class Lease extends Alarm {
  readonly #options: LeaseOptions;
  #heldUntil: number;
  #renewAt: number;
  readonly #maxHoldAt: number;
  #renewing = false;
  #ended = false;
  #concluding = false;
  #lost: LossReason | undefined;

  /** `claimedAt` is the clock's time right before the call that granted the claim. */
  constructor(options: LeaseOptions, claimedAt: number) {
    super(claimedAt);
    this.#options = options;
    this.#heldUntil = claimedAt + safeMs(options.leaseMs);
    this.#renewAt = claimedAt + options.leaseMs / 3;
    this.#maxHoldAt = claimedAt + options.maxHoldMs;
    this.dueAt = this.#nextDue();
    alarmsOf(options.clock).set(this);
  }

  get key(): string {
    return this.#options.key;
  }

  get owner(): string {
    return this.#options.owner;
  }

  /** Is the write on its way that ends the ownership? */
  get isConcluding(): boolean {
    return this.#concluding;
  }

  get lost(): boolean {
    return this.#lost !== undefined;
  }

  /** Until when the holder counts on the lease, by its own clock. */
  get heldUntil(): number {
    return this.#heldUntil;
  }

  /** What is left of the lease by the holder's own clock, in milliseconds. */
  get remainingMs(): number {
    return this.#heldUntil - this.#options.clock.now();
  }

  /**
   * A write that ends the ownership is on its way. If it takes effect and its answer is late, a renewal is refused: from now on that
   * is no loss, and the write's own answer tells.
   */
  concluding(): void {
    this.#concluding = true;
  }

  /** No renewals any more; the claim lives on until its lease ends. */
  stopRenewing(): void {
    this.#ended = true;
    alarmsOf(this.#options.clock).off(this);
  }

  /** One write to the key as its owner, which also ends the ownership. Rejects when the store does, or `next` cannot read its answer. */
  write<R>(value: string, ttlMs: number, next: (answer: SetResult) => Awaitable<R>): Awaitable<R> {
    const { store, key, owner } = this.#options;
    return this.#call(() => store.set(key, value, { ttlMs, xx: true, owner }), next);
  }

  /**
   * Frees the key, as its owner. Rejects when the store does. A refusal may only mean that the key is free already: the client sent
   * the call twice, or somebody who operates the store was quicker.
   */
  release(): Awaitable<"freed" | "lost"> {
    const { store, key, owner } = this.#options;
    this.stopRenewing();
    return this.#call<boolean, "freed" | "lost">(
      () => store.delete(key, { owner }),
      (freed) => {
        if (!freed) return this.#refusedRelease();
        wakeFirst(key);
        return "freed";
      },
    );
  }

  async #refusedRelease(): Promise<"freed" | "lost"> {
    const { store, key } = this.#options;
    if (this.lost || this.remainingMs <= 0) return "lost";
    return this.#call(
      () => store.get(key),
      (entry) => (entry === undefined ? "freed" : "lost"),
    );
  }

  /** Looks at the clock by itself: after the event loop has stood still, the alarm is late and the time is not. */
  check(): void {
    const now = this.#options.clock.now();
    if (!this.#ended && now >= this.#heldUntil) this.lose(now >= this.#maxHoldAt ? "max_hold" : "expired");
  }

  /** Declares the lease lost, for those who learn of it by another way than a renewal. */
  lose(why: LossReason): void {
    this.stopRenewing();
    if (this.#lost !== undefined) return;
    this.#lost = why;
    this.#options.onLost(why, new LeaseLostError(`The claim on ${this.key} was lost: ${LOSSES[why]}`));
  }

  /** No call outlasts the lease while there is one; what is tried after it is a last try. */
  #call<T, R>(call: () => Awaitable<T>, next: (answer: T) => Awaitable<R>): Awaitable<R> {
    const { clock, storeTimeoutMs } = this.#options;
    const left = this.remainingMs;
    return withinTime({ clock, ms: left > 0 ? Math.min(storeTimeoutMs, left) : storeTimeoutMs }, call, next);
  }

  #nextDue(): number {
    return this.#renewing ? this.#heldUntil : Math.min(this.#renewAt, this.#heldUntil);
  }

  /** @internal */
  ring(): void {
    const now = this.#options.clock.now();
    this.check();
    if (this.#ended) return;
    if (!this.#renewing && now >= this.#renewAt) void this.#renew(now);
    this.#rearm();
  }

  #rearm(): void {
    if (this.#ended) return;
    this.dueAt = this.#nextDue();
    alarmsOf(this.#options.clock).set(this);
  }

  #refused(): void {
    if (this.#ended) return;
    if (this.#concluding) this.stopRenewing();
    else this.lose("refused");
  }

  /** One renewal at a time. Never rejects: an error is told, and the next try comes sooner. */
  async #renew(now: number): Promise<void> {
    const { store, clock, key, owner, leaseMs, storeTimeoutMs } = this.#options;
    if (now >= this.#maxHoldAt) {
      this.#renewAt = Number.POSITIVE_INFINITY; // long enough: from here on the lease runs out
      return;
    }
    this.#renewing = true;
    try {
      const late = (renewed: boolean): void => {
        if (!renewed) this.#refused(); // a refusal never becomes untrue, however late it comes
      };
      const limits = { clock, ms: Math.min(storeTimeoutMs, this.remainingMs), late };
      const renewed = await withinTime(limits, () => store.renew(key, { owner, ttlMs: leaseMs }));
      if (this.#ended) return;
      if (!renewed) return this.#refused();
      this.#heldUntil = now + safeMs(leaseMs);
      this.#renewAt = now + leaseMs / 3;
    } catch (error) {
      this.#renewAt = clock.now() + leaseMs / 10;
      if (!this.#ended) this.#options.onRenewError(error);
    } finally {
      this.#renewing = false;
      this.#rearm();
    }
  }
}

/** What of a lease its holder counts on: all but a hundredth and two milliseconds, the usual allowance for the drift of clocks. */
export function safeMs(leaseMs: number): number {
  return Math.max(1, leaseMs - Math.ceil(leaseMs / 100) - 2);
}

const LOSSES: Readonly<Record<LossReason, string>> = {
  refused: "the store says that somebody else holds the key, or nobody.",
  expired: "its lease ended before it could be renewed.",
  max_hold: "it was held for longer than maxHold.",
};
