import type { Clock } from "./clock.js";

/**
 * Something that is to happen at a moment. Alarms hang in a chain, each knowing its neighbours, so that setting one and taking it
 * off again costs next to nothing: most are taken off long before their time.
 */
export abstract class Alarm {
  /** When, by the clock's `now`. */
  dueAt: number;
  /** @internal */
  before: Alarm | undefined;
  /** @internal */
  after: Alarm | undefined;

  constructor(dueAt: number) {
    this.dueAt = dueAt;
  }

  abstract ring(): void;
}

class Head extends Alarm {
  ring(): void {} // the chain's fixed end; it is never due
}

/**
 * Many alarms on one background timer. The timer is aimed at the earliest alarm it knew of; those that were taken off
 * meanwhile are noticed when it fires. It keeps no process alive.
 */
export class Alarms {
  readonly #clock: Clock;
  readonly #head: Alarm = new Head(Number.POSITIVE_INFINITY);
  #aimedAt = Number.POSITIVE_INFINITY;
  #cancelTimer: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Sets an alarm, or sets it anew after its `dueAt` was moved. */
  set(alarm: Alarm): void {
    if (alarm.before === undefined) {
      alarm.before = this.#head;
      alarm.after = this.#head.after;
      if (alarm.after !== undefined) alarm.after.before = alarm;
      this.#head.after = alarm;
    }
    if (alarm.dueAt < this.#aimedAt) this.#aim(alarm.dueAt);
  }

  off(alarm: Alarm): void {
    if (alarm.before === undefined) return;
    alarm.before.after = alarm.after;
    if (alarm.after !== undefined) alarm.after.before = alarm.before;
    alarm.before = undefined;
    alarm.after = undefined;
  }

  #aim(at: number): void {
    this.#cancelTimer?.();
    this.#aimedAt = at;
    this.#cancelTimer = this.#clock.timer(Math.max(0, at - this.#clock.now()), () => this.#fire(), { background: true });
  }

  #fire(): void {
    this.#cancelTimer = undefined;
    this.#aimedAt = Number.POSITIVE_INFINITY;
    const now = this.#clock.now();
    try {
      for (const alarm of this.#all()) {
        // One that rings may take others off.
        if (alarm.dueAt > now || alarm.before === undefined) continue;
        this.off(alarm);
        alarm.ring();
      }
    } finally {
      const earliest = this.#all().reduce((at, { dueAt }) => Math.min(at, dueAt), Number.POSITIVE_INFINITY);
      if (earliest < this.#aimedAt) this.#aim(earliest);
    }
  }

  #all(): Alarm[] {
    const alarms: Alarm[] = [];
    for (let alarm = this.#head.after; alarm !== undefined; alarm = alarm.after) alarms.push(alarm);
    return alarms;
  }
}

const shared = new WeakMap<Clock, Alarms>();

/** The alarms of a clock: one chain, and so one timer, for the whole process. */
export function alarmsOf(clock: Clock): Alarms {
  let alarms = shared.get(clock);
  if (alarms === undefined) shared.set(clock, (alarms = new Alarms(clock)));
  return alarms;
}
