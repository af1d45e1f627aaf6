import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { resetConfiguration } from "taskwright";
import type { ManualClock } from "taskwright/testing";
import { useManualClock } from "../support/builders.js";
import { bank } from "./circuits.js";

let clock: ManualClock;
beforeEach(() => {
  clock = useManualClock();
});
afterEach(() => {
  resetConfiguration();
});

/** A breaker that opens when half of the runs of the last ten seconds fail, and there were ten or more. */
function sampled(threshold = 0.5) {
  const made = bank({ sampling: { threshold, duration: 10, minimumRps: 1 } });
  const runs = async (...weather: ("fine" | "foul")[]): Promise<void> => {
    for (const each of weather) await made.run(each);
  };
  const many = (count: number, weather: "fine" | "foul"): Promise<void> => runs(...Array.from({ length: count }, () => weather));
  return { ...made, many };
}

describe("a breaker that samples", () => {
  test("opens when the share of failures is reached", async () => {
    const { many, state } = sampled();

    await many(5, "fine");
    await many(4, "foul");
    expect(state()).toBe("closed");
    await many(1, "foul");

    expect(state()).toBe("open");
  });

  test("stays closed below the share, however many fail", async () => {
    const { many, state } = sampled();

    for (let round = 0; round < 50; round += 1) {
      await many(6, "fine");
      await many(5, "foul");
    }

    expect(state()).toBe("closed");
  });

  test("with a threshold of 1 opens when all runs fail", async () => {
    const { many, state } = sampled(1);

    await many(1, "fine");
    await many(20, "foul");
    expect(state()).toBe("closed");
    await clock.advance(10_000);
    await many(10, "foul");

    expect(state()).toBe("open");
  });

  test("says nothing by fewer runs than minimumRps", async () => {
    const { many, state } = sampled();

    await many(9, "foul");
    expect(state()).toBe("closed");
    await clock.advance(10_000);
    await many(9, "foul");
    expect(state()).toBe("closed");
    await many(1, "foul");

    expect(state()).toBe("open");
  });

  test("forgets by tenths of the duration: a failure counts for no longer than it, and for at least nine tenths", async () => {
    const { many, state } = sampled();
    await many(9, "foul");

    await clock.advance(9_999);
    await many(1, "foul");
    expect(state()).toBe("open");
  });

  test("forgets all runs of before a quiet time", async () => {
    const { many, state } = sampled();

    for (let second = 0; second < 4; second += 1) {
      await many(2, "foul");
      await clock.advance(1_000);
    }
    await clock.advance(3_600_000);
    await many(9, "foul");

    expect(state()).toBe("closed");
  });

  test("counts from nothing once it has closed again", async () => {
    const { many, run, state } = sampled();
    await many(10, "foul");
    await clock.advance(30_000);

    await run("fine");
    await many(8, "foul");
    expect(state()).toBe("closed");
    await many(1, "foul");

    expect(state()).toBe("open");
  });

  test("does not count halts and skips among the runs", async () => {
    const { many, run, state } = sampled();

    for (let at = 0; at < 20; at += 1) await run((task) => task.fail("no money"));
    await many(9, "foul");

    expect(state()).toBe("closed");
  });
});
