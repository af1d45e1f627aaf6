import { concluded, forgetLost } from "../claims/shutdown.js";
import { orOutcome } from "../claims/keyed.js";
import type { Layer, Step } from "../task/layer.js";
import { announce } from "../task/observers.js";
import type { Outcome } from "../task/outcome.js";
import type { Run } from "../task/run.js";
import { claimSlot, type HeldSlot } from "./claim.js";
import { encodeOutput } from "./codec.js";
import { complete, releaseReason } from "./conclude.js";
import { identify } from "./identity.js";
import type { Idempotency } from "./options.js";

/**
 * The layer that lets one run through for each key: it claims the slot before the first attempt, holds it across all attempts and
 * the waits between them, and completes it after the output was verified, or frees it after the rollback.
 */
export function idempotencyLayer(options: Idempotency, taskName: string): Layer {
  return (next) => async (run) => {
    const identified = await orOutcome(run, () => identify(run, options, taskName));
    if ("outcome" in identified) return identified.outcome;
    if ("bypass" in identified) return unprotected(run, next, identified.bypass);

    const slot = await claimSlot(run, options, identified);
    if ("outcome" in slot) return slot.outcome;
    if ("unprotected" in slot) return unprotected(run, next, "store_error");

    announce(run, "idempotency_claimed")?.({ idempotencyKey: identified.key });
    const outcome = await next(run);
    await conclude(slot, options, outcome);
    return outcome;
  };
}

function unprotected(run: Run, next: Step, why: "gate" | "missing_key" | "store_error"): Promise<Outcome> {
  announce(run, "idempotency_bypassed")?.({ why });
  return next(run);
}

/** After a run was called off, its work may still have an effect on the way: the claim stays until the work has come to rest. */
async function conclude(slot: HeldSlot, options: Idempotency, outcome: Outcome): Promise<void> {
  const { run } = slot;
  if (outcome.status === "success") {
    await complete(run, options, slot.identity, slot.lease);
    concluded(slot);
  } else if (run.aftermath === undefined) {
    await free(slot, outcome);
  } else {
    run.aftermath = run.aftermath.then(() => free(slot, outcome));
    forgetLost(run);
  }
}

async function free(slot: HeldSlot, outcome: Outcome): Promise<void> {
  slot.lease.concluding();
  if (!slot.freed) await slot.free(releaseReason(outcome));
  concluded(slot);
}

/** The layer that makes an output ready to be kept for replay, where it can still fail the run and be rolled back. */
export function encodeLayer(options: Idempotency): Layer {
  return (next) => async (run) => {
    const outcome = await next(run);
    if (outcome.status !== "success" || run.claim === undefined) return outcome;
    const encoded = await encodeOutput(run, outcome, options.maxOutputBytes);
    if ("text" in encoded) {
      run.encodedOutput = encoded.text;
      return outcome;
    }
    const { why, error } = encoded;
    announce(run, "idempotency_output_lost")?.({ idempotencyKey: run.claim.key, why, error });
    if (options.onUnstorable === "forget") return outcome;
    return { status: "failed", by: "error", error, reason: error.message, retryable: false, metadata: { code: "unstorable_output" } };
  };
}
