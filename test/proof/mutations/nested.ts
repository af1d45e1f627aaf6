import type { Mutation } from "../mutation.js";

/** Runs inside runs that know too little of each other. */
export const nested: readonly Mutation[] = [
  {
    name: "the end of a run does not reach those inside it",
    changes: [
      {
        file: "support/abort.ts",
        find: `if (reason.inner === "cancel") scope.cancel(reason.value);`,
        replace: `if (reason.inner === "cancel") continue;`,
      },
    ],
    scenario: "an outer claim that is lost, and work inside that does not listen",
    caughtBy: ["a run ends those inside it"],
  },
  {
    name: "a run begins inside one that was told to stop",
    changes: [{ file: "support/abort.ts", find: "if (outer?.aborted === true) return this.cancel(outer.reason);", replace: "" }],
    scenario: "an outer claim that is lost, and work inside that does not listen",
    caughtBy: ["a run ends those inside it"],
  },
  {
    name: "a run waits for the run around it",
    changes: [{ file: "claims/asking.ts", find: "above.runId === owner &&", replace: "above.runId !== owner &&" }],
    scenario: "the same key inside itself, and duplicates wait",
    caughtBy: ["nobody waits for a run around it"],
  },
  {
    name: "a run waits for the lock of the run around it",
    changes: [{ file: "policies/lock-layer.ts", find: "isHeldAbove(run, key, held) ?", replace: "false ?" }],
    scenario: "the same lock inside itself, and others wait",
    caughtBy: ["nobody waits for a run around it"],
  },
  {
    name: "a run inside takes the key of the run around it",
    changes: [{ file: "claims/asking.ts", find: "nx: true, owner: this.run.runId }", replace: "nx: true, owner: this.run.chain.id }" }],
    scenario: "the same key inside itself, and duplicates wait",
    caughtBy: ["what is told is true", "an attempt begins under a live claim"],
  },
  {
    name: "the claim of a run that was called off inside another is forgotten",
    changes: [
      {
        file: "idempotency/idempotency.ts",
        find: "run.aftermath = run.aftermath.then(() => andThen(free(slot, outcome), () => concluded(slot)));",
        replace: "concluded(slot);",
      },
    ],
    scenario: "an outer claim that is lost, and work inside that does not listen",
    caughtBy: ["nothing is kept without a reason", "a run that has ended renews nothing"],
  },
];
