import type { Clock } from "../../../support/clock.js";
import { nextTick } from "../../cron.js";
import type { EngineSchedule } from "../../port.js";
import { Timeline, type Mark } from "./timeline.js";

interface Entry {
  readonly schedule: EngineSchedule;
  mark: Mark<Entry> | undefined;
  /** When it ticks next, in milliseconds since 1970. */
  nextAt: number;
}

/** The schedules of an engine. A tick that was missed, since the process was busy or asleep, comes once, late. */
export class Schedules {
  readonly #clock: Clock;
  readonly #tick: (schedule: EngineSchedule) => void;
  readonly #timeline: Timeline<Entry>;
  readonly #entries = new Map<string, Entry>();

  constructor(clock: Clock, tick: (schedule: EngineSchedule) => void) {
    this.#clock = clock;
    this.#tick = tick;
    this.#timeline = new Timeline<Entry>(clock, (entry) => this.#due(entry));
  }

  /** @throws when the cron expression is none. */
  set(schedule: EngineSchedule): void {
    const nextAt = this.#next(schedule, this.#clock.epoch());
    this.delete(schedule.name);
    const entry: Entry = { schedule: Object.freeze({ ...schedule }), mark: undefined, nextAt };
    this.#entries.set(schedule.name, entry);
    this.#await(entry);
  }

  delete(name: string): boolean {
    const entry = this.#entries.get(name);
    if (entry?.mark !== undefined) this.#timeline.remove(entry.mark);
    return this.#entries.delete(name);
  }

  all(): readonly EngineSchedule[] {
    return [...this.#entries.values()].map(({ schedule }) => schedule);
  }

  keepAlive(alive: boolean): void {
    this.#timeline.keepAlive(alive);
  }

  clear(): void {
    this.#entries.clear();
    this.#timeline.clear();
  }

  #due(entry: Entry): void {
    const now = this.#clock.epoch();
    if (now < entry.nextAt) return this.#await(entry); // the wall clock was set back
    entry.nextAt = this.#next(entry.schedule, now);
    this.#await(entry);
    this.#tick(entry.schedule);
  }

  #await(entry: Entry): void {
    if (!Number.isFinite(entry.nextAt)) return;
    entry.mark = this.#timeline.add(this.#clock.now() + (entry.nextAt - this.#clock.epoch()), entry);
  }

  #next({ every }: EngineSchedule, after: number): number {
    if ("intervalMs" in every) return after + every.intervalMs;
    return nextTick(every.cron, every.timeZone, after) ?? Number.POSITIVE_INFINITY;
  }
}
