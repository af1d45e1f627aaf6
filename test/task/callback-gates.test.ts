import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { callback, onSuccess, resetConfiguration, Task } from "taskwright";
import { z } from "zod";
import { ofName, recordEvents, taskOf } from "../support/builders.js";
import { settle } from "../support/manual-clock.js";

let story: string[] = [];
const note = (line: string): void => {
  story.push(line);
};

beforeEach(() => {
  story = [];
});
afterEach(() => {
  resetConfiguration();
});

describe("gates of a callback", () => {
  test("let it run only when both pass, and are asked with the task", async () => {
    class Sample extends Task.with({ input: z.object({ amount: z.number() }) }) {
      work(): void {}
    }
    callback<"on_success", Sample>("on_success", () => note("big"), {
      if(task) {
        return this === task && task.input.amount > 10;
      },
      unless: (task) => task.input.amount > 100,
    })(Sample);

    for (const amount of [5, 50, 500]) await Sample.execute({ amount });

    expect(story).toEqual(["big"]);
  });

  test("that throw in a completion callback are reported, and the callback does not run", async () => {
    const events = recordEvents("observer_error");
    const Sample = taskOf(() => 1);
    const broken = (): boolean => {
      throw new Error("gate");
    };
    callback("on_success", () => note("ran"), { if: broken })(Sample);

    expect((await Sample.execute()).status).toBe("success");
    expect(story).toEqual([]);
    expect(ofName(events, "observer_error")).toHaveLength(1);
  });

  test("that throw before the run fail it", async () => {
    const Sample = taskOf(() => 1);
    const broken = (): boolean => {
      throw new Error("gate");
    };
    callback("before_execution", () => note("ran"), { unless: broken })(Sample);

    expect(await Sample.execute()).toMatchObject({ status: "failed", reason: "gate" });
    expect(story).toEqual([]);
  });

  test("that answer with a promise are refused, also when it rejects", async () => {
    const Sample = taskOf(() => 1);
    const late = (): boolean => Promise.reject(new Error("nobody hears this")) as unknown as boolean;
    callback("before_execution", () => note("ran"), { if: late })(Sample);

    const result = await Sample.execute();

    expect(result).toMatchObject({ status: "failed", error: { name: "DefinitionError" } });
    expect(result.reason).toContain("answered with a promise");
    await settle();
  });
});

describe("one method decorated several times for one callback", () => {
  class Parent extends Task.with({ input: z.object({ amount: z.number() }) }) {
    work(): void {}
    @onSuccess<Parent>({ if: (task) => task.input.amount > 10 })
    @onSuccess<Parent>({ if: (task) => task.input.amount < 0 })
    unusual(): void {
      note("unusual");
    }
    @onSuccess() last(): void {
      note("last");
    }
  }

  test("runs for each of them whose gates pass", async () => {
    for (const amount of [5, 50, -5]) await Parent.execute({ amount });

    expect(story).toEqual(["last", "unusual", "last", "unusual", "last"]);
  });

  test("is taken over as a whole by a subclass that decorates it again, in its place", async () => {
    class Child extends Parent {
      @onSuccess() override unusual(): void {
        note("always");
      }
    }

    await Child.execute({ amount: 5 });
    await Parent.execute({ amount: 5 });

    expect(story).toEqual(["always", "last", "last"]);
  });
});
