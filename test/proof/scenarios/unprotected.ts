import type { Scenario } from "../scenario.js";
import { ANY_END, CALLS, LOCK, OPTIONS, PATIENT_LOCK, PLAIN, WAITING } from "./parts.js";

const OPEN = { ...OPTIONS, onStoreError: "run" } as const;

/** `onStoreError: "run"`: a run whose claim could not be made works without one. */
export const unprotected: readonly Scenario[] = [
  {
    name: "a store that fails at the claim, and work without it",
    tasks: { Charge: { idempotency: OPEN } },
    callers: [ANY_END, PLAIN],
    faults: ["fail-before", "fail-after"],
    hits: ["claim", "delete"],
    quick: { depth: 8, faults: 2 },
    long: { depth: 9, faults: 3 },
  },
  {
    name: "claims that are granted late, and work without them",
    tasks: { Charge: { idempotency: OPEN } },
    callers: [PLAIN, PLAIN],
    faults: CALLS,
    hits: ["claim"],
    quick: { depth: 8, faults: 2 },
    long: { depth: 9, faults: 3 },
  },
  {
    name: "a claim that fails while another waits for it",
    tasks: { Charge: { idempotency: { ...WAITING, onStoreError: "run" } } },
    callers: [PLAIN, PLAIN],
    faults: ["fail-after", "slow"],
    hits: ["claim", "delete"],
    quick: { depth: 9, faults: 2 },
    long: { depth: 10, faults: 3 },
  },
  {
    name: "an event loop that stands still while claims are asked for, and work without them",
    tasks: { Charge: { idempotency: OPEN } },
    callers: [PLAIN, PLAIN],
    faults: ["block", "fail-after"],
    quick: { depth: 8, faults: 2 },
    long: { depth: 9, faults: 3 },
  },
  {
    name: "a lock that cannot be asked for, and work without it",
    tasks: { Charge: { lock: { ...PATIENT_LOCK, onStoreError: "run" } } },
    callers: [PLAIN, PLAIN],
    faults: ["fail-before", "fail-after", "slow"],
    hits: ["claim", "delete"],
    quick: { depth: 8, faults: 2 },
    long: { depth: 9, faults: 3 },
  },
  {
    name: "a lock that cannot be asked for around a claim that can",
    tasks: { Charge: { lock: { ...LOCK, onStoreError: "run" }, idempotency: OPTIONS } },
    callers: [PLAIN, PLAIN],
    faults: ["fail-before", "fail-after"],
    hits: ["claim"],
    quick: { depth: 9, faults: 2 },
    long: { depth: 10, faults: 3 },
  },
];
