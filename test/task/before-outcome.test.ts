import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { configure, resetConfiguration } from "taskwright";
import { story, tellingTask, tellStory } from "../support/telling-task.js";

beforeEach(tellStory);
afterEach(() => {
  resetConfiguration();
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
