import { ShutdownError } from "../errors.js";
import { toError } from "../support/thrown.js";
import type { StoreEntry } from "../stores/store.js";
import { insideRun } from "../task/chain.js";
import type { FailedOutcome, Outcome } from "../task/outcome.js";
import type { Run } from "../task/run.js";
import type { Asking, Granted } from "./asking.js";
import { Lease, type LossReason } from "./lease.js";
import { forgetLost, hold, refusesNow, type HeldKey } from "./shutdown.js";
import { storeTimeoutMs } from "./store-of.js";
import type { Waiting } from "./waiting.js";

/** What came of trying to take a key: it is held, or the run has its answer, or the store failed. */
export type Acquired<Key extends HeldKey> = Key | { readonly outcome: Outcome } | { readonly error: Error };

export interface AcquireOptions<Key extends HeldKey> {
  /** Makes a key that is held of what was granted. */
  readonly granted: (grant: Granted) => Key;
  readonly waiting: Waiting;
  /** What becomes of a run that lost to this entry, which it saw in the same step. */
  readonly judge: (held: StoreEntry) => Outcome | "wait" | Promise<Outcome | "wait">;
  /** The answer of a run that has waited in vain. */
  readonly timeIsUp: (held: StoreEntry) => Outcome;
}

/** How often an entry may vanish between the refusal and the look at it before the store is taken to be broken. */
const VANISHINGS = 10;

/**
 * Takes a key for a run, or finds out why not. Refused, the entry that it lost to decides, and it was seen in the same step:
 *
 *     this run     |- set nx: refused, held=processing          |- so it is a duplicate
 *     other run  --|- at work ----------------|- completes
 *
 * There is no second look at the store, between which and the first the key could change hands.
 */
export async function acquire<Key extends HeldKey>(run: Run, asking: Asking, options: AcquireOptions<Key>): Promise<Acquired<Key>> {
  try {
    return await untilAcquired(run, asking, options);
  } catch (thrown) {
    return failed(run, asking, toError(thrown)); // a store whose answers cannot be read is as good as none
  } finally {
    options.waiting.end(asking.key);
  }
}

async function untilAcquired<Key extends HeldKey>(run: Run, asking: Asking, options: AcquireOptions<Key>): Promise<Acquired<Key>> {
  const { waiting, granted, judge, timeIsUp } = options;
  for (let vanished = 0; ;) {
    if (run.scope.cancelled || refusesNow(run)) {
      asking.giveUp();
      return { outcome: run.scope.cancelled ? run.abortedOutcome() : shuttingDown(run) };
    }
    const answer = await asking.ask();
    if ("error" in answer) return failed(run, asking, answer.error);
    if (answer.ok && refusesNow(run)) {
      asking.giveBack();
      return { outcome: shuttingDown(run) };
    }
    if (answer.ok) {
      const key = granted(answer);
      hold(key); // in the same turn as the look at the shutdown: none can begin in between
      return key;
    }
    if (answer.held === undefined) {
      vanished += 1;
      if (vanished < VANISHINGS) continue;
      return failed(run, asking, new Error("The store refuses the claim and shows nothing that holds the key"));
    }
    const verdict = await judge(answer.held);
    const again = verdict === "wait" && (await waiting.pause(asking.key, answer.held.expiresInMs));
    if (again) continue;
    asking.giveUp();
    if (verdict !== "wait") return { outcome: verdict };
    return { outcome: run.scope.aborted ? run.abortedOutcome() : timeIsUp(answer.held) };
  }
}

/** As far as this run can tell, the key could not be taken; if it was all the same, it is given back. */
function failed(run: Run, asking: Asking, error: Error): { readonly outcome: Outcome } | { readonly error: Error } {
  asking.giveBack();
  return run.scope.cancelled ? { outcome: run.abortedOutcome() } : { error };
}

function shuttingDown(run: Run): FailedOutcome {
  const error = new ShutdownError(`${run.plan.name} did not run: the process is shutting down`);
  return { status: "failed", by: "refused", error, reason: error.message, retryable: true, metadata: { code: "aborted" } };
}

export interface KeepOptions {
  readonly leaseMs: number;
  readonly maxHoldMs: number;
  /** Called once, when the lease is lost; the run's signal aborts right after it. */
  readonly onLost: (why: LossReason) => void;
  /** Called when a renewal fails; it is tried again. */
  readonly onRenewError: (error: Error) => void;
}

/** Keeps what was granted: renews it, and aborts the run's signal when it is lost. Told on a timer that all leases share, so what listeners start is put into this run. */
export function keep(run: Run, asking: Asking, { claimedAt }: Granted, options: KeepOptions): Lease {
  const { leaseMs, maxHoldMs, onLost, onRenewError } = options;
  return (asking.lease = new Lease(
    {
      store: asking.store,
      clock: run.clock,
      key: asking.key,
      owner: run.runId,
      leaseMs,
      maxHoldMs,
      storeTimeoutMs: storeTimeoutMs(),
      onLost: (why, error) =>
        insideRun(run, () => {
          onLost(why);
          run.scope.abort(error);
          if (run.closed) forgetLost(run);
        }),
      onRenewError: (thrown) => insideRun(run, () => onRenewError(toError(thrown))),
    },
    claimedAt,
  ));
}
