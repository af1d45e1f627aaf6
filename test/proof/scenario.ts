import type { IdempotencyOptions, LockOptions } from "taskwright";

/** How an attempt of `work` may end. `halt` is a skip that the task itself decides. */
export type Ending = "success" | "failure" | "halt";

/** What a call of the store asks for. */
export type Operation = "claim" | "complete" | "renew" | "delete" | "get";

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

/** The tasks of a program. */
export type TaskName = "Charge" | "Notify";

/** What protects a task. */
export interface Protection {
  readonly idempotency?: IdempotencyOptions;
  /** `wait` in seconds. */
  readonly lock?: LockOptions & { readonly wait?: number };
}

export interface CallerPlan {
  /** The task that it executes. @default "Charge" */
  readonly task?: TaskName;
  /** The process it runs in, from 0. @default one of its own */
  readonly process?: number;
  /** The endings that are tried for each attempt; the last stands for all further ones. @default one success */
  readonly attempts?: readonly (readonly Ending[])[];
  /** Does its work throw the signal's reason when it is told to stop? @default false */
  readonly listens?: boolean;
  /** Another amount is another request under the same key. @default 1 */
  readonly amount?: number;
  /** What its work executes, and waits for, before it ends. */
  readonly inner?: CallerPlan;
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
  readonly tasks: { readonly Charge: Protection; readonly Notify?: Protection };
  readonly callers: readonly CallerPlan[];
  /** How often an attempt that failed is made again, after a pause in milliseconds. */
  readonly retries?: { readonly limit: number; readonly delayMs: number };
  readonly faults: readonly Fault[];
  /** The calls that faults hit. @default all */
  readonly hits?: readonly Operation[];
  /** Somebody who operates the system looks at the slot once and frees it from whom he finds there. */
  readonly operator?: true;
  /** This process is told to shut down once. */
  readonly shutdown?: number;
  /** How fast the clock of each process runs. */
  readonly rates?: readonly number[];
  readonly quick: Bounds;
  readonly long: Bounds;
}

/** The slot of the first task, which the operator looks at. */
export const KEY = "cmdx:idem:Charge:pay_1";
export const LEASE_MS = 3_000;
export const TTL_MS = 6_000;
export const STORE_TIMEOUT_MS = 1_500;

/** The keys that a run of the task holds while it is at work, in the order in which it asks for them. */
export function keysOf({ tasks }: Scenario, task: TaskName): readonly string[] {
  const { lock, idempotency } = tasks[task] ?? {};
  return [...(lock === undefined ? [] : [`cmdx:lock:${task}:pay_1`]), ...(idempotency === undefined ? [] : [`cmdx:idem:${task}:pay_1`])];
}

/** A lock remembers nothing: it is free again after every run. */
export function isLock(key: string): boolean {
  return key.startsWith("cmdx:lock:");
}
