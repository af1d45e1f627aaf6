import type { Mutation } from "../mutation.js";

/** Work without a claim that is more, or less, than that. */
export const unprotected: readonly Mutation[] = [
  {
    name: "a run that works without a claim records its success",
    changes: [
      {
        file: "idempotency/idempotency.ts",
        find: `"bypass" in slot ? unprotected(run, next, slot.bypass)`,
        replace: `"bypass" in slot ? andThen(unprotected(run, next, slot.bypass), async (bare) => {
          await run.holds[0].store.set(identified.key, "completed", { ttlMs: 6_000, xx: true, owner: run.runId });
          return bare;
        })`,
      },
    ],
    scenario: "a store that fails at the claim, and work without it",
    caughtBy: ["a run without a claim writes nothing"],
  },
  {
    name: "a claim that was granted to a run that went on without it is kept",
    changes: [{ file: "claims/acquire.ts", find: "  acquiring.giveBack();\n  const { run }", replace: "  const { run }" }],
    scenario: "a store that fails at the claim, and work without it",
    caughtBy: ["nothing is kept without a reason"],
  },
  {
    name: "a claim that is granted after all is not given back",
    changes: [{ file: "claims/asking.ts", find: " this.giveBack();\n  };", replace: " void late;\n  };" }],
    scenario: "claims that are granted late, and work without them",
    caughtBy: ["nothing is kept without a reason"],
  },
  {
    name: "what is given back may be another's",
    changes: [{ file: "claims/asking.ts", find: "this.store.delete(this.key, { owner: runId })", replace: "this.store.delete(this.key)" }],
    scenario: "a store that fails at the claim, and work without it",
    caughtBy: ["nobody but the owner changes a slot"],
  },
  {
    name: "a single failure is enough to work without a claim",
    changes: [{ file: "claims/asking.ts", find: "const REPEATS = 1;", replace: "const REPEATS = 0;" }],
    scenario: "a store that fails at the claim, and work without it",
    caughtBy: ["a run goes without a claim only where its store failed it", "what is told is true"],
  },
  {
    name: "a run that was refused works without a claim",
    changes: [
      {
        file: "idempotency/idempotency.ts",
        find: 'if ("outcome" in slot) return slot.outcome;',
        replace: 'if ("outcome" in slot) return unprotected(run, next, "store_error");',
      },
    ],
    scenario: "a store that fails at the claim, and work without it",
    caughtBy: ["a run goes without a claim only where its store failed it", "what is told is true"],
  },
  {
    name: "a run without a claim says that it has one",
    changes: [
      {
        file: "idempotency/claim.ts",
        find: `if (this.#options.onStoreError === "run") return`,
        replace: `this.run.claim = { key: this.key, owner: this.run.runId, fence: 0 }; if (this.#options.onStoreError === "run") return`,
      },
    ],
    scenario: "a store that fails at the claim, and work without it",
    caughtBy: ["an attempt begins under a live claim", "no second success within retention"],
  },
  {
    name: "a run without a claim says that it is protected",
    changes: [
      {
        file: "idempotency/idempotency.ts",
        find: `announce(run, "idempotency_bypassed")?.({ why });`,
        replace: `announce(run, "idempotency_claimed")?.({ idempotencyKey: "" });`,
      },
    ],
    scenario: "a store that fails at the claim, and work without it",
    caughtBy: ["what is told is true"],
  },
];
