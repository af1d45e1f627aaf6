import type { Store, StoreEntry } from "taskwright";
import type { Answer, Call } from "./calls.js";
import { Caller } from "./caller.js";
import { fold } from "./hash.js";
import { Ledger } from "./ledger.js";
import { Operator, Stopper, type Actor } from "./others.js";
import { Process } from "./process.js";
import type { Program } from "./program.js";
import type { Scenario } from "./scenario.js";

/** What stands under a key, with the moment at which it is gone. */
export interface Slot {
  readonly key: string;
  readonly value: string;
  readonly owner: string | undefined;
  readonly expiresAt: number;
}

/** One schedule on its way: the time, the store, the processes, and what is on its way between them. */
export class World {
  readonly scenario: Scenario;
  now = 0;
  readonly store: Store;
  readonly processes: readonly Process[];
  readonly callers: readonly Caller[];
  /** Those who are no callers: an operator, whoever tells a process to stop. */
  readonly others: readonly Actor[];
  readonly ledger: Ledger;
  /** Calls that have not taken effect, or whose answer has not been delivered. */
  calls: readonly Call[] = [];
  faults = 0;
  /** Each step so far, in words. */
  readonly steps: string[] = [];
  /** What the store showed last, by key. */
  readonly #slots = new Map<string, Slot>();
  readonly #names = new Map<string, string>();

  /** @param programs One for each process. */
  constructor(scenario: Scenario, programs: readonly Program[]) {
    this.scenario = scenario;
    const [first] = programs;
    if (first === undefined) throw new Error("a scenario needs a program");
    // The sweep frees memory only, and a schedule is over before that matters.
    this.store = new first.library.api.MemoryStore({ clock: { now: () => this.now, epoch: () => this.now, timer: () => () => undefined } });
    const inhabited = programs.map((program, at) => {
      const process = new Process(`process ${at}`, this, scenario.rates?.[at]);
      program.begin(process);
      return process;
    });
    const operator = new Operator(new Process("the operator's process", this), first);
    this.processes = scenario.operator === true ? [...inhabited, operator.process] : inhabited;
    this.ledger = new Ledger(this);
    const places = scenario.callers.map(({ process }, at) => process ?? at);
    this.callers = scenario.callers.flatMap((plan, at) => {
      const place = places[at] ?? 0;
      const caller = new Caller("ABCDE".charAt(at), processAt(this.processes, place), plan, programAt(programs, place));
      return caller.inner === undefined ? [caller] : [caller, caller.inner];
    });
    this.others = [
      ...(scenario.operator === true ? [operator] : []),
      ...(scenario.shutdown === undefined
        ? []
        : [new Stopper(processAt(this.processes, scenario.shutdown), programAt(programs, scenario.shutdown))]),
    ];
  }

  /** What stands under the key now. */
  slotAt(key: string): Slot | undefined {
    const slot = this.#slots.get(key);
    return slot !== undefined && this.now < slot.expiresAt ? slot : undefined;
  }

  /** What stands under all keys now. */
  get slots(): readonly Slot[] {
    return [...this.#slots.values()].filter(({ expiresAt }) => this.now < expiresAt);
  }

  /** Has everybody who can still act come to an end, with nothing on its way to them? */
  get finished(): boolean {
    const open =
      this.callers.some(({ process, state, canStart }) => (state === "running" || canStart) && !process.crashed) ||
      this.others.some(({ process, state }) => state !== "ended" && !process.crashed);
    const works = this.callers.some(({ attempt, process }) => attempt !== undefined && !process.crashed);
    return !open && !works && this.calls.every(({ process }) => process.crashed);
  }

  send(call: Call): void {
    this.calls = [...this.calls, call];
    this.ledger.onSent(call);
  }

  onRun(caller: Caller, runId: string): void {
    this.#names.set(runId, caller.name);
  }

  onAttempt(caller: Caller): void {
    this.ledger.onAttempt(caller);
  }

  /** Whose run this is. */
  callerOf(owner: string | undefined): Caller | undefined {
    const name = this.#names.get(owner ?? "");
    return this.callers.find((caller) => caller.name === name);
  }

  /** The call takes effect. */
  async carryOut(call: Call): Promise<unknown> {
    const before = await this.#look(call.key);
    const value = await call.perform(this.store);
    const after = await this.#look(call.key);
    this.ledger.onEffect(call, before, value, after);
    return value;
  }

  /** The answer is on its way; a process that can run gets it at once, unless it is late. */
  async answer(call: Call, answer: Answer, late = false): Promise<void> {
    call.answer = answer;
    if (!late && call.process.awake) await this.deliver(call);
  }

  async deliver(call: Call): Promise<void> {
    this.forget(call);
    const { answer, process } = call;
    if (answer === undefined) return;
    const seen: Answer = "refused" in answer ? { value: { ok: false, held: await this.store.get(call.key) } } : answer;
    process.note(`${call.id} ${this.#text(seen)}`);
    const pausing = this.ledger.pausing(call);
    this.ledger.onHeard(call, seen);
    call.settle(seen);
    await settled();
    this.ledger.onDelivered(call, seen, pausing);
  }

  /** The call is on its way no more. */
  forget(call: Call): void {
    this.calls = this.calls.filter((other) => other !== call);
  }

  /** Two schedules with the same key are in the same state, and go on alike. */
  key(): number {
    const parts = [
      this.steps.length,
      this.now,
      this.faults,
      ...this.slots.map((slot) => this.#text({ value: slot })).toSorted(),
      ...this.processes.map(({ trace, crashed, blocked, blockedAt }) => `${trace}${crashed ? "x" : ""}${blocked ? `b${blockedAt}` : ""}`),
      ...this.calls
        .map(({ id, answer, isSlow }) => `${id}${isSlow === true ? "s" : ""} ${answer === undefined ? "" : this.#text(answer)}`)
        .toSorted(),
      this.ledger.key(),
    ];
    return fold(0, parts.join("|"));
  }

  /** As a text that is the same in every repetition: runs are called by their callers' names, and fences, which decide nothing, are left out. */
  #text(answer: Answer): string {
    if ("error" in answer) return answer.error.message;
    if ("refused" in answer) return "refused";
    let text = JSON.stringify(answer.value, (name, value: unknown) => (name === "fence" ? undefined : value)) ?? "nothing";
    for (const [runId, name] of this.#names) text = text.replaceAll(runId, name);
    return text;
  }

  async #look(key: string): Promise<Slot | undefined> {
    const entry: StoreEntry | undefined = await this.store.get(key);
    if (entry === undefined) {
      this.#slots.delete(key);
      return undefined;
    }
    const slot = { key, value: entry.value, owner: entry.owner, expiresAt: this.now + entry.expiresInMs };
    this.#slots.set(key, slot);
    return slot;
  }
}

/** Every promise that can go on has gone on: Node empties that queue before the next tick of the process. */
export function settled(): Promise<void> {
  return new Promise((resolve) => {
    process.nextTick(resolve);
  });
}

function processAt(processes: readonly Process[], at: number): Process {
  const found = processes[at];
  if (found === undefined) throw new Error(`the scenario has no process ${at}`);
  return found;
}

function programAt(programs: readonly Program[], at: number): Program {
  const found = programs[at];
  if (found === undefined) throw new Error(`the scenario has no program ${at}`);
  return found;
}
