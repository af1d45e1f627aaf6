import type { Clock } from "./clock.js";

/** A moment at which something is to happen. */
export interface Alarm {
  /** When, by the clock's `now`. May be moved later while it is set; moving it earlier needs {@link Alarms.set}. */
  dueAt: number;
  ring(): void;
}

/**
 * Many alarms on one background timer, so that setting one and taking it off again costs next to nothing. The timer is
 * aimed at the earliest alarm it knows of; those taken off before are noticed when it fires. It keeps no process alive.
 */
export class Alarms {
  readonly #clock: Clock;
  readonly #alarms = new Set<Alarm>();
  #aimedAt = Number.POSITIVE_INFINITY;
  #cancelTimer: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  set(alarm: Alarm): void {
    this.#alarms.add(alarm);
    if (alarm.dueAt < this.#aimedAt) this.#aim(alarm.dueAt);
  }

  off(alarm: Alarm): void {
    this.#alarms.delete(alarm);
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
    for (const alarm of [...this.#alarms]) {
      if (alarm.dueAt > now || !this.#alarms.delete(alarm)) continue;
      alarm.ring();
    }
    let earliest = Number.POSITIVE_INFINITY;
    for (const { dueAt } of this.#alarms) earliest = Math.min(earliest, dueAt);
    if (earliest < this.#aimedAt) this.#aim(earliest);
  }
}

const shared = new WeakMap<Clock, Alarms>();

/** The alarms of a clock: one set, and so one timer, for the whole process. */
export function alarmsOf(clock: Clock): Alarms {
  let alarms = shared.get(clock);
  if (alarms === undefined) shared.set(clock, (alarms = new Alarms(clock)));
  return alarms;
}
