import { OWNER, type Mutation } from "../mutation.js";

export const claims: readonly Mutation[] = [
  {
    name: "a completion is written without asking who holds the slot",
    changes: [{ file: "stores/memory.ts", find: "|| (xx && owner !== undefined && held.owner !== owner)", replace: "" }],
    scenario: "an event loop that stands still for longer than a lease",
    caughtBy: OWNER,
  },
  {
    name: "a release is made without asking who holds the slot",
    changes: [
      { file: "stores/memory.ts", find: "|| (owner !== undefined && slot.owner !== owner)) return false", replace: ") return false" },
    ],
    scenario: "late calls of an owner whose time is over",
    caughtBy: OWNER,
  },
  {
    name: "a renewal does not ask who holds the slot",
    changes: [{ file: "stores/memory.ts", find: "|| slot.owner !== owner) return false", replace: ") return false" }],
    scenario: "an event loop that stands still for longer than a lease",
    caughtBy: OWNER,
  },
  {
    name: "a duplicate releases the slot",
    changes: [
      {
        file: "claims/acquire.ts",
        find: `return { outcome: verdict };`,
        replace: `return andThen(acquiring.store.delete(acquiring.key), () => ({ outcome: verdict }));`,
      },
    ],
    scenario: "two callers, duplicates are skipped",
    caughtBy: OWNER,
  },
  {
    name: "a run completes after the loss of its lease",
    changes: [{ file: "claims/lease.ts", find: "{ ttlMs, xx: true, owner }", replace: "{ ttlMs }" }],
    scenario: "an event loop that stands still for longer than a lease",
    caughtBy: OWNER,
  },
  {
    name: "a run goes on without a claim when the entry has vanished",
    changes: [
      {
        file: "claims/acquire.ts",
        find: "if (held === undefined) return { wait: undefined };",
        replace: "if (held === undefined) return taken(acquiring, { ok: true, fence: 0, claimedAt: acquiring.run.clock.now() });",
      },
    ],
    scenario: "a store that looks in a second step at what a claim lost to",
    caughtBy: ["what is told is true", "an attempt begins under a live claim"],
  },
  {
    name: "the claim is released between attempts",
    changes: [{ file: "task/layer.ts", find: `"lock", "idempotency"`, replace: `"lock", "retry", "idempotency"` }],
    scenario: "retries inside the claim",
    caughtBy: ["a run at work holds the slot", "the answer is true"],
  },
  {
    name: "the holder counts on a lease for longer than the store",
    changes: [{ file: "claims/lease.ts", find: "leaseMs - Math.ceil(leaseMs / 100) - 2", replace: "leaseMs + 100" }],
    scenario: "a run that hangs for longer than maxHold",
    caughtBy: ["a run at work holds the slot"],
  },
  {
    name: "a grant is taken however late it is seen",
    changes: [
      { file: "claims/asking.ts", find: "if (answer.ok && this.run.clock.now() - claimedAt >= this.#limitMs)", replace: "if (false)" },
      { file: "task/attempt.ts", find: "run.checkHolds();", replace: "" }, // it would notice, too
    ],
    scenario: "two callers, duplicates are skipped",
    caughtBy: ["an attempt begins under a live claim"],
  },
  {
    name: "a loss is not told to the work",
    changes: [{ file: "claims/held-key.ts", find: "run.scope.abort(error);", replace: "" }],
    scenario: "renewals that fail, and work that listens to its signal",
    caughtBy: ["a run at work holds the slot"],
  },
  {
    name: "a refused renewal is taken for a granted one",
    changes: [{ file: "claims/lease.ts", find: "if (!renewed) return this.#refused();", replace: "" }],
    scenario: "an operator frees the slot",
    caughtBy: ["a refused renewal stops the run"],
  },
  {
    name: "renewals go on after the end of a run",
    changes: [{ file: "idempotency/conclude.ts", find: "  lease.stopRenewing();\n  wakeAll", replace: "  wakeAll" }],
    scenario: "two callers, duplicates are skipped",
    caughtBy: ["a run that has ended renews nothing"],
  },
  {
    name: "a lost answer to a completion counts as a loss of the lease",
    changes: [
      {
        file: "idempotency/conclude.ts",
        find: "if (!answer.ok && !((unsure || lease.remainingMs > 0) && isOwnCompletion(run, answer.held)))",
        replace: "if (!answer.ok)",
      },
    ],
    scenario: "answers that are lost",
    caughtBy: ["the answer is true"],
  },
  {
    name: "a failed completion frees the slot",
    changes: [
      {
        file: "idempotency/conclude.ts",
        find: "if (clock.now() + pauseMs >= giveUpAt)",
        replace: "await slot.free('failed'); if (clock.now() + pauseMs >= giveUpAt)",
      },
    ],
    scenario: "two callers, duplicates are skipped",
    caughtBy: ["a success is never released"],
  },
];
