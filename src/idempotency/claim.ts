import { ShutdownError, StoreUnavailableError } from "../errors.js";
import { Lease } from "../claims/lease.js";
import { storeOf, storeTimeoutMs } from "../claims/store-of.js";
import { sleep } from "../support/sleep.js";
import { messageOf, toError } from "../support/thrown.js";
import { withinTime } from "../support/time-limit.js";
import type { SetResult, Store } from "../stores/store.js";
import { insideRun } from "../task/chain.js";
import { announce } from "../task/observers.js";
import type { FailedOutcome, Outcome } from "../task/outcome.js";
import type { Run } from "../task/run.js";
import { judge, timeIsUp } from "./duplicate.js";
import type { Identity } from "./identity.js";
import type { Idempotency } from "./options.js";
import { isShuttingDown } from "./shutdown.js";
import { writeSlot } from "./slot.js";
import { Waiting } from "./waiting.js";

/** What came of trying to claim the slot. */
export type Claiming = { readonly lease: Lease } | { readonly outcome: Outcome } | { readonly unprotected: true };

/** How often a call of the store is made again when it failed, and how long to wait before that, in milliseconds. */
const REPEATS = 1;
const PAUSE_MS = 50;
/** How often an entry may vanish between the refusal and the look at it before the store is taken to be broken. */
const VANISHINGS = 10;

/**
 * Claims the slot, or finds out why not. Refused, the entry that it lost to decides, and it was seen in the same step:
 *
 *     this run     |- set nx: refused, held=processing          |- so it is a duplicate
 *     other run  --|- at work ----------------|- completes
 *
 * There is no second look at the store, between which and the first the slot could change its mind.
 */
export async function claimSlot(run: Run, options: Idempotency, identity: Identity): Promise<Claiming> {
  const store = storeOf(run.plan);
  const waiting = new Waiting(run, options.waitForMs);
  const underWay: UnderWay = { asking: false, stray: false };
  for (let vanished = 0; ;) {
    if (run.scope.cancelled) return { outcome: run.abortedOutcome() };
    if (isShuttingDown()) return { outcome: shuttingDown(run) };
    const answer = await askForSlot(run, options, identity, store, underWay);
    if ("error" in answer) return unavailable(run, options, identity, store, answer.error);
    if (answer.ok && isShuttingDown()) return giveUp(run, identity, store);
    if (answer.ok) return { lease: startLease(run, options, identity, store, answer) };
    if (answer.held === undefined) {
      vanished += 1;
      if (vanished < VANISHINGS) continue;
      return unavailable(run, options, identity, store, new Error("The store refuses the claim and shows nothing that holds the key"));
    }
    const verdict = await judge(run, options, identity, answer.held);
    const again = verdict === "wait" && (await waiting.pause(answer.held.expiresInMs));
    if (again) continue; // a stray grant is this owner's, and so granted to the next call
    if (underWay.stray) giveBack(run, store, identity.key);
    if (verdict !== "wait") return { outcome: verdict };
    return { outcome: run.scope.aborted ? run.abortedOutcome() : timeIsUp(run, identity, answer.held) };
  }
}

interface Granted {
  readonly ok: true;
  readonly fence: number;
  /** The clock's time right before the call that was granted: from then on the lease counts. */
  readonly claimedAt: number;
}
type Refused = Extract<SetResult, { ok: false }>;

/** The calls of this run that may be granted the slot; a run that waits makes many. */
interface UnderWay {
  /** Is one of them awaited? */
  asking: boolean;
  /** Was one granted that was no longer awaited? While another is, that may be its echo; if the other is refused, it holds the key for nobody. */
  stray: boolean;
}

/** One claim. A call that failed may have taken effect: it is made again as the same owner, who is then granted what he holds. */
async function askForSlot(
  run: Run,
  options: Idempotency,
  identity: Identity,
  store: Store,
  underWay: UnderWay,
): Promise<Granted | Refused | { readonly error: Error }> {
  const { key, fingerprint } = identity;
  const value = writeSlot({ state: "processing", details: { run: run.runId, ...(fingerprint !== undefined && { fingerprint }) } });
  const claim = { ttlMs: options.leaseMs, nx: true, owner: run.runId };
  const limitMs = Math.min(storeTimeoutMs(), options.leaseMs); // a claim longer under way than its own lease would be worth nothing
  underWay.asking = true;
  // A grant that comes late is given back, unless it is only the echo of one that is held, or may be by the call that is under way.
  const clearUp = (late: SetResult): void => {
    if (!late.ok || run.holdsClaim) return;
    if (underWay.asking) underWay.stray = true;
    else giveBack(run, store, key);
  };
  for (let failures = 0; ;) {
    const claimedAt = run.clock.now();
    try {
      const answer = await withinTime(run.clock, limitMs, () => store.set(key, value, claim), clearUp);
      underWay.asking = false;
      if (!answer.ok) return answer;
      run.holdsClaim = true;
      return { ok: true, fence: answer.fence, claimedAt };
    } catch (thrown) {
      const error = toError(thrown);
      announce(run, "idempotency_store_error")?.({ operation: "claim", idempotencyKey: key, error });
      failures += 1;
      underWay.asking = failures <= REPEATS && !run.scope.aborted;
      if (!underWay.asking) return { error };
      await sleep(run.clock, PAUSE_MS, run.scope);
    }
  }
}

function startLease(run: Run, options: Idempotency, { key }: Identity, store: Store, { fence, claimedAt }: Granted): Lease {
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

/** The claim was granted while the process began to shut down. */
function giveUp(run: Run, { key }: Identity, store: Store): Claiming {
  run.holdsClaim = false;
  giveBack(run, store, key);
  return { outcome: shuttingDown(run) };
}

/** The claim could not be made, as far as this run can tell; if it was made all the same, it is given back. */
function unavailable(run: Run, options: Idempotency, { key }: Identity, store: Store, cause: Error): Claiming {
  giveBack(run, store, key);
  if (run.scope.cancelled) return { outcome: run.abortedOutcome() };
  if (options.onStoreError === "run") return { unprotected: true };
  const error = new StoreUnavailableError(`${run.plan.name} did not run: its key ${key} could not be claimed (${messageOf(cause)})`, {
    cause,
  });
  const outcome: FailedOutcome = {
    status: "failed",
    by: "refused",
    error,
    reason: error.message,
    retryable: true,
    metadata: { code: "store_unavailable", idempotencyKey: key },
  };
  return { outcome };
}

/** In the background, and as the owner: nobody else's claim can be hit, and nobody waits for it. If it fails, the lease ends by itself. */
function giveBack(run: Run, store: Store, key: string): void {
  withinTime(run.clock, storeTimeoutMs(), () => store.delete(key, { owner: run.runId })).catch(() => undefined);
}

function shuttingDown(run: Run): FailedOutcome {
  const error = new ShutdownError(`${run.plan.name} did not run: the process is shutting down`);
  return { status: "failed", by: "refused", error, reason: error.message, retryable: true, metadata: { code: "aborted" } };
}
