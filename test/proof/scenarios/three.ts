import type { Scenario } from "../scenario.js";
import { ALL, CALLS, OPTIONS, PATIENT_LOCK, PLAIN, PROCESSES, WAITING } from "./parts.js";

/** Three callers, and one fault. */
export const three: readonly Scenario[] = [
  {
    name: "three callers, duplicates are skipped, one fault",
    tasks: { Charge: { idempotency: OPTIONS } },
    callers: [PLAIN, PLAIN, PLAIN],
    faults: ALL,
    quick: { depth: 7, faults: 1 },
    long: { depth: 9, faults: 1 },
  },
  {
    name: "three callers, duplicates wait, one fault",
    tasks: { Charge: { idempotency: WAITING } },
    callers: [PLAIN, PLAIN, PLAIN],
    faults: PROCESSES,
    quick: { depth: 8, faults: 1 },
    long: { depth: 10, faults: 1 },
  },
  {
    name: "three callers of a lock, one fault",
    tasks: { Charge: { lock: PATIENT_LOCK } },
    callers: [PLAIN, PLAIN, PLAIN],
    faults: CALLS,
    quick: { depth: 7, faults: 1 },
    long: { depth: 9, faults: 1 },
  },
];
