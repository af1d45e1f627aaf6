import type { LeaseLostError } from "../errors.js";
import { AbortScope } from "../support/abort.js";
import { tryThen, type Awaitable } from "../support/and-then.js";
import { Bag, type InBag } from "../support/bag.js";
import type { Clock } from "../support/clock.js";
import { sleep } from "../support/sleep.js";
import { toError } from "../support/thrown.js";
import type { Store } from "../stores/store.js";
import { insideRun } from "../task/chain.js";
import { configuration } from "../task/configuration.js";
import type { Run } from "../task/run.js";
import type { Asking, Granted } from "./asking.js";
import { Lease, type LeaseOptions, type LossReason } from "./lease.js";
import { storeTimeoutMs } from "./store-of.js";

/** How long a key is held. */
export interface HoldTimes {
  readonly leaseMs: number;
  readonly maxHoldMs: number;
}

/**
 * A key that is held in this process: a slot, or a lock. It keeps what was granted: renews it, and aborts the run's signal when it is
 * lost. Of that the timer tells that all leases share, so what listeners start is put into this run.
 */
export abstract class HeldKey implements LeaseOptions, InBag {
  /** @internal */
  place = -1;
  readonly run: Run;
  readonly asking: Asking;
  readonly lease: Lease;
  readonly leaseMs: number;
  readonly maxHoldMs: number;
  readonly storeTimeoutMs: number;
  /** Was it freed by the shutdown? Then the run's own end has nothing left to free. */
  freed = false;

  constructor(asking: Asking, { claimedAt }: Granted, { leaseMs, maxHoldMs }: HoldTimes) {
    this.run = asking.run;
    this.asking = asking;
    this.leaseMs = leaseMs;
    this.maxHoldMs = maxHoldMs;
    this.storeTimeoutMs = storeTimeoutMs();
    this.lease = asking.lease = new Lease(this, claimedAt);
  }

  get store(): Store {
    return this.asking.store;
  }

  get clock(): Clock {
    return this.run.clock;
  }

  get key(): string {
    return this.asking.key;
  }

  get owner(): string {
    return this.run.runId;
  }

  onLost(why: LossReason, error: LeaseLostError): void {
    const { run } = this;
    insideRun(run, () => {
      this.tellLost(why);
      run.scope.abort(error);
      if (run.closed) forgetLost(run);
    });
  }

  onRenewError(thrown: unknown): void {
    insideRun(this.run, () => this.tellStoreError("renew", toError(thrown)));
  }

  /** Frees the key in the store, as its owner. A failure of this hides nothing: the outcome stays, and the key's life ends by itself. */
  free(reason: FreeReason): Awaitable<void> {
    return tryThen(
      () => this.lease.release(),
      (answer) => (answer === "freed" ? this.tellFreed(reason) : this.lease.lose("refused")),
      (thrown) => this.tellStoreError("release", toError(thrown)),
    );
  }

  protected abstract tellLost(why: LossReason): void;
  protected abstract tellFreed(reason: FreeReason): void;
  abstract tellStoreError(operation: "renew" | "complete" | "release", error: Error): void;
}
export type FreeReason = "failed" | "skipped" | "shutdown";

/** All of them in this process. */
export const held: Bag<HeldKey> = new Bag<HeldKey>();
let onLastConcluded: (() => void) | undefined;

/** Remembers a key, until it is concluded. From now on a shutdown can call its run off. */
export function hold(key: HeldKey): void {
  held.add(key);
  key.run.scope.cancellable = true;
}

/**
 * A run that has answered, while its work goes on, and has lost its key leaves nothing that anybody could free. What the store holds of
 * it for a moment longer, by its own clock, is given back.
 */
export function forgetLost(run: Run): void {
  for (const key of held) {
    if (key.run !== run || !key.lease.lost) continue;
    concluded(key);
    key.asking.giveBack();
  }
}

export function concluded(key: HeldKey): void {
  held.delete(key);
  key.asking.held = false;
  key.asking.giveUp(); // of what was granted anew while it was freed
  if (held.size === 0) onLastConcluded?.();
}

/** Waits until every claim is concluded, but no longer than that. */
export async function concludedWithin(ms: number): Promise<void> {
  if (ms === 0 || held.size === 0) return;
  const waiting = new AbortScope();
  onLastConcluded = () => waiting.abort("all concluded");
  await sleep(configuration.clock, ms, waiting);
  onLastConcluded = undefined;
}
