import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  afterExecution,
  aroundExecution,
  beforeExecution,
  beforeValidation,
  configure,
  deprecated,
  onComplete,
  onFailed,
  onInterrupted,
  onKo,
  onOk,
  onSkipped,
  onSuccess,
  resetConfiguration,
  retryOn,
  Task,
  use,
  type Next,
  type Outcome,
} from "taskwright";
import { z } from "zod";
import { eventNames } from "../../src/telemetry/events.js";
import { rejectionOf, useManualClock } from "../support/builders.js";

/** What happened in a run, in order. */
let story: string[] = [];

beforeEach(() => {
  story = [];
  configure((config) => {
    for (const name of eventNames) config.telemetry.subscribe(name, (event) => story.push(`* ${event.name}`));
    const line = (level: string) => (_fields: object, message: string) => {
      story.push(`log ${level}: ${message}`);
    };
    config.logger = { info: line("info"), warn: line("warn"), error: line("error") };
  });
});

afterEach(() => {
  resetConfiguration();
});

const told = async (name: string, next: Next): Promise<void> => {
  story.push(`> ${name}`);
  const outcome = await next();
  story.push(`< ${name} ${outcome.status}`);
};

/** A base class that tells of everything that it goes through. */
@use(function outer(_task, next) {
  return told("outer middleware", next);
})
@use(function inner(_task, next) {
  return told("inner middleware", next);
})
abstract class Telling extends Task {
  @beforeExecution() first(): void {
    story.push("before_execution");
  }
  @beforeValidation() second(): void {
    story.push("before_validation");
  }
  @aroundExecution() around(next: Next): Promise<void> {
    return told("around_execution", next);
  }
  @afterExecution() after(): void {
    story.push("after_execution");
  }
  @onComplete() complete(): void {
    story.push("on_complete");
  }
  @onInterrupted() interrupted(): void {
    story.push("on_interrupted");
  }
  @onSuccess() success_(): void {
    story.push("on_success");
  }
  @onSkipped() skipped(): void {
    story.push("on_skipped");
  }
  @onFailed() failed(): void {
    story.push("on_failed");
  }
  @onOk() ok(): void {
    story.push("on_ok");
  }
  @onKo() ko(): void {
    story.push("on_ko");
  }
}

const input = z.object({ amount: z.number() }).transform((value) => {
  story.push("parse");
  return value;
});
const output = z.object({ id: z.string() }).transform((value) => {
  story.push("verify");
  return value;
});

/** A task that does everything a task may do. */
function tellingTask(work: (task: Task) => { id: string }) {
  return class Charge extends Telling.with({ input, output }) {
    work(): { id: string } {
      story.push("work");
      return work(this);
    }

    override rollback(): void {
      story.push("rollback");
    }
  };
}

const opening = [
  "> outer middleware",
  "> inner middleware",
  "* task_started",
  "before_execution",
  "before_validation",
  "> around_execution",
];
const closing = (status: Outcome["status"], ...callbacks: string[]): string[] => [
  `< around_execution ${status}`,
  "after_execution",
  ...callbacks,
  `< inner middleware ${status}`,
  `< outer middleware ${status}`,
  "* task_executed",
];

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

describe("a throw or a halt before the outcome stands", () => {
  test.each(["before_execution", "before_validation"] as const)(
    "in %s fails the run, and the completion callbacks still run",
    async (name) => {
      const Charge = tellingTask(() => ({ id: "ch_1" }));
      configure((config) => {
        config.callback(name, () => {
          throw new Error("broken");
        });
      });

      const result = await Charge.execute({ amount: 1 });

      expect(result).toMatchObject({ status: "failed", reason: "broken", rolledBack: false });
      expect(story).not.toContain("work");
      expect(story.slice(-8)).toEqual([
        "after_execution",
        "on_interrupted",
        "on_failed",
        "on_ko",
        "< inner middleware failed",
        "< outer middleware failed",
        "* task_executed",
        "log error: Charge failed: broken",
      ]);
    },
  );

  test("a halt in a callback before the run is its outcome, also when the callback swallows it", async () => {
    const Charge = tellingTask(() => ({ id: "ch_1" }));
    configure((config) => {
      config.callback("before_execution", (task) => {
        try {
          task.skip("closed");
        } catch {
          // as careless code does
        }
      });
    });

    const result = await Charge.execute({ amount: 1 });

    expect(result).toMatchObject({ status: "skipped", reason: "closed" });
    expect(story).not.toContain("work");
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
