import { storeTimeoutMs } from "../claims/store-of.js";
import { wakeAll } from "../claims/waiting.js";
import { AbortScope } from "../support/abort.js";
import { tryThen, type Awaitable } from "../support/and-then.js";
import { sleep } from "../support/sleep.js";
import { toError } from "../support/thrown.js";
import type { SetResult, StoreEntry } from "../stores/store.js";
import { announce } from "../task/observers.js";
import type { Outcome } from "../task/outcome.js";
import type { Run } from "../task/run.js";
import type { HeldSlot } from "./claim.js";
import type { Idempotency } from "./options.js";
import { readSlot, writeSlot } from "./slot.js";

/** The first pause before a completion is written again, in milliseconds; each further one is twice as long. */
const FIRST_PAUSE_MS = 50;
/** For how many times the store's time limit a completion is tried, if the lease lasts. */
const PATIENCE = 3;

/**
 * Marks the slot as completed, as its owner. The work is done and the result is a success, whatever becomes of this write: nothing
 * here may turn it into a failure, or free the slot for a second run. `next` goes on once nothing more is to be done for it.
 */
export function complete<R>(slot: HeldSlot, { ttlMs }: Idempotency, next: () => R): Awaitable<R> {
  const { run, lease, identity } = slot;
  const details = { run: run.runId, fingerprint: identity.fingerprint, output: run.encodedOutput };
  const value = writeSlot({ state: "completed", details });
  lease.concluding();
  const giveUpAt = Math.min(lease.heldUntil, run.clock.now() + PATIENCE * storeTimeoutMs());
  return tryThen(
    () => lease.write(value, ttlMs, (answer) => written(slot, answer, false)),
    next,
    (thrown) => writeAgain(slot, value, ttlMs, giveUpAt, thrown).then(next),
  );
}

/** A write that failed may have taken effect; made again, it does no harm. */
async function writeAgain(slot: HeldSlot, value: string, ttlMs: number, giveUpAt: number, thrown: unknown): Promise<void> {
  const { clock } = slot.run;
  let failure = thrown;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs *= 2) {
    slot.tellStoreError("complete", toError(failure));
    if (clock.now() + pauseMs >= giveUpAt) return slot.lease.stopRenewing();
    await sleep(clock, pauseMs, UNHURRIED);
    try {
      return await slot.lease.write(value, ttlMs, (answer) => written(slot, answer, true));
    } catch (again) {
      failure = again;
    }
  }
}

/** @param unsure Was there a write before it whose answer was lost? */
function written({ run, lease, key }: HeldSlot, answer: SetResult, unsure: boolean): void {
  if (!answer.ok && !((unsure || lease.remainingMs > 0) && isOwnCompletion(run, answer.held))) {
    // The slot is another's by now, or nobody's. The work was done all the same, and the result says both.
    lease.lose("refused");
    return run.note({ superseded: true });
  }
  lease.stopRenewing();
  wakeAll(key);
  announce(run, "idempotency_completed")?.({ idempotencyKey: key });
}

export function releaseReason(outcome: Outcome): "failed" | "skipped" {
  return outcome.status === "skipped" ? "skipped" : "failed";
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
