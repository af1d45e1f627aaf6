import { afterEach, describe, expect, test } from "vitest";
import { resetConfiguration, type RetryOptions } from "taskwright";
import { failingTask, ofName, recordEvents } from "../support/builders.js";
import { settle } from "../support/manual-clock.js";

afterEach(() => {
  resetConfiguration();
});

class CardError extends Error {}

describe("gates", () => {
  test("get the task as this, the error and the number of the attempt that failed", async () => {
    const seen: unknown[] = [];
    const error = new Error("network");
    const { Failing } = failingTask(error, Error, {
      limit: 3,
      delay: 0,
      if(task, failure, attempt) {
        seen.push([this === task, failure === error, attempt, task.attempt]);
        return attempt < 3;
      },
    });

    expect(await Failing.execute()).toMatchObject({ retries: 2 });
    expect(seen).toEqual([
      [true, true, 1, 1],
      [true, true, 2, 2],
      [true, true, 3, 3],
    ]);
  });

  test("both must pass", async () => {
    const { Failing, calls } = failingTask(new Error("network"), Error, {
      delay: 0,
      if: () => true,
      unless: (_task, _error, attempt) => attempt === 2,
    });

    await Failing.execute();

    expect(calls()).toBe(2);
  });

  test("are not asked for errors that do not match", async () => {
    let asked = 0;
    const gate = (): boolean => {
      asked += 1;
      return true;
    };
    const { Failing } = failingTask(new Error("network"), CardError, { delay: 0, if: gate });

    await Failing.execute();

    expect(asked).toBe(0);
  });

  test.each<[string, RetryOptions["if"] & object]>([
    [
      "throws",
      () => {
        throw new Error("broken gate");
      },
    ],
    ["answers with a promise", (() => Promise.resolve(true)) as never],
    ["answers with a promise that rejects", (() => Promise.reject(new Error("late"))) as never],
  ])("one that %s cannot vouch for a retry: the failure stands, and it is reported", async (_, gate) => {
    const events = recordEvents("observer_error");
    const { Failing, calls } = failingTask(new Error("network"), Error, { delay: 0, if: gate });

    expect(await Failing.execute()).toMatchObject({ reason: "network", retries: 0 });
    await settle();

    expect(calls()).toBe(1);
    expect(ofName(events, "observer_error")).toHaveLength(1);
  });

  test.each<[string, () => boolean]>([
    [
      "throws",
      () => {
        throw new Error("broken predicate");
      },
    ],
    ["answers with a promise", (() => Promise.resolve(false)) as never],
    ["answers with a promise that rejects", (() => Promise.reject(new Error("late"))) as never],
  ])("the same holds for a predicate that %s", async (_, predicate) => {
    const events = recordEvents("observer_error");
    const { Failing, calls } = failingTask(new Error("network"), predicate, { delay: 0 });

    expect(await Failing.execute()).toMatchObject({ reason: "network", retries: 0 });
    await settle();

    expect(calls()).toBe(1);
    expect(ofName(events, "observer_error")[0]?.payload.observer).toBe("a predicate or gate of @retryOn()");
  });
});
