import type { CallerPlan, Scenario } from "../scenario.js";
import { ALL, ANSWERED, ANY_END, CALLS, LEASE, LOCK, OPTIONS, PATIENT_LOCK, PROCESSES, WAITING } from "./parts.js";

const NOTIFIES: CallerPlan = { inner: { task: "Notify" } };
const NOTIFIES_AND_LISTENS: CallerPlan = { ...NOTIFIES, listens: true };
const NOTIFIER: CallerPlan = { task: "Notify" };
const AGAIN: CallerPlan = { inner: {} };

/** A run whose work executes another task, on another key or on its own. */
export const nested: readonly Scenario[] = [
  {
    name: "claims inside claims",
    tasks: { Charge: { idempotency: OPTIONS }, Notify: { idempotency: OPTIONS } },
    callers: [NOTIFIES, NOTIFIES],
    faults: ALL,
    quick: { depth: 8, faults: 1 },
    long: { depth: 9, faults: 2 },
  },
  {
    name: "another run at the inner key",
    tasks: { Charge: { idempotency: OPTIONS }, Notify: { idempotency: WAITING } },
    callers: [{ inner: { ...NOTIFIER, ...ANY_END } }, NOTIFIER],
    faults: PROCESSES,
    quick: { depth: 8, faults: 1 },
    long: { depth: 9, faults: 2 },
  },
  {
    name: "an outer claim that is lost, and work inside that does not listen",
    tasks: { Charge: { idempotency: { ...OPTIONS, maxHold: LEASE } }, Notify: { idempotency: OPTIONS } },
    callers: [NOTIFIES, NOTIFIER],
    faults: ["block", "slow"],
    hits: ["renew", "delete"],
    quick: { depth: 9, faults: 1 },
    long: { depth: 10, faults: 2 },
  },
  {
    name: "an outer claim that is lost, and work that listens",
    tasks: { Charge: { idempotency: { ...OPTIONS, maxHold: LEASE } }, Notify: { idempotency: OPTIONS } },
    callers: [{ ...NOTIFIES_AND_LISTENS, inner: { ...NOTIFIER, listens: true } }, NOTIFIER],
    faults: ["block", "slow"],
    hits: ["renew", "delete"],
    quick: { depth: 8, faults: 1 },
    long: { depth: 9, faults: 2 },
  },
  {
    name: "an operator frees the outer slot",
    tasks: { Charge: { idempotency: OPTIONS }, Notify: { idempotency: OPTIONS } },
    callers: [NOTIFIES, NOTIFIES],
    operator: true,
    faults: ANSWERED,
    quick: { depth: 10, faults: 0 },
    long: { depth: 11, faults: 1 },
  },
  {
    name: "a lock inside a claim",
    tasks: { Charge: { idempotency: OPTIONS }, Notify: { lock: PATIENT_LOCK } },
    callers: [NOTIFIES, NOTIFIER],
    faults: ALL,
    quick: { depth: 7, faults: 1 },
    long: { depth: 8, faults: 2 },
  },
  {
    name: "a claim inside a lock",
    tasks: { Charge: { lock: LOCK }, Notify: { idempotency: OPTIONS } },
    callers: [NOTIFIES, NOTIFIES],
    faults: CALLS,
    quick: { depth: 8, faults: 1 },
    long: { depth: 9, faults: 2 },
  },
  {
    name: "the same key inside itself, and duplicates wait",
    tasks: { Charge: { idempotency: WAITING } },
    callers: [AGAIN, AGAIN],
    faults: ALL,
    quick: { depth: 8, faults: 1 },
    long: { depth: 9, faults: 2 },
  },
  {
    name: "the same lock inside itself, and others wait",
    tasks: { Charge: { lock: PATIENT_LOCK } },
    callers: [AGAIN, AGAIN],
    faults: ALL,
    quick: { depth: 7, faults: 1 },
    long: { depth: 9, faults: 2 },
  },
  {
    name: "the same key inside a run that works without its claim",
    tasks: { Charge: { idempotency: { ...OPTIONS, onStoreError: "run" } } },
    callers: [AGAIN],
    faults: CALLS,
    hits: ["claim", "delete"],
    quick: { depth: 9, faults: 2 },
    long: { depth: 10, faults: 3 },
  },
  {
    name: "a shutdown around runs inside runs",
    tasks: { Charge: { idempotency: OPTIONS }, Notify: { lock: LOCK } },
    callers: [NOTIFIES],
    shutdown: 0,
    faults: CALLS,
    quick: { depth: 10, faults: 0 },
    long: { depth: 11, faults: 1 },
  },
];
