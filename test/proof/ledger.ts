import { isGrant } from "./asked.js";
import { Book } from "./book.js";
import type { Answer, Call } from "./calls.js";
import type { Caller } from "./caller.js";
import type { Invariant, Violation } from "./invariants.js";
import type { Told } from "./program.js";
import { isLock, LEASE_MS, STORE_TIMEOUT_MS, TTL_MS, type Fault } from "./scenario.js";
import { isUntrue } from "./told.js";
import type { Slot, World } from "./world.js";

/** Watches over a schedule from outside: it sees the store, the calls and the work, and believes nobody. */
export class Ledger {
  /** The first invariant that did not hold. */
  violation: Violation | undefined;
  readonly #world: World;
  readonly #books = new Map<string, Book>();

  constructor(world: World) {
    this.#world = world;
  }

  fail(invariant: Invariant, detail: string): void {
    this.violation ??= { invariant, detail, steps: [...this.#world.steps] };
  }

  book(key: string): Book {
    let book = this.#books.get(key);
    if (book === undefined) this.#books.set(key, (book = new Book()));
    return book;
  }

  /** What it knows beyond the state that it watches. */
  key(): string {
    const { callers } = this.#world;
    const robbed = callers.filter(({ wasRobbed }) => wasRobbed).map(({ name, robbed: unaware }) => `${name}${unaware ? "!" : ""}`);
    return [...robbed, ...[...this.#books].map(([key, book]) => `${key} ${book.text()}`).toSorted()].join("/");
  }

  onFault(call: Call, fault: Fault): void {
    const caller = this.#world.callerOf(call.owner);
    if (caller === undefined) return;
    const { operation, key, sentAt } = call;
    const isAlone = this.#world.now - sentAt >= STORE_TIMEOUT_MS || caller.state === "ended"; // so nobody asks again
    const isKept = (operation === "delete" || operation === "complete") && fault === "fail-before";
    const isUnheard = operation === "claim" && (fault === "lost" || (fault === "fail-after" && isAlone));
    if (isKept || isUnheard) this.book(key).excused.add(caller.name);
  }

  onSent(call: Call): void {
    const caller = this.#world.callerOf(call.owner);
    if (caller === undefined) return;
    const { operation, key } = call;
    if (operation === "claim") this.#onAsking(caller, call);
    if (operation === "renew" && caller.state === "ended" && caller.attempt === undefined && caller.inner?.attempt === undefined)
      this.fail("a run that has ended renews nothing", `${caller.name} has its answer and sends a renewal`);
    if (operation !== "delete" && caller.bare.includes(key))
      this.fail("a run without a claim writes nothing", `${caller.name} works without ${key} and sends a ${operation}`);
  }

  /** A run with a lock holds it, or has been failed by its store, before it asks for its slot. */
  #onAsking({ asked, keys, name }: Caller, call: Call): void {
    asked.sent(call);
    const lock = keys.find(isLock);
    if (lock === undefined || lock === call.key || this.book(lock).granted.has(name) || asked.hasFailed(lock, this.#world.now)) return;
    this.fail("a lock is taken before the claim", `${name} asks for ${call.key} and has no lock`);
  }

  /** A run has told what it holds. */
  onTold(caller: Caller, told: Told): void {
    const untrue = isUntrue(this.#world, caller, told);
    if (untrue !== undefined) this.fail("what is told is true", `${caller.name} tells ${told}, and ${untrue}`);
  }

  /** An attempt of `work` begins. */
  onAttempt(caller: Caller): void {
    const { name, outer, robbed, asked } = caller;
    if (outer?.signal?.aborted === true)
      this.fail("a run ends those inside it", `${name} begins to work inside ${outer.name}, which was told to stop`);
    for (const key of caller.keys) {
      const isBare = caller.bare.includes(key);
      const slot = this.#world.slotAt(key);
      const success = this.book(key).liveSuccess(this.#world.now);
      if (isBare) {
        if (!this.#mayBeBare(caller, key) || !asked.hasFailed(key, this.#world.now))
          this.fail("a run goes without a claim only where its store failed it", `${name} works without ${key}`);
        continue;
      }
      if (success !== undefined && !robbed)
        this.fail("no second success within retention", `${name} begins to work after a success of ${success.run}`);
      if (!this.book(key).granted.has(name))
        this.fail("an attempt begins under a live claim", `${name} works and never was granted ${key}`);
      if (slot?.owner !== caller.runId && !robbed)
        this.fail("an attempt begins under a live claim", `${name} begins to work, and ${key} is ${this.#holder(slot)}`);
    }
  }

  /** A call has taken effect. */
  onEffect(call: Call, before: Slot | undefined, answer: unknown, after: Slot | undefined): void {
    if (call.operation === "get") return;
    const isChange = !isSame(before, after);
    const name = this.#world.callerOf(call.owner)?.name ?? "nobody";
    if (this.#world.now - call.sentAt >= STORE_TIMEOUT_MS) this.book(call.key).overtaken.add(name);
    if (isChange) this.#onChange(call, name, before, after);
    this.#onGranted(call, name, answer, before, isChange);
    if (after?.owner !== undefined && after.expiresAt > this.#world.now + LEASE_MS)
      this.fail("no slot outlives its lease without its owner's renewal", `the claim of ${name} lives until ${after.expiresAt}`);
    if (after !== undefined && after.owner === undefined && after.expiresAt > this.#world.now + TTL_MS)
      this.fail("no slot outlives its lease without its owner's renewal", `the slot lives until ${after.expiresAt} and is nobody's`);
  }

  #onChange(call: Call, name: string, before: Slot | undefined, after: Slot | undefined): void {
    const { now } = this.#world;
    const { operation, key } = call;
    const what = `${name}'s ${operation} changed ${key}, which was ${this.#holder(before)}`;
    this.book(key).changed.add(name);
    if (before === undefined && operation !== "claim") this.fail("nobody but the owner changes a slot", what);
    if (before !== undefined && (before.owner === undefined || before.owner !== call.owner))
      this.fail("nobody but the owner changes a slot", what);
    const holder = this.#world.callerOf(before?.owner);
    if (holder !== undefined && operation === "delete") {
      this.book(key).freed.add(holder.name);
      if (call.process !== holder.process) holder.robbed = holder.wasRobbed = true;
      if (isSuccessOnItsWay(holder) && !isLock(key) && !holder.bare.includes(key))
        this.fail("a success is never released", `${name} freed the slot after its work had succeeded`);
    }
    if (operation !== "complete" || after?.owner !== undefined || after === undefined) return;
    const first = this.book(key).liveSuccess(now);
    if (first !== undefined) this.fail("no second success within retention", `${name} records a success after one of ${first.run}`);
    this.book(key).successes.push({ run: name, until: after.expiresAt });
  }

  #onGranted(call: Call, name: string, answer: unknown, before: Slot | undefined, isChange: boolean): void {
    if (!isGrant(answer)) {
      if (isChange) this.fail("a stale write is refused", `${name}'s ${call.operation} was refused and changed the slot`);
      return;
    }
    if (call.operation === "claim") this.book(call.key).granted.add(name);
    else if (before?.owner === undefined || before.owner !== call.owner)
      this.fail("a stale write is refused", `${name}'s ${call.operation} was granted, and the slot was ${this.#holder(before)}`);
  }

  /** An answer reaches its process. */
  onHeard(call: Call, answer: Answer): void {
    if (call.operation === "claim") this.#world.callerOf(call.owner)?.asked.heard(call, answer, this.#world.now);
  }

  /** Who pauses in the process of this call, since another holds its key. What is given back after a run's end wakes nobody. */
  pausing({ process, key, owner, operation }: Call): readonly Caller[] {
    if (operation === "delete" && this.#world.callerOf(owner)?.state === "ended") return [];
    return this.#world.callers.filter((caller) => caller.process === process && this.#isPausing(caller, key));
  }

  /** An answer has reached its process, and what follows from it has happened. */
  onDelivered(call: Call, answer: Answer, pausing: readonly Caller[]): void {
    const caller = this.#world.callerOf(call.owner);
    if (caller === undefined) return;
    const value = "value" in answer ? answer.value : undefined;
    if (call.operation === "claim") this.#onAsked(caller, call.key);
    else if (isGrant(value)) this.#onFreed(caller, call, pausing);
    if (call.operation !== "renew" || value !== false) return;
    const isLate = this.#world.now - call.sentAt >= STORE_TIMEOUT_MS; // nobody waits for it any more
    if (caller.atWork && !isLate) this.fail("a refused renewal stops the run", `${caller.name} works on after its renewal was refused`);
    if (!isLate) caller.robbed = false; // from now on it knows
  }

  #onAsked(caller: Caller, key: string): void {
    const { outer } = caller;
    if (outer === undefined || !this.#isPausing(caller, key) || outer.bare.includes(key)) return;
    if (caller.asked.refusal(key)?.by === outer.runId)
      this.fail("nobody waits for a run around it", `${caller.name} waits for ${key}, which ${outer.name} holds`);
  }

  /** The key is another's now to take: whoever freed it in time tells those who wait in its process. */
  #onFreed(caller: Caller, call: Call, pausing: readonly Caller[]): void {
    const { operation, key } = call;
    const ends = operation === "complete" || (operation === "delete" && caller.attempts > 0 && !caller.bare.includes(key));
    if (!ends || call.sentAt < this.#world.now || pausing.length === 0) return;
    const still = pausing.filter((other) => this.#isPausing(other, key)).map(({ name }) => name);
    if (operation === "complete" ? still.length > 0 : still.length === pausing.length)
      this.fail("a freed key wakes who waits for it", `${caller.name} has freed ${key}, and ${still.join(" and ")} sleeps on`);
  }

  /** After every step: what must be so in any state. */
  onStep(): void {
    const { callers } = this.#world;
    const holders = new Map<string, string>();
    for (const caller of callers) {
      const { name, outer, process } = caller;
      if (outer?.signal?.aborted === true && caller.atWork && process.awake)
        this.fail("a run ends those inside it", `${name} works on inside ${outer.name}, which was told to stop`);
      if (!this.#isAnswerable(caller)) continue;
      for (const key of caller.keys) {
        if (caller.bare.includes(key)) continue;
        const slot = this.#world.slotAt(key);
        const other = holders.get(key);
        if (slot?.owner !== caller.runId)
          this.fail("a run at work holds the slot", `${name} is at work, and ${key} is ${this.#holder(slot)}`);
        if (other !== undefined) this.fail("at most one run is at work", `${other} and ${name}, both with ${key}`);
        holders.set(key, name);
      }
    }
  }

  #isPausing({ state, attempts, asked, name }: Caller, key: string): boolean {
    const isAsking = this.#world.calls.some(({ owner }) => this.#world.callerOf(owner)?.name === name);
    return state === "running" && attempts === 0 && !isAsking && asked.refusal(key)?.inTime === true;
  }

  #mayBeBare({ task }: Caller, key: string): boolean {
    const protection = this.#world.scenario.tasks[task];
    return (isLock(key) ? protection?.lock : protection?.idempotency)?.onStoreError === "run";
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

/** Has its work ended well, so that only the record of it is missing? */
function isSuccessOnItsWay({ ending, state, wasRobbed, signal }: Caller): boolean {
  return ending === "success" && state === "running" && !wasRobbed && signal?.aborted !== true;
}

function isSame(a: Slot | undefined, b: Slot | undefined): boolean {
  return a?.value === b?.value && a?.owner === b?.owner && a?.expiresAt === b?.expiresAt;
}
