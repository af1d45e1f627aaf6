import type { Answer, Call } from "./calls.js";
import type { Caller } from "./caller.js";
import { LEASE_MS, STORE_TIMEOUT_MS, TTL_MS } from "./scenario.js";
import type { Slot, World } from "./world.js";

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
  | "every caller ends"
  | "the answer is true"
  | "no slot is left behind without a fault";

/** An invariant that does not hold, and how it came to that. */
export interface Violation {
  readonly invariant: Invariant;
  readonly detail: string;
  readonly steps: readonly string[];
}

interface Success {
  readonly run: string;
  readonly until: number;
}

/** Watches over a schedule from outside: it sees the store, the calls and the work, and believes nobody. */
export class Ledger {
  /** The first invariant that did not hold. */
  violation: Violation | undefined;
  readonly #world: World;
  /** Successes as the slot has recorded them. */
  readonly successes: Success[] = [];
  /** Runs that were granted the slot, and those that changed it. */
  readonly granted = new Set<string>();
  readonly changed = new Set<string>();
  /** Runs of which a call took effect after its time limit, when nobody waited for it any more. */
  readonly overtaken = new Set<string>();

  constructor(world: World) {
    this.#world = world;
  }

  fail(invariant: Invariant, detail: string): void {
    this.violation ??= { invariant, detail, steps: [...this.#world.steps] };
  }

  /** What it knows beyond the state that it watches. */
  key(): string {
    const { callers } = this.#world;
    const robbed = callers.filter(({ wasRobbed }) => wasRobbed).map(({ name, robbed: unaware }) => `${name}${unaware ? "!" : ""}`);
    return [
      ...this.successes.map(({ run, until }) => `${run}${until}`),
      "-",
      ...robbed,
      "-",
      ...this.granted,
      "-",
      ...this.changed,
      "-",
      ...this.overtaken,
    ].join();
  }

  /** Did a success of this caller reach the slot, and was it still there at that time? */
  recorded({ name }: Caller, at = 0): boolean {
    return this.successes.some(({ run, until }) => run === name && at < until);
  }

  onSent(call: Call): void {
    const caller = this.#world.callerOf(call.owner);
    if (call.operation === "renew" && caller?.state === "ended" && caller.attempt === undefined)
      this.fail("a run that has ended renews nothing", `${caller.name} has its answer and sends a renewal`);
  }

  /** An attempt of `work` begins. */
  onAttempt(caller: Caller): void {
    const { slot } = this.#world;
    const [live] = this.successes.filter(({ until }) => this.#world.now < until);
    if (live !== undefined) this.fail("no second success within retention", `${caller.name} begins to work after a success of ${live.run}`);
    if (!this.granted.has(caller.name))
      this.fail("an attempt begins under a live claim", `${caller.name} works and never was granted the slot`);
    if (slot?.owner !== caller.runId && !caller.robbed)
      this.fail("an attempt begins under a live claim", `${caller.name} begins to work, and the slot is ${this.#holder(slot)}`);
  }

  /** A call has taken effect. */
  onEffect(call: Call, before: Slot | undefined, answer: unknown, after: Slot | undefined): void {
    if (call.operation === "get") return;
    const isChange = !isSame(before, after);
    const name = this.#world.callerOf(call.owner)?.name ?? "nobody";
    if (this.#world.now - call.sentAt >= STORE_TIMEOUT_MS) this.overtaken.add(name);
    if (isChange) this.#onChange(call, name, before, after);
    this.#onGranted(call, name, answer, before, isChange);
    if (after?.owner !== undefined && after.expiresAt > this.#world.now + LEASE_MS)
      this.fail("no slot outlives its lease without its owner's renewal", `the claim of ${name} lives until ${after.expiresAt}`);
    if (after !== undefined && after.owner === undefined && after.expiresAt > this.#world.now + TTL_MS)
      this.fail("no slot outlives its lease without its owner's renewal", `the slot lives until ${after.expiresAt} and is nobody's`);
  }

  #onChange(call: Call, name: string, before: Slot | undefined, after: Slot | undefined): void {
    const { now } = this.#world;
    const what = `${name}'s ${call.operation} changed a slot that was ${this.#holder(before)}`;
    this.changed.add(name);
    if (before === undefined && call.operation !== "claim") this.fail("nobody but the owner changes a slot", what);
    if (before !== undefined && (before.owner === undefined || before.owner !== call.owner))
      this.fail("nobody but the owner changes a slot", what);
    const holder = this.#world.callerOf(before?.owner);
    if (holder !== undefined && call.process !== holder.process && call.operation === "delete") {
      holder.robbed = true;
      holder.wasRobbed = true;
    }
    if (
      call.operation === "delete" &&
      holder?.ending === "success" &&
      holder.state === "running" &&
      !holder.wasRobbed &&
      holder.signal?.aborted !== true
    )
      this.fail("a success is never released", `${name} freed the slot after its work had succeeded`);
    if (call.operation !== "complete" || after?.owner !== undefined || after === undefined) return;
    const [first] = this.successes.filter(({ until }) => now < until);
    if (first !== undefined) this.fail("no second success within retention", `${name} records a success after one of ${first.run}`);
    this.successes.push({ run: name, until: after.expiresAt });
  }

  #onGranted(call: Call, name: string, answer: unknown, before: Slot | undefined, isChange: boolean): void {
    const granted = answer === true || (typeof answer === "object" && answer !== null && "ok" in answer && answer.ok === true);
    if (!granted) {
      if (isChange) this.fail("a stale write is refused", `${name}'s ${call.operation} was refused and changed the slot`);
      return;
    }
    if (call.operation === "claim") this.granted.add(name);
    else if (before?.owner === undefined || before.owner !== call.owner)
      this.fail("a stale write is refused", `${name}'s ${call.operation} was granted, and the slot was ${this.#holder(before)}`);
  }

  /** An answer has reached its process, and what follows from it has happened. */
  onDelivered(call: Call, answer: Answer): void {
    if (call.operation !== "renew" || !("value" in answer) || answer.value !== false) return;
    const caller = this.#world.callerOf(call.owner);
    if (caller === undefined) return;
    const isLate = this.#world.now - call.sentAt >= STORE_TIMEOUT_MS; // nobody waits for it any more
    if (caller.atWork && !isLate) this.fail("a refused renewal stops the run", `${caller.name} works on after its renewal was refused`);
    if (!isLate) caller.robbed = false; // from now on it knows
  }

  /** After every step: what must be so in any state. */
  onStep(): void {
    const { callers, slot } = this.#world;
    const atWork = callers.filter((caller) => this.#isAnswerable(caller));
    for (const caller of atWork) {
      if (slot?.owner !== caller.runId)
        this.fail("a run at work holds the slot", `${caller.name} is at work, and the slot is ${this.#holder(slot)}`);
    }
    if (atWork.length > 1) this.fail("at most one run is at work", atWork.map(({ name }) => name).join(" and "));
  }

  /** A run whose process stands still, or has yet to hear its timers, cannot know of a loss; nor one that was freed in its own name. */
  #isAnswerable({ atWork, process, robbed }: Caller): boolean {
    return atWork && process.awake && process.nextDue > this.#world.now && !robbed;
  }

  #holder(slot: Slot | undefined): string {
    if (slot === undefined) return "free";
    return slot.owner === undefined ? "completed" : `held by ${this.#world.callerOf(slot.owner)?.name ?? slot.owner}`;
  }
}

function isSame(a: Slot | undefined, b: Slot | undefined): boolean {
  return a?.value === b?.value && a?.owner === b?.owner && a?.expiresAt === b?.expiresAt;
}
