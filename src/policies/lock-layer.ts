import { acquire, keep } from "../claims/acquire.js";
import { Asking, isHeldAbove, type Granted } from "../claims/asking.js";
import { keyOf, orOutcome } from "../claims/keyed.js";
import { concluded, forgetLost, HeldKey } from "../claims/shutdown.js";
import { storeUnavailable } from "../claims/store-of.js";
import { Waiting } from "../claims/waiting.js";
import { LockedError } from "../errors.js";
import { toError } from "../support/thrown.js";
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
  return (next) => async (run) => {
    const keyed = await orOutcome(run, () => keyOf(run, options, name));
    if ("outcome" in keyed) return keyed.outcome;
    if ("bypass" in keyed) return withoutLock(run, next, keyed.bypass);

    const lock = await takeLock(run, options, keyed.key);
    if ("outcome" in lock) return lock.outcome;
    if ("bypass" in lock) return withoutLock(run, next, lock.bypass);

    const outcome = await next(run).catch((thrown: unknown) => outcomeOfThrown(run, thrown)); // whatever happens, the lock is let go
    if (run.aftermath === undefined) await conclude(lock);
    else concludeLater(run, lock);
    return outcome;
  };
}

/** The work may still have an effect on the way: the lock stays until it has come to rest, if it is held at all. */
function concludeLater(run: Run, lock: HeldLock): void {
  run.aftermath = run.aftermath?.then(() => conclude(lock));
  forgetLost(run);
}

function withoutLock(run: Run, next: Step, why: "gate" | "missing_key" | "store_error"): Promise<Outcome> {
  announce(run, "lock_bypassed")?.({ why });
  return next(run);
}

/** A lock that is held for a run. */
class HeldLock extends HeldKey {
  /** A failure of this hides nothing: the outcome stays what it is, and the lock's life ends by itself. */
  async free(): Promise<void> {
    const { run, lease } = this;
    try {
      if ((await lease.release()) === "freed") announce(run, "lock_released")?.({ lockKey: lease.key });
      else lease.lose("refused");
    } catch (thrown) {
      announce(run, "lock_store_error")?.({ operation: "release", lockKey: lease.key, error: toError(thrown) });
    }
  }
}

async function conclude(lock: HeldLock): Promise<void> {
  lock.lease.concluding();
  if (!lock.freed) await lock.free();
  concluded(lock);
}

/** Takes the lock, waiting for it if the options say so, or answers why not. */
async function takeLock(
  run: Run,
  options: Lock,
  key: string,
): Promise<HeldLock | { readonly outcome: Outcome } | { readonly bypass: "store_error" }> {
  const asking = new Asking(run, {
    key,
    value: "locked",
    leaseMs: options.ttlMs,
    onError: (error) => announce(run, "lock_store_error")?.({ operation: "claim", lockKey: key, error }),
  });
  const since = run.clock.now();
  const acquired = await acquire(run, asking, {
    granted: (grant) => heldLock(run, options, asking, grant),
    waiting: new Waiting(run.clock, run.scope, options.waitMs, LONGEST_PAUSE_MS),
    judge: (held) => (isHeldAbove(run, key, held) ? locked(run, key, held, "a run around this one, so it would never come free") : "wait"),
    timeIsUp: (held) => locked(run, key, held, "another run"),
  });
  if ("outcome" in acquired) return acquired;
  if ("error" in acquired) {
    if (options.onStoreError === "run") return { bypass: "store_error" };
    return { outcome: storeUnavailable(run, key, acquired.error, "lockKey") };
  }
  announce(run, "lock_acquired")?.({ lockKey: key, waitedMs: run.clock.now() - since });
  return acquired;
}

function heldLock(run: Run, { ttlMs, maxHoldMs }: Lock, asking: Asking, grant: Granted): HeldLock {
  const { key } = asking;
  run.lock = Object.freeze({ key, owner: run.runId, fence: grant.fence });
  const lease = keep(run, asking, grant, {
    leaseMs: ttlMs,
    maxHoldMs,
    onLost: (why) => announce(run, "lock_lost")?.({ lockKey: key, why }),
    onRenewError: (error) => announce(run, "lock_store_error")?.({ operation: "renew", lockKey: key, error }),
  });
  return new HeldLock(run, asking, lease);
}

/** What is left of the other's lock is the longest it can take, if nobody renews it. */
function locked(run: Run, key: string, held: StoreEntry, by: string): FailedOutcome {
  const later = Number.isFinite(held.expiresInMs) ? { retryAfterMs: Math.ceil(held.expiresInMs) } : {};
  announce(run, "lock_refused")?.({ code: "locked", lockKey: key, ...later });
  const error = new LockedError(`${run.plan.name} did not run: the lock ${key} is held by ${by}`);
  const metadata = { code: "locked", lockKey: key, ...later, ...(held.owner !== undefined && { heldBy: held.owner }) };
  return { status: "failed", by: "refused", error, reason: error.message, retryable: true, metadata };
}
