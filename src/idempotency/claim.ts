import { Asking, type Granted } from "../claims/asking.js";
import { Lease } from "../claims/lease.js";
import { storeTimeoutMs, storeUnavailable } from "../claims/store-of.js";
import { Waiting } from "../claims/waiting.js";
import { ShutdownError } from "../errors.js";
import { toError } from "../support/thrown.js";
import { insideRun } from "../task/chain.js";
import { announce } from "../task/observers.js";
import type { FailedOutcome, Outcome } from "../task/outcome.js";
import type { Run } from "../task/run.js";
import { judge, timeIsUp } from "./duplicate.js";
import type { Identity } from "./identity.js";
import type { Idempotency } from "./options.js";
import { isShuttingDown } from "./shutdown.js";
import { writeSlot } from "./slot.js";

/** What came of trying to claim the slot. */
export type Claiming = { readonly asking: Asking; readonly lease: Lease } | { readonly outcome: Outcome } | { readonly unprotected: true };

/** How often an entry may vanish between the refusal and the look at it before the store is taken to be broken. */
const VANISHINGS = 10;
/** No pause of a run that waits is longer, in milliseconds. */
const LONGEST_PAUSE_MS = 1_000;

/**
 * Claims the slot, or finds out why not. Refused, the entry that it lost to decides, and it was seen in the same step:
 *
 *     this run     |- set nx: refused, held=processing          |- so it is a duplicate
 *     other run  --|- at work ----------------|- completes
 *
 * There is no second look at the store, between which and the first the slot could change its mind.
 */
export async function claimSlot(run: Run, options: Idempotency, identity: Identity): Promise<Claiming> {
  const { key } = identity;
  const asking = new Asking(run, {
    key,
    value: processing(run, identity),
    leaseMs: options.leaseMs,
    onError: (error) => announce(run, "idempotency_store_error")?.({ operation: "claim", idempotencyKey: key, error }),
  });
  const waiting = new Waiting(run.clock, run.scope, options.waitForMs, LONGEST_PAUSE_MS);
  for (let vanished = 0; ;) {
    if (run.scope.cancelled) return { outcome: run.abortedOutcome() };
    if (isShuttingDown()) return { outcome: shuttingDown(run) };
    const answer = await asking.ask();
    if ("error" in answer) return unavailable(run, options, asking, answer.error);
    if (answer.ok && isShuttingDown()) {
      asking.giveBack();
      return { outcome: shuttingDown(run) };
    }
    if (answer.ok) return { asking, lease: startLease(run, options, asking, answer) };
    if (answer.held === undefined) {
      vanished += 1;
      if (vanished < VANISHINGS) continue;
      return unavailable(run, options, asking, new Error("The store refuses the claim and shows nothing that holds the key"));
    }
    const verdict = await judge(run, options, identity, answer.held);
    const again = verdict === "wait" && (await waiting.pause(key, answer.held.expiresInMs));
    if (again) continue;
    asking.giveUp();
    if (verdict !== "wait") return { outcome: verdict };
    return { outcome: run.scope.aborted ? run.abortedOutcome() : timeIsUp(run, identity, answer.held) };
  }
}

function processing(run: Run, { fingerprint }: Identity): string {
  return writeSlot({ state: "processing", details: { run: run.runId, ...(fingerprint !== undefined && { fingerprint }) } });
}

function startLease(run: Run, options: Idempotency, { key, store }: Asking, { fence, claimedAt }: Granted): Lease {
  run.claim = Object.freeze({ key, owner: run.runId, fence });
  return new Lease(
    {
      store,
      clock: run.clock,
      key,
      owner: run.runId,
      leaseMs: options.leaseMs,
      maxHoldMs: options.maxHoldMs,
      storeTimeoutMs: storeTimeoutMs(),
      // Told on a timer that all leases share: what listeners start belongs to this run.
      onLost: (why, error) =>
        insideRun(run, () => {
          announce(run, "idempotency_lost")?.({ idempotencyKey: key, why });
          run.scope.abort(error);
        }),
      onRenewError: (thrown) =>
        insideRun(run, () =>
          announce(run, "idempotency_store_error")?.({ operation: "renew", idempotencyKey: key, error: toError(thrown) }),
        ),
    },
    claimedAt,
  );
}

/** The claim could not be made, as far as this run can tell; if it was made all the same, it is given back. */
function unavailable(run: Run, options: Idempotency, asking: Asking, cause: Error): Claiming {
  asking.giveBack();
  if (run.scope.cancelled) return { outcome: run.abortedOutcome() };
  if (options.onStoreError === "run") return { unprotected: true };
  return { outcome: storeUnavailable(run, asking.key, cause, "idempotencyKey") };
}

function shuttingDown(run: Run): FailedOutcome {
  const error = new ShutdownError(`${run.plan.name} did not run: the process is shutting down`);
  return { status: "failed", by: "refused", error, reason: error.message, retryable: true, metadata: { code: "aborted" } };
}
