import { isHeldAbove } from "../claims/asking.js";
import { tryThen, type Awaitable } from "../support/and-then.js";
import { DuplicateError, FingerprintMismatchError } from "../errors.js";
import { toError } from "../support/thrown.js";
import type { StoreEntry } from "../stores/store.js";
import { announce } from "../task/observers.js";
import type { FailedOutcome, Outcome } from "../task/outcome.js";
import type { Run } from "../task/run.js";
import { decodeOutput } from "./codec.js";
import type { Identity } from "./identity.js";
import type { Idempotency } from "./options.js";
import { readSlot, type CompletedSlot, type Slot } from "./slot.js";

/** What a run gets that lost to this entry. It only reads: a duplicate never touches the slot. */
export function judge(run: Run, options: Idempotency, identity: Identity, entry: StoreEntry): Awaitable<Outcome | "wait"> {
  const slot = readSlot(entry);
  if (isMismatch(identity, slot)) return mismatch(run, identity, slot);
  if (slot.state === "completed") return completedBefore(run, options, identity, entry, slot);
  const rule = options.onDuplicate.processing;
  if (rule === "wait" && isHeldAbove(run, identity.key, entry))
    return duplicate(run, "fail", identity, entry, " by a run around this one, so waiting for it would never end");
  return rule === "wait" ? "wait" : duplicate(run, rule, identity, entry);
}

/** The failure of a run that has waited in vain. */
export function timeIsUp(run: Run, identity: Identity, entry: StoreEntry): Outcome {
  return duplicate(run, "fail", identity, entry, ", and waitFor is over");
}

/** Decided before the state. A slot that carries no fingerprint, written by an older release say, cannot disagree. */
function isMismatch({ fingerprint }: Identity, { details }: Slot): boolean {
  return fingerprint !== undefined && details.fingerprint !== undefined && details.fingerprint !== fingerprint;
}

function mismatch(run: Run, { key }: Identity, { state }: Slot): FailedOutcome {
  announce(run, "idempotency_mismatch")?.({ idempotencyKey: key, state });
  const error = new FingerprintMismatchError(
    `The key ${key} was used before for another request; state=${state}. Give each request a key of its own.`,
  );
  const metadata = { code: "fingerprint_mismatch", idempotencyKey: key, state };
  return { status: "failed", by: "refused", error, reason: error.message, retryable: false, metadata };
}

function completedBefore(run: Run, options: Idempotency, identity: Identity, entry: StoreEntry, slot: CompletedSlot): Awaitable<Outcome> {
  const rule = options.onDuplicate.completed;
  if (rule !== "replay") return duplicate(run, rule, identity, entry);
  const skipped = duplicate(run, "skip", identity, entry);
  const { output: text } = slot.details;
  if (text === undefined) return skipped; // completed without output: there is nothing to replay
  return tryThen<unknown, Outcome>(
    () => decodeOutput(run, text),
    (output) => {
      announce(run, "idempotency_replayed")?.({ idempotencyKey: identity.key });
      return (run.verified = { status: "success", output, replayed: true, reason: skipped.reason, metadata: skipped.metadata });
    },
    (thrown) => {
      announce(run, "idempotency_output_lost")?.({ idempotencyKey: identity.key, why: "unreadable", error: toError(thrown) });
      return skipped;
    },
  );
}

function duplicate(run: Run, rule: "skip" | "fail", { key }: Identity, entry: StoreEntry, addition = ""): Outcome {
  const { state, details } = readSlot(entry);
  announce(run, "idempotency_duplicate")?.({ code: "duplicate", idempotencyKey: key, state });
  const first = entry.owner ?? details.run;
  const metadata: Record<string, unknown> = { code: "duplicate", idempotencyKey: key, state };
  if (first !== undefined) metadata["firstRunId"] = first;
  if (state === "processing" && Number.isFinite(entry.expiresInMs)) metadata["retryAfterMs"] = Math.ceil(entry.expiresInMs);
  const reason = `duplicate of ${key}; state=${state}${state === "processing" ? addition : ""}`;
  if (rule === "skip") return { status: "skipped", reason, metadata };
  return { status: "failed", by: "refused", error: new DuplicateError(reason), reason, retryable: state === "processing", metadata };
}
