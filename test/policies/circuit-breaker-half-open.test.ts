import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { circuitBreaker, circuitOf, resetConfiguration, Task, type CircuitBreakerOptions } from "taskwright";
import type { ManualClock } from "taskwright/testing";
import { ofName, recordEvents, useManualClock } from "../support/builders.js";
import { bank } from "./circuits.js";

let clock: ManualClock;
beforeEach(() => {
  clock = useManualClock();
});
afterEach(() => {
  resetConfiguration();
});

/** A circuit that has opened, and whose cool-off of 30 s is over. */
async function halfOpen(options: CircuitBreakerOptions = { threshold: 2 }) {
  const made = bank(options);
  await made.fail(2);
  await clock.advance(30_000);
  made.told.works = 0;
  return made;
}

describe("a half-open circuit", () => {
  test("lets exactly one of many runs through, and refuses the others without having them wait", async () => {
    const { start, run, told } = await halfOpen();

    const probe = await start();
    const others = await Promise.all(Array.from({ length: 50 }, () => run("fine")));

    expect(others.map(({ metadata }) => metadata)).toEqual(
      Array.from({ length: 50 }, () => ({ code: "circuit_open", circuit: "Bank", retryAfterMs: 1_000 })),
    );
    expect(others[0]?.reason).toContain("the circuit Bank lets one run through at a time to see, after the failure: bank down");
    expect(told.works).toBe(1);
    probe.resume();
    expect(await probe.result).toMatchObject({ status: "success" });
  });

  test("lets one of many through that come in the same turn", async () => {
    const { Bank, told, state } = await halfOpen();
    told.weather = "fine";

    const results = await Promise.all(Array.from({ length: 20 }, () => Bank.execute()));

    expect(results.filter(({ status }) => status === "success")).toHaveLength(1);
    expect(results.filter(({ metadata }) => metadata.code === "circuit_open")).toHaveLength(19);
    expect(told.works).toBe(1);
    expect(state()).toBe("closed");
  });

  test("closes by the success of its probe, and counts from nothing", async () => {
    const { run, fail, state } = await halfOpen();

    await run("fine");
    expect(state()).toBe("closed");
    await fail(1);
    expect(state()).toBe("closed");
    await fail(1);

    expect(state()).toBe("open");
  });

  test("opens by the failure of its probe, for another whole cool-off", async () => {
    const { Bank, run } = await halfOpen();

    await run("foul");

    expect(circuitOf(Bank)).toEqual({ circuit: "Bank", state: "open", retryAfterMs: 30_000 });
  });

  test.each<[string, (task: Task) => unknown]>([
    ["fails by this.fail()", (task) => task.fail("no money")],
    ["is skipped", (task) => task.skip("nothing to do")],
  ])("stays half-open when its probe %s: the next run is the probe", async (_, halt) => {
    const { run, state } = await halfOpen();
    const events = recordEvents("circuit_half_opened", "circuit_opened", "circuit_closed");

    for (let at = 0; at < 3; at += 1) {
      expect((await run(halt)).metadata.code).toBeUndefined();
      expect(state()).toBe("half_open");
    }
    expect(await run("fine")).toMatchObject({ status: "success" });

    expect(state()).toBe("closed");
    expect(events.map(({ name }) => name)).toEqual([...Array.from({ length: 4 }, () => "circuit_half_opened"), "circuit_closed"]);
  });

  test("stays half-open when its probe is called off, also by a signal that had aborted before", async () => {
    const { Bank, told, run, state } = await halfOpen();
    told.weather = () => new Promise(() => undefined);
    const controller = new AbortController();

    const probe = Bank.execute({}, { signal: controller.signal });
    controller.abort();
    await probe;
    expect(state()).toBe("half_open");
    await Bank.execute({}, { signal: controller.signal });
    expect(state()).toBe("half_open");

    expect(await run("fine")).toMatchObject({ status: "success" });
  });

  test("gives up a probe that does not end within another cool-off, and lets the next run through", async () => {
    const { start, run, state } = await halfOpen();
    const hanging = await start();

    await clock.advance(29_999);
    expect(await run("fine")).toMatchObject({ metadata: { code: "circuit_open", retryAfterMs: 1 } });
    await clock.advance(1);

    expect(await run("fine")).toMatchObject({ status: "success" });
    expect(state()).toBe("closed");
    hanging.resume();
    expect(await hanging.result).toMatchObject({ status: "success" });
  });

  test("closes by the success of a probe that was given up: work that takes longer than the cool-off is no reason to stay open", async () => {
    const events = recordEvents("circuit_closed");
    const { start, state } = await halfOpen();
    const slow = await start();

    await clock.advance(45_000);
    slow.resume();
    const { runId } = await slow.result;

    expect(state()).toBe("closed");
    expect(events.map((event) => event.runId)).toEqual([runId]);
  });

  test("takes the word of a probe that was given up before that of the one under way", async () => {
    const { start, run, state } = await halfOpen();
    const events = recordEvents("circuit_closed", "circuit_opened");
    const slow = await start();
    await clock.advance(30_000);
    const second = await start(() => Promise.reject(new Error("bank down")));

    slow.resume();
    await slow.result;
    expect(state()).toBe("closed");
    expect(await run("fine")).toMatchObject({ status: "success" });
    second.resume();
    expect(await second.result).toMatchObject({ reason: "bank down" });

    expect(state()).toBe("closed");
    expect(ofName(events, "circuit_closed")).toHaveLength(1);
    expect(ofName(events, "circuit_opened")).toHaveLength(0);
  });

  test("opens by the failure of a probe that was given up, and then hears nothing of the other", async () => {
    const { start, state } = await halfOpen();
    const slow = await start(() => Promise.reject(new Error("bank down")));
    await clock.advance(30_000);
    const second = await start();

    slow.resume();
    await slow.result;
    second.resume();
    await second.result;

    expect(state()).toBe("open");
  });

  test("takes runs inside its probe for a part of it", async () => {
    const { Bank, run, state } = await halfOpen();
    let depth = 0;

    const result = await run(async () => {
      depth += 1;
      return depth < 3 ? (await Bank.execute()).status : "bottom";
    });

    expect(result).toMatchObject({ status: "success", output: "success" });
    expect(depth).toBe(3);
    expect(state()).toBe("closed");
  });

  test("does not let a failure inside its probe decide before the probe itself", async () => {
    const { Bank, run, told, state } = await halfOpen();

    await run(async () => {
      told.weather = "foul";
      await Bank.execute();
      return "made the best of it";
    });

    expect(state()).toBe("closed");
  });

  test("leaves no timer behind once its probe has ended", async () => {
    const { run } = await halfOpen();

    await run("fine");

    expect(clock.pending).toBe(0);
  });

  test("goes through open and half-open for as long as the trouble lasts, one run for each cool-off", async () => {
    const { run, told, state } = await halfOpen();

    for (let round = 0; round < 5; round += 1) {
      for (let at = 0; at < 10; at += 1) await run("foul");
      await clock.advance(30_000);
    }
    expect(told.works).toBe(5);
    await run("fine");

    expect(state()).toBe("closed");
  });

  test("of several classes lets one run of all of them through", async () => {
    const works: string[] = [];
    let foul = true;
    const member = (name: string) => {
      class Member extends Task.with({ name }) {
        work(): void {
          works.push(name);
          if (foul) throw new Error("bank down");
        }
      }
      circuitBreaker({ threshold: 2, scope: "bank" })(Member);
      return Member;
    };
    const [Charge, Refund] = [member("Charge"), member("Refund")];
    await Charge.execute();
    await Refund.execute();
    await clock.advance(30_000);
    foul = false;

    const results = await Promise.all([Charge.execute(), Refund.execute()]);

    expect(works).toEqual(["Charge", "Refund", "Charge"]);
    expect(results[1]).toMatchObject({ metadata: { code: "circuit_open", circuit: "bank" } });
    expect(await Refund.execute()).toMatchObject({ status: "success" });
  });
});
