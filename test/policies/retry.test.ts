import { afterEach, describe, expect, test } from "vitest";
import { aroundExecution, resetConfiguration, retryOn, Task, type ErrorMatcher, type Next } from "taskwright";
import { z } from "zod";
import { failingTask, flakyTask, recordEvents, taskOf, useManualClock } from "../support/builders.js";

afterEach(() => {
  resetConfiguration();
});

class CardError extends Error {}
class TimeoutError extends CardError {}

describe("how often", () => {
  test("three times by default, after half a second each", async () => {
    const clock = useManualClock();
    const { Failing, calls } = failingTask(new Error("network"), Error);

    const running = Failing.execute();
    await clock.advance(1_499);
    expect(calls()).toBe(3);
    await clock.advance(1);

    expect(await running).toMatchObject({ status: "failed", reason: "network", retries: 3 });
    expect(calls()).toBe(4);
    expect(clock.waits).toEqual([500, 500, 500]);
  });

  test("until it succeeds", async () => {
    const Flaky = flakyTask({ failures: 2 });
    retryOn(Error, { limit: 5, delay: 0 })(Flaky);

    expect(await Flaky.execute()).toMatchObject({ status: "success", output: { calls: 3 }, retries: 2 });
  });

  test.each([
    [0, 1],
    [1, 2],
    [7, 8],
  ])("a limit of %d makes %d attempts", async (limit, attempts) => {
    const { Failing, calls } = failingTask(new Error("network"), Error, { limit, delay: 0 });

    await Failing.execute();

    expect(calls()).toBe(attempts);
  });

  test("not at all without a decorator, or with nothing to retry on", async () => {
    const { Failing, calls } = failingTask(new Error("network"), { limit: 5, delay: 0 });

    await Failing.execute();

    expect(calls()).toBe(1);
  });

  test("a limit of 0 says nothing of retries", async () => {
    const events = recordEvents("retry_scheduled", "task_retried", "retries_exhausted");
    const { Failing } = failingTask(new Error("network"), Error, { limit: 0 });

    await Failing.execute();

    expect(events).toEqual([]);
  });
});

describe("what is retried", () => {
  test.each<[string, unknown, readonly ErrorMatcher[], boolean]>([
    ["an error of the class", new CardError("a"), [CardError], true],
    ["an error of a subclass", new TimeoutError("a"), [CardError], true],
    ["an error of another class", new Error("a"), [CardError], false],
    ["an error of one of several classes", new RangeError("a"), [CardError, TypeError, RangeError], true],
    ["an error that a predicate takes", Object.assign(new Error("a"), { code: "ECONNRESET" }), [(error: Error) => "code" in error], true],
    ["an error that a predicate refuses", new Error("a"), [(error: Error) => "code" in error], false],
    ["an error that a predicate takes with a truthy answer", new Error("a"), [(() => 1) as never], true],
    ["a thrown text, by Error", "a", [Error], true],
    ["a thrown text, by a class", "a", [CardError], false],
    ["a DOMException", new DOMException("a"), [DOMException], true],
  ])("%s", async (_, error, matchers, retried) => {
    const { Failing, calls } = failingTask(error, ...matchers);
    retryOn({ limit: 1, delay: 0 })(Failing);

    await Failing.execute();

    expect(calls()).toBe(retried ? 2 : 1);
  });

  test("a value of a class that is no error, by that class", async () => {
    class Rejection {
      readonly code = "rejected";
    }
    const { Failing, calls } = failingTask(new Rejection(), Rejection as never, { limit: 1, delay: 0 });

    await Failing.execute();

    expect(calls()).toBe(2);
  });

  test("an error of a class of the old kind", async () => {
    function OldError(this: Error): void {
      this.message = "old";
    }
    OldError.prototype = Object.create(Error.prototype) as Error;
    const error = Reflect.construct(OldError, []) as Error;
    const { Failing, calls } = failingTask(error, OldError as never, { limit: 1, delay: 0 });

    await Failing.execute();

    expect(calls()).toBe(2);
  });

  test.each<[string, (task: Task) => unknown]>([
    ["skip", (task) => task.skip("closed")],
    ["fail", (task) => task.fail("declined")],
    ["fail with a cause that would be retried", (task) => task.fail("declined", {}, { cause: new Error("network") })],
  ])("no halt: %s", async (_, halt) => {
    let calls = 0;
    const Sample = taskOf((task) => {
      calls += 1;
      halt(task);
    });
    retryOn(() => true, { limit: 3, delay: 0 })(Sample);

    await Sample.execute();

    expect(calls).toBe(1);
  });

  test("no output that does not fit: the work was done", async () => {
    let calls = 0;
    class Sample extends Task.with({ output: z.object({ id: z.string() }) }) {
      work(): { id: string } {
        calls += 1;
        return { id: 5 as never };
      }
    }
    retryOn(() => true, { limit: 3, delay: 0 })(Sample);

    expect(await Sample.execute()).toMatchObject({ metadata: { code: "invalid_output" } });
    expect(calls).toBe(1);
  });

  test("no input that does not fit, and nothing that a callback throws", async () => {
    let parsed = 0;
    const input = z.object({ id: z.string() }).transform((value) => {
      parsed += 1;
      return value;
    });
    class Sample extends Task.with({ input }) {
      work(): void {}
      @aroundExecution() async around(next: Next): Promise<void> {
        await next();
        throw new Error("network");
      }
    }
    retryOn(() => true, { limit: 3, delay: 0 })(Sample);
    const events = recordEvents("retry_scheduled");

    await Sample.execute({ id: 5 as never });
    await Sample.execute({ id: "a" });

    expect(parsed).toBe(1);
    expect(events).toEqual([]);
  });

  test("the failure of a nested run, by the error where it began", async () => {
    let calls = 0;
    const Inner = taskOf(() => {
      calls += 1;
      throw new CardError("declined");
    });
    const Outer = taskOf(async () => {
      await Inner.executeBang();
    });
    retryOn(CardError, { limit: 2, delay: 0 })(Outer);

    const result = await Outer.execute();

    expect(calls).toBe(3);
    expect(result).toMatchObject({ retries: 2, origin: { task: "Sample" } });
  });

  test("no programmer's mistake, which does not mend itself", async () => {
    let calls = 0;
    const Inner = taskOf(() => 1);
    const Outer = taskOf(async () => {
      calls += 1;
      await Inner.execute({}, { sginal: undefined } as object);
    });
    retryOn(() => true, { limit: 2, delay: 0 })(Outer);

    expect(await Outer.execute()).toMatchObject({ status: "failed", error: { name: "DefinitionError" }, retryable: false });
    expect(calls).toBe(1);
  });

  test("no failure of a nested run that says that it cannot end better", async () => {
    let calls = 0;
    const Inner = taskOf((task) => {
      calls += 1;
      task.fail("card expired", {}, { retryable: false });
    });
    const Outer = taskOf(async () => {
      await Inner.executeBang();
    });
    retryOn(() => true, { limit: 2, delay: 0 })(Outer);

    expect(await Outer.execute()).toMatchObject({ retryable: false });
    expect(calls).toBe(1);
  });
});
