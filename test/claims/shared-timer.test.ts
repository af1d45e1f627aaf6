import { describe, expect, test } from "vitest";
import { configure } from "taskwright";
import { ManualClock } from "taskwright/testing";
import { Alarm, Alarms } from "../../src/support/alarms.js";
import { PausePoint } from "../support/builders.js";
import { chargeTask } from "../idempotency/charge.js";
import { inMemory } from "../idempotency/world.js";

interface Set {
  readonly ms: number;
  readonly background: boolean;
}

class Ringing extends Alarm {
  readonly ring: () => void;

  constructor(dueAt: number, ring: () => void) {
    super(dueAt);
    this.ring = ring;
  }
}

/** A clock that notes every timer that is set. */
class NotingClock extends ManualClock {
  readonly set: Set[] = [];

  override timer(ms: number, callback: () => void, { background = false }: { background?: boolean } = {}): () => void {
    this.set.push({ ms, background });
    return super.timer(ms, callback);
  }
}

describe("alarms", () => {
  const alarmAt = (dueAt: number, rung: number[], clock: ManualClock): Alarm => new Ringing(dueAt, () => rung.push(clock.now()));

  test("ring at their times, on one timer", async () => {
    const clock = new NotingClock();
    const alarms = new Alarms(clock);
    const rung: number[] = [];
    for (const at of [300, 100, 200, 100]) alarms.set(alarmAt(at, rung, clock));

    expect(clock.pending).toBe(1);
    await clock.advance(1_000);

    expect(rung).toEqual([100, 100, 200, 300]);
    expect(clock.pending).toBe(0);
  });

  test("that were taken off do not ring", async () => {
    const clock = new NotingClock();
    const alarms = new Alarms(clock);
    const rung: number[] = [];
    const off = alarmAt(100, rung, clock);
    alarms.set(off);
    alarms.set(new Ringing(50, () => alarms.off(off)));

    await clock.advance(1_000);

    expect(rung).toEqual([]);
  });

  test("that another takes off while it rings do not ring, whichever was set first", async () => {
    const clock = new NotingClock();
    const alarms = new Alarms(clock);
    const rung: string[] = [];
    const one: Alarm = new Ringing(100, () => {
      rung.push("one");
      alarms.off(other);
    });
    const other: Alarm = new Ringing(100, () => {
      rung.push("other");
      alarms.off(one);
    });
    alarms.set(one);
    alarms.set(other);

    await clock.advance(1_000);

    expect(rung).toHaveLength(1);
  });

  test("that are set again while they ring ring again", async () => {
    const clock = new NotingClock();
    const alarms = new Alarms(clock);
    const rung: number[] = [];
    const again: Alarm = new Ringing(100, () => {
      rung.push(clock.now());
      again.dueAt += 100;
      if (rung.length < 3) alarms.set(again);
    });
    alarms.set(again);

    await clock.advance(1_000);

    expect(rung).toEqual([100, 200, 300]);
  });

  test("one of which throws do not keep the others from ringing", async () => {
    const clock = new NotingClock();
    const alarms = new Alarms(clock);
    const rung: number[] = [];
    const broken = new Ringing(100, () => {
      throw new Error("broken");
    });
    alarms.set(alarmAt(100, rung, clock));
    alarms.set(broken);
    alarms.set(alarmAt(100, rung, clock));
    alarms.set(alarmAt(200, rung, clock));

    for (let turn = 0; turn < 4; turn += 1) await clock.advance(100).catch(() => undefined);

    expect(rung).toHaveLength(3);
  });
});

inMemory(() => {
  /** Many runs at work at once, under a clock that notes its timers. */
  async function atWork(count: number) {
    const clock = new NotingClock();
    configure((config) => {
      config.clock = clock;
    });
    const pause = new PausePoint();
    const { ChargeCustomer } = chargeTask({ ttl: 600, lease: 30 }, { work: () => pause.pass() });
    const runs = Array.from({ length: count }, (_, at) => ChargeCustomer.execute({ paymentId: `p${at}` }));
    await pause.reached;
    return { clock, pause, runs };
  }

  test("five hundred leases share one timer, which keeps no process alive", async () => {
    const { clock, pause, runs } = await atWork(500);
    await clock.advance(0);

    expect(clock.set.every(({ background }) => background)).toBe(true);
    expect(clock.pending).toBe(1);
    expect(clock.set.length).toBeLessThanOrEqual(3);
    const before = clock.set.length;
    await clock.advance(9_999);
    await clock.advance(20_001);
    expect(clock.set.length - before).toBeLessThan(30);
    expect(clock.pending).toBe(1);

    pause.resume();
    expect((await Promise.all(runs)).every(({ status }) => status === "success")).toBe(true);
    await clock.advance(60_000);
    expect(clock.pending).toBe(0);
  });

  test("a thousand runs one after the other set a handful of timers", async () => {
    const clock = new NotingClock();
    configure((config) => {
      config.clock = clock;
    });
    const { ChargeCustomer } = chargeTask();

    for (let at = 0; at < 1_000; at += 1) await ChargeCustomer.execute({ paymentId: `p${at}` });

    expect(clock.set.length).toBeLessThanOrEqual(3);
    await clock.advance(100_000);
    expect(clock.pending).toBe(0);
  });
});
