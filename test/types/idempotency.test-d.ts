/** `idempotentBy`: the forms of its resolver, its options, and where it can stand. */
import {
  idempotentBy,
  keyFor,
  literal,
  releaseSlot,
  shutdown,
  slots,
  type Claim,
  type Idempotency,
  type IdempotencyOptions,
  type ResolverFunction,
  type Segment,
  type SlotInfo,
  type Store,
} from "taskwright";
import { z } from "zod";
import type { Equal, Expect } from "./exact.js";
import { ApplicationTask, ChargeCard, Ping, Refund } from "./tasks.js";

// By the names of fields, of any parsed type.
@idempotentBy("orderId", { ttl: 600, lease: "30s", maxHold: "1h", namespace: "shop", onDuplicate: "replay", waitFor: 5 })
export class ByField extends ChargeCard {}
@idempotentBy(["currency", "orderId"], { onDuplicate: { processing: "wait", completed: "fail" }, onUnstorable: "fail" })
export class ByFields extends ChargeCard {}
@idempotentBy("by")
export class BySharedField extends Refund {}
const parts = ["orderId", "note"] as const;
@idempotentBy(parts)
export class ByList extends ChargeCard {}

// By a text, a function, an object.
@idempotentBy(literal("nightly"), { onMissingKey: "fail", onStoreError: "run", maxOutputBytes: 1_024, fingerprint: true })
export class ByText extends Ping {}
@idempotentBy((task: ChargeCard) => task.input.orderId)
@idempotentBy<ChargeCard>((task) => [task.input.orderId, task.input.amount, 7n])
@idempotentBy<ChargeCard>(async (task) => task.input.note)
@idempotentBy(function (this: ChargeCard) {
  return this.input.orderId;
})
export class ByFunction extends ChargeCard {}
export class ByTenant {
  readonly #tenant: string = "t1";
  call(task: ChargeCard): Segment {
    return [this.#tenant, task.input.orderId];
  }
}
idempotentBy(new ByTenant())(ChargeCard);
export const function_: ResolverFunction<ChargeCard> = (task) => task.input.orderId;
idempotentBy(function_)(ChargeCard);

// On a base, and changed below it.
@idempotentBy("requestId", { ttl: 60 })
export abstract class OncePerRequest extends ApplicationTask {}
@idempotentBy({ ttl: "24h", if: (task: Kept) => task.input.requestId !== "" })
export class Kept extends OncePerRequest.with({ input: z.object({ requestId: z.string() }) }) {
  work(): void {
    const { claim } = this;
    type _Claim = Expect<Equal<typeof claim, Claim | undefined>>;
    // @ts-expect-error: a run that steps aside has no claim
    void this.claim.key;
  }
}
@idempotentBy(false)
export class TurnedOff extends Kept {}
export type Configured = Expect<Equal<typeof Kept.idempotency, Idempotency | undefined>>;

// Resolvers
// @ts-expect-error: a misspelt field
@idempotentBy("orderID")
export class MisspeltField extends ChargeCard {}
// @ts-expect-error: a text that was meant as it stands, without literal()
@idempotentBy("nightly-report")
export class BareText extends ChargeCard {}
// @ts-expect-error: a number for a field
idempotentBy(42);
// @ts-expect-error: true turns nothing on
idempotentBy(true);
// @ts-expect-error: null clears a gate, not the resolver
idempotentBy(null);
// @ts-expect-error: neither resolver nor options
idempotentBy();
// @ts-expect-error: an object without call
idempotentBy({ resolve: () => "k" });
// @ts-expect-error: a fixed text that is none
literal(42);

// Options
// @ts-expect-error: a misspelt option
idempotentBy("orderId", { tll: 600 });
// @ts-expect-error: a misspelt option, alone
idempotentBy({ tll: 600 });
// @ts-expect-error: a time without a unit that exists
idempotentBy("orderId", { ttl: "10 minutes" });
// @ts-expect-error: a time that is none
idempotentBy("orderId", { ttl: true });
// @ts-expect-error: a rule that does not exist
idempotentBy("orderId", { onDuplicate: "ignore" });
// @ts-expect-error: to wait is a rule for what is processing only
idempotentBy("orderId", { onDuplicate: "wait" });
// @ts-expect-error: what is still processing cannot be replayed
idempotentBy("orderId", { onDuplicate: { processing: "replay" } });
// @ts-expect-error: what is completed need not be waited for
idempotentBy("orderId", { onDuplicate: { completed: "wait" } });
// @ts-expect-error: a state that does not exist
idempotentBy("orderId", { onDuplicate: { pending: "skip" } });
// @ts-expect-error: the name of a field for a fingerprint
idempotentBy("orderId", { fingerprint: "amount" });
// @ts-expect-error: a fingerprint that reads another task's input
@idempotentBy("orderId", { fingerprint: (task: Refund) => task.input.by })
export class OtherFingerprint extends ChargeCard {}
// @ts-expect-error: a word that does not exist
idempotentBy("orderId", { onMissingKey: "skip" });
// @ts-expect-error: a word of another option
idempotentBy("orderId", { onStoreError: "skip" });
// @ts-expect-error: a number that is a text
idempotentBy("orderId", { maxOutputBytes: "64k" });
// @ts-expect-error: a gate that answers later
idempotentBy("orderId", { if: async () => true });
// @ts-expect-error: options for what is turned off
idempotentBy(false, { ttl: 600 });
// @ts-expect-error: the store is set for a class or for all, not here
export const ownStore: IdempotencyOptions = { store: undefined };

// Where it cannot stand.
// @ts-expect-error: on a class that is no task
@idempotentBy("orderId")
export class NoTask {
  readonly input = { orderId: "" };
}
export class OnWork extends ChargeCard {
  // @ts-expect-error: on `work` instead of the class
  @idempotentBy("orderId")
  override async work() {
    return super.work();
  }
}
// @ts-expect-error: without its call
@idempotentBy
export class NotCalled extends Ping {}
// @ts-expect-error: the effective configuration is for reading
Kept.idempotency = undefined;

// For those who operate it.
declare const store: Store;
for await (const slot of slots(store, { task: Kept, state: "processing", olderThan: "5m" })) {
  type _Slot = Expect<Equal<typeof slot, SlotInfo>>;
  if (slot.owner !== undefined) await releaseSlot(slot.key, { owner: slot.owner, store });
  // @ts-expect-error: nobody may hold it any more
  await releaseSlot(slot.key, { owner: slot.owner });
}
export const key: string | undefined = await keyFor(Kept, { requestId: "r1" }, { idempotencyKey: "k" });
export const freed: readonly string[] = await shutdown({ grace: "10s" });
// @ts-expect-error: an input that is another task's
await keyFor(Kept, { orderId: "o1" });
// @ts-expect-error: a state that does not exist
slots(store, { state: "done" });
// @ts-expect-error: a slot is freed for its owner only
await releaseSlot("cmdx:idem:Kept:r1");
// @ts-expect-error: the grace period without its name
await shutdown(10);
