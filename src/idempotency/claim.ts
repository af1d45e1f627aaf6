import { acquire, keep } from "../claims/acquire.js";
import { Asking, type Granted } from "../claims/asking.js";
import { HeldKey } from "../claims/shutdown.js";
import type { Lease } from "../claims/lease.js";
import { storeUnavailable } from "../claims/store-of.js";
import { Waiting } from "../claims/waiting.js";
import { announce } from "../task/observers.js";
import type { Outcome } from "../task/outcome.js";
import type { Run } from "../task/run.js";
import { release } from "./conclude.js";
import { judge, timeIsUp } from "./duplicate.js";
import type { Identity } from "./identity.js";
import type { Idempotency } from "./options.js";
import { writeSlot } from "./slot.js";

/** A slot that is held for a run. */
export class HeldSlot extends HeldKey {
  readonly identity: Identity;

  constructor(run: Run, asking: Asking, lease: Lease, identity: Identity) {
    super(run, asking, lease);
    this.identity = identity;
  }

  free(reason: "failed" | "skipped" | "shutdown"): Promise<void> {
    return release(this.run, this.identity, this.lease, reason);
  }
}

/** No pause of a run that waits is longer, in milliseconds. */
const LONGEST_PAUSE_MS = 1_000;

/** Claims the slot, or answers why not: with the run's outcome, or `unprotected`. */
export async function claimSlot(
  run: Run,
  options: Idempotency,
  identity: Identity,
): Promise<HeldSlot | { readonly outcome: Outcome } | { readonly unprotected: true }> {
  const { key, fingerprint } = identity;
  const asking = new Asking(run, {
    key,
    value: writeSlot({ state: "processing", details: { run: run.runId, ...(fingerprint !== undefined && { fingerprint }) } }),
    leaseMs: options.leaseMs,
    onError: (error) => announce(run, "idempotency_store_error")?.({ operation: "claim", idempotencyKey: key, error }),
  });
  const acquired = await acquire(run, asking, {
    granted: (grant) => heldSlot(run, options, asking, grant, identity),
    waiting: new Waiting(run.clock, run.scope, options.waitForMs, LONGEST_PAUSE_MS),
    judge: (held) => judge(run, options, identity, held),
    timeIsUp: (held) => timeIsUp(run, identity, held),
  });
  if (!("error" in acquired)) return acquired;
  if (options.onStoreError === "run") return { unprotected: true };
  return { outcome: storeUnavailable(run, key, acquired.error, "idempotencyKey") };
}

function heldSlot(run: Run, { leaseMs, maxHoldMs }: Idempotency, asking: Asking, grant: Granted, identity: Identity): HeldSlot {
  const { key } = asking;
  run.claim = Object.freeze({ key, owner: run.runId, fence: grant.fence });
  const lease = keep(run, asking, grant, {
    leaseMs,
    maxHoldMs,
    onLost: (why) => announce(run, "idempotency_lost")?.({ idempotencyKey: key, why }),
    onRenewError: (error) => announce(run, "idempotency_store_error")?.({ operation: "renew", idempotencyKey: key, error }),
  });
  return new HeldSlot(run, asking, lease, identity);
}
