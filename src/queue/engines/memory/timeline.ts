import { AsyncResource } from "node:async_hooks";
import type { Clock } from "../../../support/clock.js";

/** A place on a timeline, to be taken off again. */
export interface Mark<T> {
  readonly dueAt: number;
  readonly place: number;
  readonly item: T;
}

/** Things that become due, on one timer of the clock. What is due at one time comes in the order in which it was added. */
export class Timeline<T> {
  readonly #clock: Clock;
  readonly #onDue: (item: T) => void;
  /** Timers belong to nobody: what becomes due inside some run is not part of it. */
  readonly #nobody = new AsyncResource("TaskwrightTimeline", { requireManualDestroy: true });
  #marks: Mark<T>[] = [];
  #places = 0;
  #background = true;
  #armed: { readonly dueAt: number; off(): void } | undefined;

  constructor(clock: Clock, onDue: (item: T) => void) {
    this.#clock = clock;
    this.#onDue = onDue;
  }

  add(dueAt: number, item: T): Mark<T> {
    const mark = { dueAt, place: this.#places++, item };
    this.#marks.splice(this.#indexOf(mark), 0, mark);
    this.#arm();
    return mark;
  }

  remove(mark: Mark<T>): void {
    const index = this.#indexOf(mark);
    if (this.#marks[index] === mark) this.#marks.splice(index, 1);
    this.#arm();
  }

  /** Does the process stay alive for what is to come? */
  keepAlive(alive: boolean): void {
    if (this.#background === !alive) return;
    this.#background = !alive;
    this.#disarm();
    this.#arm();
  }

  clear(): void {
    this.#marks = [];
    this.#disarm();
  }

  /** Where the mark is, or belongs: the first place that is not before it. */
  #indexOf(mark: Mark<T>): number {
    let [from, to] = [0, this.#marks.length];
    while (from < to) {
      const middle = (from + to) >>> 1;
      const other = this.#marks[middle];
      if (other !== undefined && (other.dueAt < mark.dueAt || (other.dueAt === mark.dueAt && other.place < mark.place))) from = middle + 1;
      else to = middle;
    }
    return from;
  }

  #arm(): void {
    const dueAt = this.#marks[0]?.dueAt;
    if (dueAt === this.#armed?.dueAt) return;
    this.#disarm();
    if (dueAt === undefined) return;
    const ms = Math.max(0, dueAt - this.#clock.now());
    const off = this.#nobody.runInAsyncScope(() => this.#clock.timer(ms, () => this.#fire(), { background: this.#background }));
    this.#armed = { dueAt, off };
  }

  #disarm(): void {
    this.#armed?.off();
    this.#armed = undefined;
  }

  #fire(): void {
    this.#armed = undefined;
    const now = this.#clock.now();
    const later = this.#marks.findIndex(({ dueAt }) => dueAt > now);
    const due = this.#marks.splice(0, later < 0 ? this.#marks.length : later);
    for (const { item } of due) this.#onDue(item);
    this.#arm();
  }
}
