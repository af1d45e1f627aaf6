import { afterEach, describe, expect, test } from "vitest";
import { configure, deprecated, resetConfiguration, Task } from "taskwright";
import { z } from "zod";
import { memoryLogger, ofName, recordEvents, taskOf, warningsOf } from "../support/builders.js";

afterEach(() => {
  resetConfiguration();
});

describe("a deprecated task", () => {
  test("by default runs, says so in its result, in an event and in a line at level warn", async () => {
    const { logger, lines } = memoryLogger();
    configure((config) => {
      config.logger = logger;
    });
    const events = recordEvents("task_deprecated");
    @deprecated("use ChargeCard")
    class Charge extends Task.with() {
      work(): string {
        return "ch_1";
      }
    }

    const result = await Charge.execute();

    expect(result).toMatchObject({ status: "success", deprecated: true });
    expect(ofName(events, "task_deprecated")[0]?.payload).toEqual({ message: "use ChargeCard" });
    expect(lines.map(({ level, message }) => `${level} ${message}`)).toEqual([
      "warn Charge is deprecated: use ChargeCard",
      "info Charge success",
    ]);
  });

  test("with the action warn gives a deprecation warning of the process, once for each task", async () => {
    @deprecated("use ChargeCard", { action: "warn" })
    class ChargeWithWarning extends Task.with() {
      work(): void {}
    }

    const warnings = await warningsOf(async () => {
      await ChargeWithWarning.execute();
      await ChargeWithWarning.execute();
    });

    expect(warnings.map(({ name, message }) => [name, message])).toEqual([
      ["DeprecationWarning", "ChargeWithWarning is deprecated: use ChargeCard"],
    ]);
  });

  test("with the action fail is refused: work and rollback are not entered, and nothing is to be tried again", async () => {
    const entered: string[] = [];
    @deprecated("use ChargeCard", { action: "fail" })
    class Charge extends Task.with({ input: z.object({ amount: z.number() }) }) {
      work(): void {
        entered.push("work");
      }
      override rollback(): void {
        entered.push("rollback");
      }
    }

    const result = await Charge.execute({ amount: 1 });

    expect(entered).toEqual([]);
    expect(result).toMatchObject({
      status: "failed",
      deprecated: true,
      reason: "Charge is deprecated: use ChargeCard",
      metadata: { code: "deprecated" },
      retryable: false,
      rolledBack: false,
      error: { name: "DeprecatedError", code: "deprecated" },
    });
  });

  test("by gates is one only for some runs", async () => {
    class Charge extends Task.with({ input: z.object({ v: z.number() }) }) {
      work(): void {}
    }
    deprecated<Charge>("use v2", { if: (task) => task.context["version"] === 1, unless: (task) => task.context["excused"] === true })(
      Charge,
    );

    const deprecatedIn = async (context: object): Promise<boolean> => (await Charge.execute({ v: 1 }, { context })).deprecated;

    expect(await deprecatedIn({ version: 1 })).toBe(true);
    expect(await deprecatedIn({ version: 2 })).toBe(false);
    expect(await deprecatedIn({ version: 1, excused: true })).toBe(false);
  });

  test("whose gate throws fails, and its callbacks still run", async () => {
    const seen: string[] = [];
    configure((config) => config.callback("on_failed", () => seen.push("on_failed")));
    const Sample = taskOf(() => 1);
    deprecated("use another", {
      if: () => {
        throw new Error("gate");
      },
    })(Sample);

    expect(await Sample.execute()).toMatchObject({ status: "failed", reason: "gate" });
    expect(seen).toEqual(["on_failed"]);
  });
});

describe("inheritance of the mark", () => {
  @deprecated("use another", { action: "fail" })
  class Parent extends Task.with() {
    work(): void {}
  }

  test("a child inherits it", async () => {
    class Child extends Parent {}

    expect(await Child.execute()).toMatchObject({ deprecated: true, status: "failed" });
  });

  test("false takes it away, and a grandchild may set it again", async () => {
    @deprecated(false)
    class Child extends Parent {}
    @deprecated("again")
    class Grandchild extends Child {}

    expect(await Child.execute()).toMatchObject({ deprecated: false, status: "success" });
    expect(await Grandchild.execute()).toMatchObject({ deprecated: true, status: "success" });
    expect(await Parent.execute()).toMatchObject({ deprecated: true, status: "failed" });
  });

  test("a new mark takes the place of the inherited one, its action and gates included", async () => {
    const events = recordEvents("task_deprecated");
    @deprecated("softer")
    class Child extends Parent {}

    expect(await Child.execute()).toMatchObject({ status: "success", deprecated: true });
    expect(ofName(events, "task_deprecated")[0]?.payload.message).toBe("softer");
  });
});
