import { afterEach, describe, expect, test } from "vitest";
import { resetConfiguration } from "taskwright";
import type { ScheduleOptions } from "taskwright/queue";
import { mistakeIn, rejectionOf } from "../support/builders.js";
import { charge, chargeTask, pausedTask, world } from "./world.js";

afterEach(resetConfiguration);

describe("a schedule", () => {
  test("enqueues at each tick, until it is ended", async () => {
    const { queue, clock } = world();
    const Charge = chargeTask();
    await queue.work([Charge]);
    await queue.schedule("hourly", Charge, charge, { cron: "0 * * * *", timeZone: "UTC" });
    await clock.advance(2 * 3_600_000);
    expect(Charge.charged).toHaveLength(2);
    expect(await queue.unschedule("hourly")).toBe(true);
    expect(await queue.unschedule("hourly")).toBe(false);
    await clock.advance(3_600_000);
    expect(Charge.charged).toHaveLength(2);
  });

  test("whose run outlasts its interval coalesces the ticks meanwhile, and goes on afterwards", async () => {
    const { queue, clock } = world();
    const { Paused, pause } = pausedTask();
    await queue.work([Paused], { concurrency: 3 });
    await queue.schedule("s", Paused, charge, { every: "1s", uniqueKey: "sync" });
    await clock.advance(5_000);
    expect(Paused.charged).toHaveLength(1);
    pause.resume();
    await clock.advance(2_000);
    expect(Paused.charged).toHaveLength(3);
  });

  test("is replaced by another of its name, and is listed", async () => {
    const { queue } = world();
    await queue.schedule("s", chargeTask(), charge, { every: "1s", idempotent: true });
    await queue.schedule("s", chargeTask(), charge, { cron: "0 3 * * *", timeZone: "Europe/Paris", idempotencyKey: "k" });
    expect(await queue.schedules()).toEqual([
      { name: "s", task: "charge_customer", cron: "0 3 * * *", timeZone: "Europe/Paris", everyMs: undefined, key: "k" },
    ]);
  });

  test.each<[string, string, object, string]>([
    ["no time", "s", {}, "either cron or every"],
    ["two times", "s", { cron: "* * * * *", every: 1 }, "either cron or every"],
    ["an expression that is none", "s", { cron: "every day" }, 'cron "every day" cannot be read'],
    ["seven fields", "s", { cron: "* * * * * * *" }, "cannot be read"],
    ["a zone that is none", "s", { cron: "0 3 * * *", timeZone: "Mars/Base" }, 'in the time zone "Mars/Base" cannot be read'],
    ["a zone from an environment variable that is empty", "s", { cron: "0 3 * * *", timeZone: "" }, "timeZone must be a name"],
    ["a zone that is null", "s", { cron: "0 3 * * *", timeZone: null }, "timeZone must be a name"],
    ["a day that never comes", "s", { cron: "0 0 30 2 *" }, "never comes"],
    ["a zone for an interval", "s", { every: 1, timeZone: "UTC" }, "timeZone goes with cron"],
    ["a blank name", " ", { every: 1 }, "A schedule has a name"],
    ["an id", "s", { every: 1, id: "a" }, 'has no option "id"'],
  ])("cannot be made with %s", async (_, name, options, words) => {
    const { queue } = world();
    expect(mistakeIn(await rejectionOf(queue.schedule(name, chargeTask(), charge, options as ScheduleOptions)))).toContain(words);
  });

  test("refuses an input that does not fit when it is made", async () => {
    const { queue } = world();
    const wrong = {} as typeof charge;
    expect(await rejectionOf(queue.schedule("s", chargeTask(), wrong, { every: 1 }))).toMatchObject({ code: "invalid_input" });
  });
});
