import { afterEach, describe, expect, test } from "vitest";
import { aroundExecution, resetConfiguration, retryOn, Task, type ErrorMatcher, type Next, type RetryOptions } from "taskwright";
import { z } from "zod";
import { flakyTask, ofName, recordEvents, taskOf, useManualClock } from "../support/builders.js";
import { settle } from "../support/manual-clock.js";

afterEach(() => {
  resetConfiguration();
});

class CardError extends Error {}
class TimeoutError extends CardError {}

/** A task that always throws the error, and counts how often. */
function failing(error: unknown, ...retry: readonly (ErrorMatcher | RetryOptions)[]) {
  let calls = 0;
  const Failing = taskOf(() => {
    calls += 1;
    throw error;
  });
  retryOn(...retry)(Failing);
  return { Failing, calls: () => calls };
}

describe("how often", () => {
  test("three times by default, after half a second each", async () => {
    const clock = useManualClock();
    const { Failing, calls } = failing(new Error("network"), Error);

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
    const { Failing, calls } = failing(new Error("network"), Error, { limit, delay: 0 });

    await Failing.execute();

    expect(calls()).toBe(attempts);
  });

  test("not at all without a decorator, or with nothing to retry on", async () => {
    const { Failing, calls } = failing(new Error("network"), { limit: 5, delay: 0 });

    await Failing.execute();

    expect(calls()).toBe(1);
  });

  test("a limit of 0 says nothing of retries", async () => {
    const events = recordEvents("retry_scheduled", "task_retried", "retries_exhausted");
    const { Failing } = failing(new Error("network"), Error, { limit: 0 });

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
    const { Failing, calls } = failing(error, ...matchers);
    retryOn({ limit: 1, delay: 0 })(Failing);

    await Failing.execute();

    expect(calls()).toBe(retried ? 2 : 1);
  });

  test("a value of a class that is no error, by that class", async () => {
    class Rejection {
      readonly code = "rejected";
    }
    const { Failing, calls } = failing(new Rejection(), Rejection as never, { limit: 1, delay: 0 });

    await Failing.execute();

    expect(calls()).toBe(2);
  });

  test("an error of a class of the old kind", async () => {
    function OldError(this: Error): void {
      this.message = "old";
    }
    OldError.prototype = Object.create(Error.prototype) as Error;
    const error = Reflect.construct(OldError, []) as Error;
    const { Failing, calls } = failing(error, OldError as never, { limit: 1, delay: 0 });

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

describe("gates", () => {
  test("get the task as this, the error and the number of the attempt that failed", async () => {
    const seen: unknown[] = [];
    const error = new Error("network");
    const { Failing } = failing(error, Error, {
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
    const { Failing, calls } = failing(new Error("network"), Error, {
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
    const { Failing } = failing(new Error("network"), CardError, { delay: 0, if: gate });

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
    const { Failing, calls } = failing(new Error("network"), Error, { delay: 0, if: gate });

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
    const { Failing, calls } = failing(new Error("network"), predicate, { delay: 0 });

    expect(await Failing.execute()).toMatchObject({ reason: "network", retries: 0 });
    await settle();

    expect(calls()).toBe(1);
    expect(ofName(events, "observer_error")[0]?.payload.observer).toBe("a predicate or gate of @retryOn()");
  });
});

describe("waits", () => {
  const waitsOf = async (options: RetryOptions): Promise<number[]> => {
    const clock = useManualClock();
    const { Failing } = failing(new Error("network"), Error, options);
    const running = Failing.execute();
    await clock.advance(3_600_000);
    await running;
    return clock.waits;
  };

  test.each<[string, RetryOptions, number[]]>([
    ["a plain delay", { limit: 3, delay: 0.2 }, [200, 200, 200]],
    ["a delay with a unit", { limit: 2, delay: "5m" }, [300_000, 300_000]],
    ["exponential", { limit: 4, delay: 1, jitter: "exponential" }, [1_000, 2_000, 4_000, 8_000]],
    ["exponential with a longest wait", { limit: 4, delay: 1, maxDelay: "3s", jitter: "exponential" }, [1_000, 2_000, 3_000, 3_000]],
    ["linear", { limit: 3, delay: 1, jitter: "linear" }, [1_000, 2_000, 3_000]],
    ["fibonacci", { limit: 5, delay: 1, jitter: "fibonacci" }, [1_000, 1_000, 2_000, 3_000, 5_000]],
    ["a function", { limit: 3, delay: 1, jitter: (attempt, delay, previous = 0) => attempt * 7 + delay + previous }, [1_000, 2_007, 3_021]],
    ["no wait at all", { limit: 3, delay: 0 }, []],
    ["a longest wait of nothing", { limit: 2, delay: 1, maxDelay: 0 }, []],
    ["a function that gives nonsense", { limit: 2, delay: 1, jitter: () => Number.NaN }, [1_000, 1_000]],
  ])("%s", async (_, options, expected) => {
    expect(await waitsOf(options)).toEqual(expected);
  });

  test("a jitter function that throws is reported, and the base delay is taken", async () => {
    const events = recordEvents("observer_error");
    const broken = (): number => {
      throw new Error("broken jitter");
    };

    expect(await waitsOf({ limit: 2, delay: 1, jitter: broken })).toEqual([1_000, 1_000]);
    expect(ofName(events, "observer_error").map(({ payload }) => payload.observer)).toEqual([
      "the jitter of @retryOn()",
      "the jitter of @retryOn()",
    ]);
  });

  test("leave no timer behind", async () => {
    const clock = useManualClock();
    const Flaky = flakyTask({ failures: 1 });
    retryOn(Error, { delay: "1s" })(Flaky);

    const running = Flaky.execute();
    await clock.advance(1_000);
    await running;

    expect(clock.pending).toBe(0);
  });
});

describe("attempts", () => {
  test("share one instance: fields, context and metadata stay, and this.attempt counts", async () => {
    class Sample extends Task.with() {
      readonly seen: number[] = [];
      work(): number[] {
        this.seen.push(this.attempt);
        this.context["last"] = this.attempt;
        if (this.attempt < 3) throw new Error("network");
        return this.seen;
      }
    }
    retryOn(Error, { delay: 0 })(Sample);

    expect(await Sample.execute()).toMatchObject({ output: [1, 2, 3], context: { last: 3 } });
  });

  test("the last error is the one that counts", async () => {
    const Sample = taskOf((task) => {
      throw new Error(`attempt ${task.attempt}`);
    });
    retryOn(Error, { limit: 2, delay: 0 })(Sample);

    expect(await Sample.execute()).toMatchObject({ reason: "attempt 3" });
  });

  test("an error that is not retried ends it, also after some that were", async () => {
    const events = recordEvents("retries_exhausted");
    const Sample = taskOf((task) => {
      throw task.attempt === 1 ? new CardError("network") : new Error("broken");
    });
    retryOn(CardError, { limit: 5, delay: 0 })(Sample);

    expect(await Sample.execute()).toMatchObject({ reason: "broken", retries: 1 });
    expect(events).toEqual([]);
  });

  test("of runs side by side do not count for one another", async () => {
    const Sample = taskOf((task) => {
      if (task.attempt < 2) throw new Error("network");
      return task.attempt;
    });
    retryOn(Error, { limit: 1, delay: 0 })(Sample);

    const results = await Promise.all([Sample.execute(), Sample.execute(), Sample.execute()]);

    expect(results.map(({ retries }) => retries)).toEqual([1, 1, 1]);
  });
});
