import { acquire, type KeyPolicy, type WithoutKey } from "../claims/acquire.js";
import { Asking, isHeldAbove, type Granted } from "../claims/asking.js";
import { keyOf, orOutcome } from "../claims/keyed.js";
import type { LossReason } from "../claims/lease.js";
import { concluded, forgetLost, HeldKey } from "../claims/held-key.js";
import { storeUnavailable } from "../claims/store-of.js";
import { LockedError } from "../errors.js";
import { andThen, tryThen, type Awaitable } from "../support/and-then.js";
import type { StoreEntry } from "../stores/store.js";
import type { Layer, Step } from "../task/layer.js";
import { announce } from "../task/observers.js";
import type { FailedOutcome, Outcome } from "../task/outcome.js";
import type { Run } from "../task/run.js";
import { outcomeOfThrown } from "../task/thrown-outcome.js";
import type { Lock } from "./lock-options.js";

/** No pause of a run that waits is longer, in milliseconds: locks are held for short. */
const LONGEST_PAUSE_MS = 250;

/** The layer that lets one run at a time through for each key. It holds the lock over the claim, all attempts and the rollback. */
export function lockLayer(options: Lock, name: string): Layer {
  return (next) => (run) =>
    andThen(
      orOutcome(run, () => keyOf(run, options, name)),
      (keyed) => {
        if ("outcome" in keyed) return keyed.outcome;
        if ("bypass" in keyed) return withoutLock(run, next, keyed.bypass);
        return acquire(new LockClaim(run, options, keyed.key), (lock) => {
          if ("outcome" in lock) return lock.outcome;
          return "bypass" in lock ? withoutLock(run, next, lock.bypass) : underLock(lock, next);
        });
      },
    );
}

function withoutLock(run: Run, next: Step, why: "gate" | "missing_key" | "store_error"): Awaitable<Outcome> {
  announce(run, "lock_bypassed")?.({ why });
  return next(run);
}

/** Whatever happens inside, the lock is let go. */
function underLock(lock: HeldLock, next: Step): Awaitable<Outcome> {
  const { run } = lock;
  announce(run, "lock_acquired")?.({ lockKey: lock.key, waitedMs: run.clock.now() - lock.asking.since });
  const letGo = (outcome: Outcome): Awaitable<Outcome> => andThen(conclude(lock), () => outcome);
  return tryThen(
    () => next(run),
    letGo,
    (thrown) => letGo(outcomeOfThrown(run, thrown)),
  );
}

/** Work that goes on may still have an effect on the way: the lock stays until it has come to rest, if it is held at all. */
function conclude(lock: HeldLock): Awaitable<void> {
  const { run } = lock;
  if (run.aftermath === undefined) return free(lock);
  run.aftermath = run.aftermath.then(() => free(lock));
  forgetLost(run);
}

function free(lock: HeldLock): Awaitable<void> {
  lock.lease.concluding();
  return andThen(lock.freed ? undefined : lock.free("failed"), () => concluded(lock));
}

/** How a run takes its lock. */
class LockClaim extends Asking implements KeyPolicy<HeldLock> {
  readonly #options: Lock;

  constructor(run: Run, options: Lock, key: string) {
    super(run, key, "locked", options.ttlMs);
    this.#options = options;
  }

  get waitMs(): number {
    return this.#options.waitMs;
  }

  get longestPauseMs(): number {
    return LONGEST_PAUSE_MS;
  }

  granted(grant: Granted): HeldLock {
    const { run, key } = this;
    run.lock = { key, owner: run.runId, fence: grant.fence };
    const { ttlMs: leaseMs, maxHoldMs } = this.#options;
    return new HeldLock(this, grant, { leaseMs, maxHoldMs });
  }

  judge(held: StoreEntry): Outcome | "wait" {
    const { run, key } = this;
    return isHeldAbove(run, key, held) ? locked(run, key, held, "a run around this one, so it would never come free") : "wait";
  }

  timeIsUp(held: StoreEntry): Outcome {
    return locked(this.run, this.key, held, "another run");
  }

  withoutStore(error: Error): WithoutKey {
    if (this.#options.onStoreError === "run") return { bypass: "store_error" };
    return { outcome: storeUnavailable(this.run, this.key, error, "lockKey") };
  }

  protected tellStoreError(error: Error): void {
    announce(this.run, "lock_store_error")?.({ operation: "claim", lockKey: this.key, error });
  }
}

/** A lock that is held for a run. */
class HeldLock extends HeldKey {
  protected tellLost(why: LossReason): void {
    announce(this.run, "lock_lost")?.({ lockKey: this.key, why });
  }

  protected tellFreed(): void {
    announce(this.run, "lock_released")?.({ lockKey: this.key });
  }

  tellStoreError(operation: "renew" | "release", error: Error): void {
    announce(this.run, "lock_store_error")?.({ operation, lockKey: this.key, error });
  }
}

/** What is left of the other's lock is the longest it can take, if nobody renews it. */
function locked(run: Run, key: string, held: StoreEntry, by: string): FailedOutcome {
  const later = Number.isFinite(held.expiresInMs) ? { retryAfterMs: Math.ceil(held.expiresInMs) } : {};
  announce(run, "lock_refused")?.({ code: "locked", lockKey: key, ...later });
  const error = new LockedError(`${run.plan.name} did not run: the lock ${key} is held by ${by}`);
  const metadata = { code: "locked", lockKey: key, ...later, ...(held.owner !== undefined && { heldBy: held.owner }) };
  return { status: "failed", by: "refused", error, reason: error.message, retryable: true, metadata };
}
