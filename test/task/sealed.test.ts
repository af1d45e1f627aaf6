import { afterEach, describe, expect, test } from "vitest";
import { aroundExecution, callback, onFailed, onSuccess, resetConfiguration, Task, use, type Next, type Outcome } from "taskwright";
import { z } from "zod";
import { ofName, recordEvents, taskOf } from "../support/builders.js";

afterEach(() => {
  resetConfiguration();
});

describe("an outcome that is sealed", () => {
  test.each(["after_execution", "on_complete", "on_success", "on_ok"] as const)("is not changed by %s that throws", async (name) => {
    const events = recordEvents("observer_error");
    const Sample = taskOf(() => "done");
    callback(name, function broken() {
      throw new Error("no mail today");
    })(Sample);

    const result = await Sample.execute();

    expect(result).toMatchObject({ status: "success", output: "done" });
    expect(ofName(events, "observer_error").map(({ payload }) => [payload.observer, payload.error.message])).toEqual([
      [`the ${name} callback broken`, "no mail today"],
    ]);
  });

  test.each(["after_execution", "on_interrupted", "on_failed", "on_ko"] as const)(
    "of a failure is not changed by %s that throws",
    async (name) => {
      const error = new Error("declined");
      const Sample = taskOf(() => {
        throw error;
      });
      callback(name, () => {
        throw new Error("no mail today");
      })(Sample);

      const result = await Sample.execute();

      expect(result).toHaveProperty("error", error);
    },
  );

  test("is the same for every middleware, every callback, the events and the result", async () => {
    const seen: Outcome["status"][] = [];
    const note = (outcome: Outcome): void => {
      seen.push(outcome.status);
    };
    class Sample extends Task.with() {
      work(): never {
        throw new Error("declined");
      }
      @aroundExecution() async around(next: Next): Promise<void> {
        note(await next());
      }
      @onFailed() failed(outcome: Outcome): void {
        note(outcome);
      }
    }
    for (const _ of [1, 2]) use(async (_task: Task, next) => note(await next()))(Sample);
    const events = recordEvents("task_executed");

    const result = await Sample.execute();

    expect(seen).toEqual(["failed", "failed", "failed", "failed"]);
    expect(ofName(events, "task_executed")[0]?.payload.result).toBe(result);
  });

  test("by an around callback that throws before next is the failure; one that throws after next changes nothing", async () => {
    class Before extends Task.with() {
      work(): number {
        return 1;
      }
      @aroundExecution() around(): void {
        throw new Error("broken");
      }
    }
    class After extends Task.with() {
      work(): number {
        return 1;
      }
      @aroundExecution() async around(next: Next): Promise<void> {
        await next();
        throw new Error("broken");
      }
    }

    expect(await Before.execute()).toMatchObject({ status: "failed", reason: "broken" });
    expect(await After.execute()).toMatchObject({ status: "success", output: 1 });
  });

  test("leaves the metadata open to the completion callbacks, and closes it with the result", async () => {
    class Sample extends Task.with() {
      work(): number {
        this.metadata["at"] = "work";
        return 1;
      }
      @onSuccess() mailed(): void {
        this.metadata["mailed"] = true;
      }
    }

    expect((await Sample.execute()).metadata).toEqual({ at: "work", mailed: true });
  });

  test("cannot be changed through the task's metadata afterwards", async () => {
    const amounts = [1];
    let kept: Task | undefined;
    const result = await taskOf((task) => {
      kept = task;
      task.metadata["amounts"] = amounts;
    }).execute();

    amounts.push(2);
    Object.assign(kept?.metadata ?? {}, { late: true });

    expect(result.metadata).toEqual({ amounts: [1] });
  });

  test("keeps the code that names why, whatever the task notes under it", async () => {
    class Sample extends Task.with({ input: z.object({ a: z.string() }) }) {
      work(): number {
        return 1;
      }
      @onFailed() note(): void {
        this.metadata["code"] = "something_else";
      }
    }

    expect((await Sample.execute({ a: 1 as never })).metadata).toEqual({ code: "invalid_input" });
  });
});
