import { acquire } from "../claims/acquire.js";
import { concluded, forgetLost } from "../claims/held-key.js";
import { orOutcome } from "../claims/keyed.js";
import { andThen, type Awaitable } from "../support/and-then.js";
import type { Layer, Step } from "../task/layer.js";
import { announce } from "../task/observers.js";
import type { Outcome } from "../task/outcome.js";
import type { Run } from "../task/run.js";
import { SlotClaim, type HeldSlot } from "./claim.js";
import { encodeOutput, type Encoded } from "./codec.js";
import { complete, releaseReason } from "./conclude.js";
import { identify } from "./identity.js";
import type { Idempotency } from "./options.js";

/**
 * The layer that lets one run through for each key: it claims the slot before the first attempt, holds it across all attempts and
 * the waits between them, and completes it after the output was verified, or frees it after the rollback.
 */
export function idempotencyLayer(options: Idempotency, taskName: string): Layer {
  return (next) => (run) =>
    andThen(
      orOutcome(run, () => identify(run, options, taskName)),
      (identified) => {
        if ("outcome" in identified) return identified.outcome;
        if ("bypass" in identified) return unprotected(run, next, identified.bypass);
        return acquire(new SlotClaim(run, options, identified), (slot) => {
          if ("outcome" in slot) return slot.outcome;
          return "bypass" in slot ? unprotected(run, next, slot.bypass) : underClaim(slot, options, next);
        });
      },
    );
}

function unprotected(run: Run, next: Step, why: "gate" | "missing_key" | "store_error"): Awaitable<Outcome> {
  announce(run, "idempotency_bypassed")?.({ why });
  return next(run);
}

function underClaim(slot: HeldSlot, options: Idempotency, next: Step): Awaitable<Outcome> {
  announce(slot.run, "idempotency_claimed")?.({ idempotencyKey: slot.key });
  return andThen(next(slot.run), (outcome) => conclude(slot, options, outcome));
}

/** After a run was called off, its work may still have an effect on the way: the claim stays until the work has come to rest. */
function conclude(slot: HeldSlot, options: Idempotency, outcome: Outcome): Awaitable<Outcome> {
  const { run } = slot;
  const settled = (): Outcome => {
    concluded(slot);
    return outcome;
  };
  if (outcome.status === "success") return complete(slot, options, settled);
  if (run.aftermath === undefined) return andThen(free(slot, outcome), settled);
  run.aftermath = run.aftermath.then(() => andThen(free(slot, outcome), () => concluded(slot)));
  forgetLost(run);
  return outcome;
}

function free(slot: HeldSlot, outcome: Outcome): Awaitable<void> {
  slot.lease.concluding();
  return slot.freed ? undefined : slot.free(releaseReason(outcome));
}

/** The layer that makes an output ready to be kept for replay, where it can still fail the run and be rolled back. */
export function encodeLayer(options: Idempotency): Layer {
  return (next) => (run) =>
    andThen(next(run), (outcome) =>
      outcome.status !== "success" || run.claim === undefined
        ? outcome
        : andThen(encodeOutput(run, outcome, options.maxOutputBytes), (encoded) => kept(run, options, outcome, encoded)),
    );
}

function kept(run: Run, { onUnstorable }: Idempotency, outcome: Outcome, encoded: Encoded): Outcome {
  if ("text" in encoded) {
    run.encodedOutput = encoded.text;
    return outcome;
  }
  const { why, error } = encoded;
  if (run.claim !== undefined) announce(run, "idempotency_output_lost")?.({ idempotencyKey: run.claim.key, why, error });
  if (onUnstorable === "forget") return outcome;
  return { status: "failed", by: "error", error, reason: error.message, retryable: false, metadata: { code: "unstorable_output" } };
}
