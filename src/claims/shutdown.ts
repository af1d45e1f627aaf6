import { DefinitionError, ShutdownError, type LeaseLostError } from "../errors.js";
import { AbortScope } from "../support/abort.js";
import { Bag, type InBag } from "../support/bag.js";
import { settle, type Awaitable } from "../support/and-then.js";
import type { Clock } from "../support/clock.js";
import { toMs, type Duration } from "../support/duration.js";
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
    return settle(
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

const held = new Bag<HeldKey>();
let ending: Promise<readonly string[]> | undefined;
let onLastConcluded: (() => void) | undefined;

/** Is the run turned away, since the process is shutting down? What undoes something is let through. */
export function refusesNow(run: Run): boolean {
  return ending !== undefined && !run.undoes;
}

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

export interface ShutdownOptions {
  /** How long running work has to come to rest, once it is told to stop. @default 5 (seconds) */
  readonly grace?: Duration;
}

/**
 * For the end of a process, on SIGTERM say. No new claims are made, and running work is told to stop through `this.signal`; what ends well
 * within the grace period counts, and keeps its keys until then. After it the runs that are left are answered as aborted and their claims are freed, so that a
 * deploy leaves no keys behind. Answers with the keys that had to be freed. Called again, it gives the same answer.
 *
 * @throws {DefinitionError} when an option has the wrong shape.
 */
export async function shutdown({ grace = 5 }: ShutdownOptions = {}): Promise<readonly string[]> {
  const graceMs = toMs("shutdown(): grace", grace, { zero: true });
  ending ??= end(graceMs);
  return ending;
}

/** Takes claims again after a shutdown. For tests, and for hosts that start over in one process. */
export function resume(): void {
  if (held.size > 0)
    throw new DefinitionError(`resume(): ${held.size} claims of before the shutdown are still held. Await shutdown() first.`);
  ending = undefined;
}

async function end(graceMs: number): Promise<readonly string[]> {
  const reason = new ShutdownError("The process is shutting down");
  for (const { run } of held) run.scope.abort(reason, "abort");
  await concludedWithin(graceMs);
  // Runs whose end is on its way to the store are none to be freed for a second run: they are waited for.
  const left = [...held].filter(({ lease }) => !lease.isConcluding);
  for (const key of left) {
    key.freed = true;
    key.lease.stopRenewing();
    key.lease.concluding(); // the releases wait for each other, and late grants come in between
    key.run.scope.cancel(reason);
  }
  await Promise.all(left.map(async (key) => key.free("shutdown")));
  for (const key of left) concluded(key);
  await concludedWithin(LAST_WRITES * storeTimeoutMs());
  return left.filter(({ lease }) => !lease.lost).map(({ lease }) => lease.key);
}

/** For how many times the store's time limit the last writes are waited for: as long as a completion is tried. */
const LAST_WRITES = 3;

/** Waits until every claim is concluded, but no longer than that. */
async function concludedWithin(ms: number): Promise<void> {
  if (ms === 0 || held.size === 0) return;
  const waiting = new AbortScope();
  onLastConcluded = () => waiting.abort("all concluded");
  await sleep(configuration.clock, ms, waiting);
  onLastConcluded = undefined;
}
