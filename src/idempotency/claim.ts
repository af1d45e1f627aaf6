import type { KeyPolicy, WithoutKey } from "../claims/acquire.js";
import { Asking, type Granted } from "../claims/asking.js";
import type { LossReason } from "../claims/lease.js";
import { HeldKey, type FreeReason } from "../claims/held-key.js";
import { storeUnavailable } from "../claims/store-of.js";
import type { Awaitable } from "../support/and-then.js";
import type { StoreEntry } from "../stores/store.js";
import { announce } from "../task/observers.js";
import type { Outcome } from "../task/outcome.js";
import type { Run } from "../task/run.js";
import { judge, timeIsUp } from "./duplicate.js";
import type { Identity } from "./identity.js";
import type { Idempotency } from "./options.js";
import { writeSlot } from "./slot.js";

/** No pause of a run that waits is longer, in milliseconds. */
const LONGEST_PAUSE_MS = 1_000;

/** How a run claims its slot. */
export class SlotClaim extends Asking implements KeyPolicy<HeldSlot> {
  readonly #options: Idempotency;
  readonly #identity: Identity;

  constructor(run: Run, options: Idempotency, identity: Identity) {
    const { key, fingerprint } = identity;
    super(run, key, writeSlot({ state: "processing", details: { run: run.runId, fingerprint } }), options.leaseMs);
    this.#options = options;
    this.#identity = identity;
  }

  get waitMs(): number {
    return this.#options.waitForMs;
  }

  get longestPauseMs(): number {
    return LONGEST_PAUSE_MS;
  }

  granted(grant: Granted): HeldSlot {
    const { run, key } = this;
    run.claim = { key, owner: run.runId, fence: grant.fence };
    return new HeldSlot(this, grant, this.#options, this.#identity);
  }

  judge(held: StoreEntry): Awaitable<Outcome | "wait"> {
    return judge(this.run, this.#options, this.#identity, held);
  }

  timeIsUp(held: StoreEntry): Outcome {
    return timeIsUp(this.run, this.#identity, held);
  }

  withoutStore(error: Error): WithoutKey {
    if (this.#options.onStoreError === "run") return { bypass: "store_error" };
    return { outcome: storeUnavailable(this.run, this.key, error, "idempotencyKey") };
  }

  protected tellStoreError(error: Error): void {
    announce(this.run, "idempotency_store_error")?.({ operation: "claim", idempotencyKey: this.key, error });
  }
}

/** A slot that is held for a run. */
export class HeldSlot extends HeldKey {
  readonly identity: Identity;

  constructor(asking: Asking, grant: Granted, options: Idempotency, identity: Identity) {
    super(asking, grant, options);
    this.identity = identity;
  }

  protected tellLost(why: LossReason): void {
    announce(this.run, "idempotency_lost")?.({ idempotencyKey: this.key, why });
  }

  protected tellFreed(reason: FreeReason): void {
    announce(this.run, "idempotency_released")?.({ idempotencyKey: this.key, reason });
  }

  tellStoreError(operation: "renew" | "complete" | "release", error: Error): void {
    announce(this.run, "idempotency_store_error")?.({ operation, idempotencyKey: this.key, error });
  }
}
