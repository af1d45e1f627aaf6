import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { deprecated, resetConfiguration, retryOn, Task, use } from "taskwright";
import { rejectionOf, useManualClock } from "../support/builders.js";
import { closing, input, opening, output, story, tellingTask, Telling, tellStory } from "../support/telling-task.js";

beforeEach(tellStory);
afterEach(() => {
  resetConfiguration();
});

describe("the order of one run", () => {
  test("that succeeds", async () => {
    await tellingTask(() => ({ id: "ch_1" })).execute({ amount: 1 });

    expect(story).toEqual([
      ...opening,
      "parse",
      "work",
      "verify",
      ...closing("success", "on_complete", "on_success", "on_ok"),
      "log info: Charge success",
    ]);
  });

  test("that succeeds by this.success()", async () => {
    class Charge extends Telling.with({ input, output }) {
      work(): { id: string } {
        story.push("work");
        return this.success({ id: "ch_1" });
      }
    }

    await Charge.execute({ amount: 1 });

    expect(story).toEqual([
      ...opening,
      "parse",
      "work",
      "verify",
      ...closing("success", "on_complete", "on_success", "on_ok"),
      "log info: Charge success",
    ]);
  });

  test("that is skipped: no verification, no rollback", async () => {
    await tellingTask((task) => task.skip("nothing to do")).execute({ amount: 1 });

    expect(story).toEqual([
      ...opening,
      "parse",
      "work",
      ...closing("skipped", "on_interrupted", "on_skipped", "on_ok", "on_ko"),
      "log info: Charge skipped: nothing to do",
    ]);
  });

  test.each([
    ["fails by this.fail()", (task: Task) => task.fail("declined")],
    [
      "throws",
      () => {
        throw new Error("declined");
      },
    ],
  ])("that %s: the rollback comes before the outcome is handed out", async (_, work) => {
    await tellingTask(work).execute({ amount: 1 });

    expect(story).toEqual([
      ...opening,
      "parse",
      "work",
      "rollback",
      "* task_rolled_back",
      ...closing("failed", "on_interrupted", "on_failed", "on_ko"),
      "log error: Charge failed: declined",
    ]);
  });

  test("that is given an input which does not fit: work is not entered, nothing is rolled back", async () => {
    await tellingTask(() => ({ id: "ch_1" })).execute({ amount: "much" as never });

    expect(story).toEqual([
      ...opening,
      ...closing("failed", "on_interrupted", "on_failed", "on_ko"),
      expect.stringMatching(/^log error: Charge failed: .*amount/),
    ]);
  });

  test("whose output does not fit: what work did is rolled back", async () => {
    await tellingTask(() => ({ id: 5 as never })).execute({ amount: 1 });

    expect(story).toEqual([
      ...opening,
      "parse",
      "work",
      "rollback",
      "* task_rolled_back",
      ...closing("failed", "on_interrupted", "on_failed", "on_ko"),
      expect.stringMatching(/^log error: Charge failed: .*id/),
    ]);
  });

  test("that was called off before it began: work is not entered, nothing is rolled back", async () => {
    await tellingTask(() => ({ id: "ch_1" })).execute({ amount: 1 }, { signal: AbortSignal.abort(new Error("closing time")) });

    expect(story).toEqual([
      ...opening,
      "parse",
      ...closing("failed", "on_interrupted", "on_failed", "on_ko"),
      "log error: Charge failed: Charge was aborted: closing time",
    ]);
  });

  test("that a middleware turns away: it never started, so no callback runs", async () => {
    const Charge = tellingTask(() => ({ id: "ch_1" }));
    use((task: Task) => task.skip("not today"))(Charge);

    await Charge.execute({ amount: 1 });

    expect(story).toEqual([
      "> outer middleware",
      "> inner middleware",
      "< inner middleware skipped",
      "< outer middleware skipped",
      "* task_executed",
      "log info: Charge skipped: not today",
    ]);
  });

  test("of a deprecated task that is not to be run any more", async () => {
    const Charge = tellingTask(() => ({ id: "ch_1" }));
    deprecated("use ChargeCard", { action: "fail" })(Charge);

    await Charge.execute({ amount: 1 });

    expect(story).toEqual([
      "> outer middleware",
      "> inner middleware",
      "* task_started",
      "* task_deprecated",
      "after_execution",
      "on_interrupted",
      "on_failed",
      "on_ko",
      "< inner middleware failed",
      "< outer middleware failed",
      "* task_executed",
      "log error: Charge failed: Charge is deprecated: use ChargeCard",
    ]);
  });

  test("of a deprecated task that still runs: the mark comes before the callbacks", async () => {
    const Charge = tellingTask(() => ({ id: "ch_1" }));
    deprecated("use ChargeCard")(Charge);

    await Charge.execute({ amount: 1 });

    expect(story.slice(2, 6)).toEqual([
      "* task_started",
      "* task_deprecated",
      "log warn: Charge is deprecated: use ChargeCard",
      "before_execution",
    ]);
  });

  test("that is retried and then succeeds: only work is repeated", async () => {
    let attempts = 0;
    const Charge = tellingTask(() => {
      attempts += 1;
      if (attempts < 3) throw new Error("network");
      return { id: "ch_1" };
    });
    retryOn(Error, { limit: 3, delay: 0 })(Charge);

    await Charge.execute({ amount: 1 });

    expect(story).toEqual([
      ...opening,
      "parse",
      "work",
      "* retry_scheduled",
      "* task_retried",
      "work",
      "* retry_scheduled",
      "* task_retried",
      "work",
      "verify",
      ...closing("success", "on_complete", "on_success", "on_ok"),
      "log info: Charge success",
    ]);
  });

  test("whose retries are used up: one rollback, after the last attempt", async () => {
    const Charge = tellingTask(() => {
      throw new Error("network");
    });
    retryOn(Error, { limit: 1, delay: 0 })(Charge);

    await Charge.execute({ amount: 1 });

    expect(story).toEqual([
      ...opening,
      "parse",
      "work",
      "* retry_scheduled",
      "* task_retried",
      "work",
      "* retries_exhausted",
      "rollback",
      "* task_rolled_back",
      ...closing("failed", "on_interrupted", "on_failed", "on_ko"),
      "log error: Charge failed: network",
    ]);
  });

  test("of a task with nothing declared", async () => {
    class Plain extends Task.with() {
      work(): void {
        story.push("work");
      }
    }

    await Plain.execute();

    expect(story).toEqual(["* task_started", "work", "* task_executed", "log info: Plain success"]);
  });

  test("that is nested: the inner run is over before the outer one goes on", async () => {
    class Inner extends Task.with() {
      work(): void {
        story.push("inner work");
      }
    }
    class Outer extends Task.with() {
      async work(): Promise<void> {
        story.push("outer work");
        await Inner.execute();
        story.push("outer work goes on");
      }
    }

    await Outer.execute();

    expect(story).toEqual([
      "* task_started",
      "outer work",
      "* task_started",
      "inner work",
      "* task_executed",
      "log info: Inner success",
      "outer work goes on",
      "* task_executed",
      "log info: Outer success",
    ]);
  });
});

describe("timing", () => {
  test("the duration goes from the call to the answer, waits for retries included", async () => {
    const clock = useManualClock();
    class Slow extends Task.with() {
      work(): void {
        if (this.attempt === 1) throw new Error("once");
      }
    }
    retryOn(Error, { delay: "2s" })(Slow);

    const running = Slow.execute();
    await clock.advance(2_000);

    expect((await running).durationMs).toBe(2_000);
  });
});

test("execute rejects for a programmer's mistake only, and then nothing has run", async () => {
  abstract class Charge extends Task.with() {}

  const error = await rejectionOf((Charge as unknown as { execute(): Promise<unknown> }).execute());

  expect(error).toMatchObject({ code: "definition", message: "Charge has no work. Give the class a method: async work() { … }." });
  expect(story).toEqual([]);
});
