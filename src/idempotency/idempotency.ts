import { orOutcome } from "../claims/keyed.js";
import type { Layer, Step } from "../task/layer.js";
import { announce } from "../task/observers.js";
import type { Outcome } from "../task/outcome.js";
import type { Run } from "../task/run.js";
import { claimSlot } from "./claim.js";
import { encodeOutput } from "./codec.js";
import { complete, release, releaseReason } from "./conclude.js";
import { identify } from "./identity.js";
import type { Idempotency } from "./options.js";
import { concluded, hold, type HeldClaim } from "./shutdown.js";

/**
 * The layer that lets one run through for each key: it claims the slot before the first attempt, holds it across all attempts and
 * the waits between them, and completes it after the output was verified, or frees it after the rollback.
 */
export function idempotencyLayer(options: Idempotency, taskName: string): Layer {
  return (next) => async (run) => {
    const identified = await orOutcome(run, () => identify(run, options, taskName));
    if ("outcome" in identified) return identified.outcome;
    if ("bypass" in identified) return unprotected(run, next, identified.bypass);

    const claiming = await claimSlot(run, options, identified);
    if ("outcome" in claiming) return claiming.outcome;
    if ("unprotected" in claiming) return unprotected(run, next, "store_error");

    const claim: HeldClaim = { run, identity: identified, ...claiming, freed: false };
    hold(claim);
    announce(run, "idempotency_claimed")?.({ idempotencyKey: identified.key });
    const outcome = await next(run);
    await conclude(claim, options, outcome);
    return outcome;
  };
}

function unprotected(run: Run, next: Step, why: "gate" | "missing_key" | "store_error"): Promise<Outcome> {
  announce(run, "idempotency_bypassed")?.({ why });
  return next(run);
}

/** After a run was called off, its work may still have an effect on the way: the claim stays until the work has come to rest. */
async function conclude(claim: HeldClaim, options: Idempotency, outcome: Outcome): Promise<void> {
  const { run } = claim;
  if (outcome.status === "success") {
    await complete(run, options, claim.identity, claim.lease);
    concluded(claim);
  } else if (run.aftermath === undefined) {
    await free(claim, outcome);
  } else {
    run.aftermath = run.aftermath.then(() => free(claim, outcome));
  }
}

async function free(claim: HeldClaim, outcome: Outcome): Promise<void> {
  claim.lease.concluding();
  if (!claim.freed) await release(claim.run, claim.identity, claim.lease, releaseReason(outcome));
  concluded(claim);
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
