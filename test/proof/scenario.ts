import type { IdempotencyOptions } from "taskwright";

/** How an attempt of `work` may end. `halt` is a skip that the task itself decides. */
export type Ending = "success" | "failure" | "halt";

/** What may go wrong with a call on its way to the store and back. */
export type Fault =
  /** Not done, and rejected. */
  | "fail-before"
  /** Done, and rejected. */
  | "fail-after"
  /** Time passes before it is done. */
  | "slow"
  /** Done; its answer comes at any later time. */
  | "late"
  /** Done; its answer never comes. */
  | "lost"
  /** For a refused claim: what it lost to is looked up when the answer is delivered, and may have gone by then. */
  | "two-steps"
  /** For a process: it never runs again. */
  | "crash"
  /** For a process: its event loop stands still while time passes. */
  | "block";

export interface CallerPlan {
  /** The process it runs in, from 0. @default one of its own */
  readonly process?: number;
  /** The endings that are tried for each attempt; the last stands for all further ones. @default one success */
  readonly attempts?: readonly (readonly Ending[])[];
  /** Does its work throw the signal's reason when it is told to stop? @default false */
  readonly listens?: boolean;
  /** Another amount is another request under the same key. @default 1 */
  readonly amount?: number;
}

/** How far a search goes. */
export interface Bounds {
  /** Steps that are chosen; what is left of a schedule then goes its shortest way to the end. */
  readonly depth: number;
  /** Faults in one schedule. */
  readonly faults: number;
}

export interface Scenario {
  readonly name: string;
  readonly options: IdempotencyOptions;
  readonly callers: readonly CallerPlan[];
  /** How often an attempt that failed is made again, after a pause in milliseconds. */
  readonly retries?: { readonly limit: number; readonly delayMs: number };
  readonly faults: readonly Fault[];
  /** Somebody who operates the system looks at the slot once and frees it from whom he finds there. */
  readonly operator?: true;
  /** This process is told to shut down once. */
  readonly shutdown?: number;
  /** How fast the clock of each process runs. */
  readonly rates?: readonly number[];
  readonly quick: Bounds;
  readonly long: Bounds;
}

/** The key that all callers share. */
export const KEY = "cmdx:idem:Charge:pay_1";
export const LEASE_MS = 3_000;
export const TTL_MS = 6_000;
export const STORE_TIMEOUT_MS = 1_500;
