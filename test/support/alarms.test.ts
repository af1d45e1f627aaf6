import { describe, expect, test } from "vitest";
import { Alarm, Alarms, alarmsOf } from "../../src/support/alarms.js";
import { ManualClock } from "./manual-clock.js";

function setUp() {
  const clock = new ManualClock();
  const alarms = new Alarms(clock);
  const rung: string[] = [];
  class Named extends Alarm {
    readonly #name: string;
    readonly #then: (() => void) | undefined;
    constructor(name: string, dueAt: number, then?: () => void) {
      super(dueAt);
      this.#name = name;
      this.#then = then;
    }
    ring(): void {
      rung.push(`${this.#name} at ${clock.now()}`);
      this.#then?.();
    }
  }
  const set = (name: string, dueAt: number, then?: () => void): Alarm => {
    const alarm = new Named(name, dueAt, then);
    alarms.set(alarm);
    return alarm;
  };
  return { clock, alarms, rung, set };
}

describe("alarms", () => {
  test("ring once, each at its time, whatever the order in which they were set", async () => {
    const { clock, rung, set } = setUp();
    set("late", 300);
    set("early", 100);
    set("between", 200);

    await clock.advance(1_000);

    expect(rung).toEqual(["early at 100", "between at 200", "late at 300"]);
    expect(clock.pending).toBe(0);
  });

  test("share one timer", () => {
    const { clock, set } = setUp();
    for (let i = 1; i <= 50; i += 1) set(`alarm ${i}`, i * 100);

    expect(clock.pending).toBe(1);
  });

  test("that are taken off do not ring, also when they are taken off twice or by one that rings", async () => {
    const { clock, alarms, rung, set } = setUp();
    const off = set("off", 100);
    const victim = set("victim", 200);
    set("culprit", 200, () => alarms.off(victim));
    alarms.off(off);
    alarms.off(off);

    await clock.advance(1_000);

    expect(rung).toEqual(["culprit at 200"]);
  });

  test("that are moved ring at their new time only", async () => {
    const { clock, alarms, rung, set } = setUp();
    const later = set("later", 100);
    later.dueAt = 500;
    alarms.set(later);
    const sooner = set("sooner", 900);
    sooner.dueAt = 200;
    alarms.set(sooner);

    await clock.advance(1_000);

    expect(rung).toEqual(["sooner at 200", "later at 500"]);
  });

  test("may be set again while they ring", async () => {
    const { clock, alarms, rung, set } = setUp();
    const ticking = set("tick", 100, () => {
      if (rung.length === 3) return;
      ticking.dueAt += 100;
      alarms.set(ticking);
    });

    await clock.advance(1_000);

    expect(rung).toEqual(["tick at 100", "tick at 200", "tick at 300"]);
  });

  test("that are due already ring as soon as they can", async () => {
    const { clock, rung, set } = setUp();
    await clock.advance(500);

    set("overdue", 100);
    await clock.advance(0);

    expect(rung).toEqual(["overdue at 500"]);
  });

  test("of one clock hang in one chain", () => {
    const clock = new ManualClock();

    expect(alarmsOf(clock)).toBe(alarmsOf(clock));
    expect(alarmsOf(clock)).not.toBe(alarmsOf(new ManualClock()));
  });
});
