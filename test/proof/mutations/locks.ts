import { OWNER, type Mutation } from "../mutation.js";

/** Locks that are broken. */
export const locks: readonly Mutation[] = [
  {
    name: "a lock is freed without asking who holds it",
    changes: [{ file: "claims/lease.ts", find: "() => store.delete(key, { owner })", replace: "() => store.delete(key)" }],
    scenario: "a crash under the lock, and a takeover once its life is over",
    caughtBy: OWNER,
  },
  {
    name: "a lost lock frees whatever stands there",
    changes: [
      { file: "claims/lease.ts", find: "if (this.lost || this.remainingMs <= 0) return", replace: "if (await store.delete(key)) return" },
    ],
    scenario: "an event loop that stands still for longer than a lock lives",
    caughtBy: OWNER,
  },
  {
    name: "the loss of a lock is not told to the work",
    changes: [{ file: "claims/held-key.ts", find: "run.scope.abort(error);", replace: "" }],
    scenario: "renewals of a lock that fail, and work that listens to its signal",
    caughtBy: ["a run at work holds the slot"],
  },
  {
    name: "a lock is not freed when the work has failed",
    changes: [
      {
        file: "policies/lock-layer.ts",
        find: "andThen(conclude(lock), () => outcome)",
        replace: `andThen(outcome.status === "failed" ? concluded(lock) : conclude(lock), () => outcome)`,
      },
    ],
    scenario: "a lock, and nobody waits",
    caughtBy: ["nothing is kept without a reason"],
  },
  {
    name: "who loses a lock goes on after its wait",
    changes: [
      {
        file: "policies/lock-layer.ts",
        find: `if ("outcome" in lock) return lock.outcome;`,
        replace: `if ("outcome" in lock) return next(run);`,
      },
    ],
    scenario: "a lock, and nobody waits",
    caughtBy: ["a run goes without a claim only where its store failed it"],
  },
  {
    name: "a wait ends after the first refusal",
    changes: [
      {
        file: "claims/acquire.ts",
        find: "held !== undefined && !(await waiting.pause(key, held.expiresInMs))",
        replace: "held !== undefined",
      },
    ],
    scenario: "a lock, and the other waits",
    caughtBy: ["the answer is true"],
  },
  {
    name: "a key that is granted anew while it is freed is kept",
    changes: [{ file: "claims/held-key.ts", find: "key.asking.giveUp();", replace: "" }],
    scenario: "a claim that is overtaken by its own repetition and by the release",
    caughtBy: ["nothing is kept without a reason", "what is told is true"],
  },
  {
    name: "what is granted anew while a key is let go is kept",
    changes: [{ file: "claims/asking.ts", find: "this.#asking || isBeingFreed", replace: "this.#asking" }],
    scenario: "a claim that is overtaken by its own repetition and by the release",
    caughtBy: ["nothing is kept without a reason"],
  },
  {
    name: "a freed lock wakes nobody",
    changes: [{ file: "claims/lease.ts", find: "wakeFirst(key);", replace: "" }],
    scenario: "three callers of a lock in one process, and its shutdown",
    caughtBy: ["a freed key wakes who waits for it"],
  },
  {
    name: "a shutdown leaves locks behind",
    changes: [{ file: "claims/shutdown.ts", find: `left.map(async (key) => key.free("shutdown"))`, replace: "[]" }],
    scenario: "three callers of a lock in one process, and its shutdown",
    caughtBy: ["nothing is kept without a reason"],
  },
  {
    name: "a claim is made before the lock is taken",
    changes: [{ file: "task/layer.ts", find: `"lock", "idempotency"`, replace: `"idempotency", "lock"` }],
    scenario: "a lock around a claim",
    caughtBy: ["a lock is taken before the claim"],
  },
];
