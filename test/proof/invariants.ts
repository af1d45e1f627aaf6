/** What must hold in every state of every schedule. */
export type Invariant =
  | "a run at work holds the slot"
  | "an attempt begins under a live claim"
  | "at most one run is at work"
  | "nobody but the owner changes a slot"
  | "a stale write is refused"
  | "no second success within retention"
  | "no slot outlives its lease without its owner's renewal"
  | "a run that has ended renews nothing"
  | "a refused renewal stops the run"
  | "a duplicate changes nothing"
  | "a success is never released"
  | "a lock is taken before the claim"
  | "a freed key wakes who waits for it"
  | "a run goes without a claim only where its store failed it"
  | "a run without a claim writes nothing"
  | "what is told is true"
  | "a run ends those inside it"
  | "nobody waits for a run around it"
  | "every caller ends"
  | "the answer is true"
  | "nothing is kept without a reason"
  | "no slot is left behind without a fault";

/** An invariant that does not hold, and how it came to that. */
export interface Violation {
  readonly invariant: Invariant;
  readonly detail: string;
  readonly steps: readonly string[];
}
