import { LEASE_MS, TTL_MS, type CallerPlan } from "../scenario.js";

/** What the scenarios are made of. */
export const LEASE = `${LEASE_MS}ms` as const;
export const OPTIONS = { ttl: `${TTL_MS}ms`, lease: LEASE } as const;
export const WAITING = { ...OPTIONS, onDuplicate: { processing: "wait", completed: "fail" }, waitFor: 8 } as const;

export const CALLS = ["fail-before", "fail-after", "slow", "late", "lost"] as const;
/** Where somebody asks the store who sets it no time limit. */
export const ANSWERED = ["fail-before", "fail-after", "slow", "late"] as const;
export const PROCESSES = ["crash", "block"] as const;
export const ALL = [...CALLS, "two-steps", ...PROCESSES] as const;

export const PLAIN: CallerPlan = {};
export const ANY_END: CallerPlan = { attempts: [["success", "failure", "halt"]] };

export const LOCK = { ttl: LEASE } as const;
/** Who waits for it sees it through: longer than a lock lives. */
export const PATIENT_LOCK = { ...LOCK, wait: 8 } as const;
