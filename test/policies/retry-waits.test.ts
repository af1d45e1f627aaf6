import { afterEach, describe, expect, test } from "vitest";
import { resetConfiguration, retryOn, Task, type RetryOptions } from "taskwright";
import { failingTask, flakyTask, ofName, recordEvents, taskOf, useManualClock } from "../support/builders.js";

afterEach(() => {
  resetConfiguration();
});

class CardError extends Error {}

describe("waits", () => {
  const waitsOf = async (options: RetryOptions): Promise<number[]> => {
    const clock = useManualClock();
    const { Failing } = failingTask(new Error("network"), Error, options);
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
