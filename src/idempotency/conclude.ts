import type { Lease } from "../claims/lease.js";
import { storeTimeoutMs } from "../claims/store-of.js";
import { AbortScope } from "../support/abort.js";
import { sleep } from "../support/sleep.js";
import { toError } from "../support/thrown.js";
import type { StoreEntry } from "../stores/store.js";
import { announce } from "../task/observers.js";
import type { Outcome } from "../task/outcome.js";
import type { Run } from "../task/run.js";
import type { Identity } from "./identity.js";
import type { Idempotency } from "./options.js";
import { readSlot, writeSlot } from "./slot.js";

/** The first pause before a completion is written again, in milliseconds; each further one is twice as long. */
const FIRST_PAUSE_MS = 50;
/** For how many times the store's time limit a completion is tried, if the lease lasts. */
const PATIENCE = 3;

/**
 * Marks the slot as completed, as its owner. The work is done and the result is a success, whatever becomes of this write: nothing
 * here may turn it into a failure, or free the slot for a second run.
 */
export async function complete(run: Run, options: Idempotency, identity: Identity, lease: Lease): Promise<void> {
  const { key, fingerprint } = identity;
  const output = run.encodedOutput;
  const details = { run: run.runId, ...(fingerprint !== undefined && { fingerprint }), ...(output !== undefined && { output }) };
  const value = writeSlot({ state: "completed", details });
  lease.concluding();
  const giveUpAt = run.clock.now() + Math.min(lease.remainingMs, PATIENCE * storeTimeoutMs());
  for (let pauseMs = FIRST_PAUSE_MS, unsure = false; ; pauseMs *= 2) {
    try {
      const answer = await lease.write(value, options.ttlMs);
      if (!answer.ok && !((unsure || lease.remainingMs > 0) && isOwnCompletion(run, answer.held))) return superseded(run, lease);
      lease.stopRenewing();
      return announce(run, "idempotency_completed")?.({ idempotencyKey: key });
    } catch (thrown) {
      unsure = true; // the write may have taken effect; written again, it does no harm
      announce(run, "idempotency_store_error")?.({ operation: "complete", idempotencyKey: key, error: toError(thrown) });
      if (run.clock.now() + pauseMs >= giveUpAt) return lease.stopRenewing();
      await sleep(run.clock, pauseMs, UNHURRIED);
    }
  }
}

/** Frees the slot, as its owner. A failure of this hides nothing: the outcome stays what it is, and the lease ends by itself. */
export async function release(run: Run, { key }: Identity, lease: Lease, reason: "failed" | "skipped" | "shutdown"): Promise<void> {
  try {
    if ((await lease.release()) === "freed") announce(run, "idempotency_released")?.({ idempotencyKey: key, reason });
    else lease.lose("refused");
  } catch (thrown) {
    announce(run, "idempotency_store_error")?.({ operation: "release", idempotencyKey: key, error: toError(thrown) });
  }
}

export function releaseReason(outcome: Outcome): "failed" | "skipped" {
  return outcome.status === "skipped" ? "skipped" : "failed";
}

/** The slot is another's by now, or nobody's. The work was done all the same, and the result says both. */
function superseded(run: Run, lease: Lease): void {
  lease.lose("refused");
  run.note({ superseded: true });
}

/**
 * A first write whose answer was lost leaves a completed slot that nobody owns, and the second write is refused; we may have made
 * it, or the client, which sends unanswered calls again after a reconnect:
 *
 *     this run   |- set xx: done, answer lost   |- set xx: refused, held=completed
 *
 * That is done, unless the slot names another run. Within a live lease nobody else can have completed it.
 */
function isOwnCompletion(run: Run, held: StoreEntry | undefined): boolean {
  if (held === undefined) return false;
  const { state, details } = readSlot(held);
  return state === "completed" && (details.run === undefined || details.run === run.runId);
}

/** A completion is written also for a run that was called off: the work is done. */
const UNHURRIED = new AbortScope();
