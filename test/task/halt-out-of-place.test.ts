import { afterEach, describe, expect, test } from "vitest";
import {
  aroundExecution,
  beforeExecution,
  FinishedTaskError,
  onSuccess,
  resetConfiguration,
  retryOn,
  Task,
  use,
  type Next,
} from "taskwright";
import { ofName, recordEvents, swallow, taskOf, thrownBy } from "../support/builders.js";

afterEach(() => {
  resetConfiguration();
});

describe("a halt on a finished task", () => {
  test("is an error that says so", async () => {
    let kept: Task | undefined;
    await taskOf((task) => {
      kept = task;
    }).execute();

    for (const halt of [() => kept?.skip(), () => kept?.fail("late")]) {
      expect(thrownBy(halt)).toBeInstanceOf(FinishedTaskError);
    }
  });

  test("of success, too", async () => {
    class Sample extends Task.with() {
      static kept: Sample | undefined;
      work(): unknown {
        Sample.kept = this;
        return 1;
      }
    }
    await Sample.execute();

    expect(thrownBy(() => Sample.kept?.success())).toBeInstanceOf(FinishedTaskError);
  });

  test("of propagate, too; with nothing to propagate it does nothing", async () => {
    const failed = await taskOf((task) => task.fail("no")).execute();
    const fine = await taskOf(() => 1).execute();
    let kept: Task | undefined;
    await taskOf((task) => {
      kept = task;
    }).execute();

    expect(thrownBy(() => kept?.propagate(failed))).toBeInstanceOf(FinishedTaskError);
    expect(kept?.propagate(fine)).toBeUndefined();
  });

  test("that was made by hand and never ran is told how to run", () => {
    const Sample = taskOf(() => 1);

    expect(thrownBy(() => new Sample().skip())).toMatchObject({
      code: "definition",
      message: "This Sample is not running. Call Sample.execute(…) instead of making it by hand.",
    });
  });
});

describe("a halt of another run", () => {
  test("of the parent inside a child: the child is left, the parent answers with it, also when the child's result is ignored", async () => {
    let childStatus: string | undefined;
    class Parent extends Task.with() {
      async work(): Promise<string> {
        const child = await taskOf(() => this.fail("parent says no")).execute();
        childStatus = child.status;
        return "went on";
      }
    }

    const result = await Parent.execute();

    expect(childStatus).toBe("failed");
    expect(result).toMatchObject({ status: "failed", reason: "parent says no", origin: { task: "Parent" } });
  });

  test("leaves the child with a failure that is nobody's error, so that it is not retried", async () => {
    let attempts = 0;
    class Parent extends Task.with() {
      async work(): Promise<unknown> {
        const Child = taskOf(() => {
          attempts += 1;
          this.skip("enough");
        });
        retryOn(() => true, { limit: 3, delay: 0 })(Child);
        return (await Child.execute()).metadata;
      }
    }

    expect(await Parent.execute()).toMatchObject({ status: "skipped", reason: "enough" });
    expect(attempts).toBe(1);
  });

  test("of a child that has ended, inside its parent, is an error of the parent's work", async () => {
    let child: Task | undefined;
    const Child = taskOf((task) => {
      child = task;
    });
    const Parent = taskOf(async () => {
      await Child.execute();
      child?.skip("too late");
    });

    expect(await Parent.execute()).toMatchObject({ status: "failed", error: { name: "FinishedTaskError" } });
  });
});

describe("a halt in a callback or middleware", () => {
  test("before the run turns it away", async () => {
    let worked = false;
    class Sample extends Task.with() {
      work(): void {
        worked = true;
      }
      @beforeExecution() closed(): void {
        this.fail("closed");
      }
    }

    expect(await Sample.execute()).toMatchObject({ status: "failed", reason: "closed" });
    expect(worked).toBe(false);
  });

  test("that a middleware swallows still turns the run away, though it goes on to call next", async () => {
    let worked = false;
    const Sample = taskOf(() => {
      worked = true;
    });
    use((task: Task, next) => {
      swallow(() => task.skip("closed"));
      return next();
    })(Sample);

    expect(await Sample.execute()).toMatchObject({ status: "skipped", reason: "closed" });
    expect(worked).toBe(false);
  });

  test("around the run, before next, is the outcome", async () => {
    class Sample extends Task.with() {
      work(): number {
        return 1;
      }
      @aroundExecution() around(_next: Next): void {
        this.skip("closed");
      }
    }

    expect(await Sample.execute()).toMatchObject({ status: "skipped", reason: "closed" });
  });

  test("after the outcome stood changes nothing, and is reported", async () => {
    const events = recordEvents("observer_error");
    class Sample extends Task.with() {
      work(): number {
        return 1;
      }
      @onSuccess() late(): void {
        this.fail("changed my mind");
      }
    }
    use(async (task: Task, next) => {
      await next();
      task.skip("me too");
    })(Sample);

    const result = await Sample.execute();

    expect(result).toMatchObject({ status: "success", output: 1 });
    expect(ofName(events, "observer_error").map(({ payload }) => [payload.observer, payload.error.message])).toEqual([
      ["the on_success callback late", "Sample was halted (failed) after its outcome stood. Await everything that may halt inside work."],
      ["the middleware without a name", "Sample was halted (skipped) after its outcome stood. Await everything that may halt inside work."],
    ]);
  });

  test("in a rollback is illegal: the run stays failed and the rollback counts as not done", async () => {
    class Sample extends Task.with() {
      work(): void {
        throw new Error("declined");
      }
      override rollback(): void {
        this.skip("nothing happened");
      }
    }

    const result = await Sample.execute();

    expect(result).toMatchObject({ status: "failed", reason: "declined", rolledBack: false, rollbackError: { name: "FinishedTaskError" } });
  });
});
