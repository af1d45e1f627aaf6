import type { Invariant } from "./invariants.js";
import type { Change } from "./library.js";

/** One way to break the protocol, and the scenario and the invariants that must show it. */
export interface Mutation {
  readonly name: string;
  readonly changes: readonly Change[];
  readonly scenario: string;
  /** Any of these may be the first to fail. */
  readonly caughtBy: readonly Invariant[];
}

export const OWNER: readonly Invariant[] = ["nobody but the owner changes a slot", "a stale write is refused"];
