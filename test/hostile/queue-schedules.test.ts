import { afterEach, describe, expect, test } from "vitest";
import { isDefinitionError, resetConfiguration } from "taskwright";
import { taskOf } from "../support/builders.js";
import { charge, pausedTask, world } from "../queue/world.js";

afterEach(resetConfiguration);

const DAY = 86_400_000;

/** The moments at which a schedule ticks, from that moment on. */
async function ticks(cron: string, timeZone: string, from: string, ms: number): Promise<readonly string[]> {
  const { queue, clock } = world();
  clock.jump(Date.parse(from) - clock.epoch());
  const at: string[] = [];
  const Note = taskOf(() => void at.push(new Date(clock.epoch()).toISOString().slice(0, 16)));
  await queue.work([Note]);
  await queue.schedule("s", Note, {}, { cron, timeZone });
  await clock.advance(ms);
  await queue.close();
  return at;
}

describe("a schedule", () => {
  test("ticks once on the day whose hour is skipped, and once on the day whose hour comes twice", async () => {
    expect(await ticks("30 2 * * *", "Europe/Berlin", "2030-03-30T12:00:00Z", 2 * DAY)).toEqual(["2030-03-31T01:00", "2030-04-01T00:30"]);
    expect(await ticks("30 2 * * *", "Europe/Berlin", "2030-10-26T12:00:00Z", 2 * DAY)).toEqual(["2030-10-27T00:30", "2030-10-28T01:30"]);
  });

  test("ticks each half hour through the night on which the clocks change", async () => {
    const at = await ticks("*/30 * * * *", "Europe/Berlin", "2030-10-26T12:00:00Z", DAY);
    expect(at).toHaveLength(48);
    expect(new Set(at).size).toBe(48);
  });

  test("that is replaced while its run is at work ticks at the new times only", async () => {
    const { queue, clock } = world();
    const { Paused, pause } = pausedTask();
    await queue.work([Paused], { concurrency: 2 });
    await queue.schedule("s", Paused, charge, { every: "10s", uniqueKey: "k" });
    await clock.advance(10_000);
    await pause.reached;
    await queue.schedule("s", Paused, charge, { every: "1m", uniqueKey: "k" });
    pause.resume();
    await clock.advance(59_999);
    expect(Paused.charged).toHaveLength(1);
    await clock.advance(1);
    expect(Paused.charged).toHaveLength(2);
  });

  test("is ended by its own run", async () => {
    const { queue, clock } = world();
    const ended: boolean[] = [];
    const Once = taskOf(async () => void ended.push(await queue.unschedule("s")));
    await queue.work([Once]);
    await queue.schedule("s", Once, {}, { every: "1s" });
    await clock.advance(10_000);
    expect(ended).toEqual([true]);
  });

  test.each([
    { every: 0 },
    { every: "0s" },
    { every: -1 },
    { every: Number.POSITIVE_INFINITY },
    { cron: "* * * * *", timeZone: "Mars/Olympus" },
    { cron: "" },
    { cron: "61 * * * *" },
    { cron: "0 0 30 2 *" },
    { cron: "* * * * * * *" },
    { cron: "2020-01-01T00:00:00" },
    { cron: "* * * * *", every: 1 },
  ])("is refused when its times are %o", async (times) => {
    const { queue } = world();
    const error: unknown = await queue
      .schedule(
        "s",
        taskOf(() => 1),
        {},
        times as { every: number }, // what people write who have no types
      )
      .catch((thrown: unknown) => thrown);
    expect(isDefinitionError(error)).toBe(true);
    expect(await queue.schedules()).toEqual([]);
  });
});
