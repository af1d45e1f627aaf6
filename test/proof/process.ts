import type { Clock, Configuration } from "taskwright";
import { PausedStore, type Call } from "./calls.js";
import { fold } from "./hash.js";
import type { World } from "./world.js";

interface Timer {
  readonly due: number;
  readonly callback: () => void;
}

/** Where the wall clock stands when a schedule begins. */
const EPOCH = Date.UTC(2030, 0, 1);

/** One process of a schedule: its clock, its timers, its way to the store, and whether it can run at all. */
export class Process {
  readonly name: string;
  readonly world: World;
  readonly store: PausedStore;
  readonly clock: Clock;
  /** A crashed process never runs again; its calls may still take effect. */
  crashed = false;
  /** While its event loop is blocked, no timer fires and no answer is seen. */
  blocked = false;
  /** Since when it is blocked. */
  blockedAt = 0;
  /**
   * Everything that has happened to the process, with the time of each, as a hash. What a process does depends on nothing else,
   * so two schedules that agree in it have left the process in the same state.
   */
  trace = 0;
  #timers: Timer[] = [];

  /** @param rate How fast its clock runs; 0.99 is slow by a hundredth. */
  constructor(name: string, world: World, rate = 1) {
    this.name = name;
    this.world = world;
    this.store = new PausedStore(this);
    this.clock = {
      now: () => world.now * rate,
      epoch: () => EPOCH + world.now * rate,
      timer: (ms, callback) => this.#timer(Math.max(0, ms) / rate, callback),
    };
  }

  get awake(): boolean {
    return !this.crashed && !this.blocked;
  }

  /** When its earliest timer is due. */
  get nextDue(): number {
    return this.#timers.reduce((earliest, { due }) => Math.min(earliest, due), Number.POSITIVE_INFINITY);
  }

  /** The library of this process keeps to this clock and this store from now on. */
  inhabit(configuration: Configuration): void {
    configuration.clock = this.clock;
    configuration.store = this.store;
  }

  send(call: Call): void {
    this.world.send(call);
  }

  /** Notes that something has happened to the process. */
  note(event: string): void {
    this.trace = fold(this.trace, `${this.world.now} ${event}`);
  }

  /** Fires its earliest timer; of several at one time, the one that was set first. */
  ring(): void {
    const due = this.nextDue;
    const timer = this.#timers.find((candidate) => candidate.due === due);
    if (timer === undefined) return;
    this.#timers = this.#timers.filter((other) => other !== timer);
    this.note("timer");
    timer.callback();
  }

  #timer(ms: number, callback: () => void): () => void {
    const timer: Timer = { due: Math.ceil(this.world.now + ms), callback }; // in whole milliseconds, as Node's are
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }
}
