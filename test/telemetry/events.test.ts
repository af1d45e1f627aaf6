import { afterEach, describe, expect, test } from "vitest";
import { configure, deprecated, resetConfiguration, retryOn, Task } from "taskwright";
import { ofName, recordEvents, taskOf, useManualClock } from "../support/builders.js";
import { ManualClock } from "../support/manual-clock.js";

afterEach(() => {
  resetConfiguration();
});

const flaky = (failures: number) => {
  const error = new Error("network");
  const Sample = taskOf((task) => {
    if (task.attempt <= failures) throw error;
  });
  return { Sample, error };
};

describe("every event", () => {
  test("names the run, its chain and its place in it, and carries the time of day", async () => {
    configure((config) => {
      config.clock = new ManualClock(Date.UTC(2026, 6, 1));
      config.correlationId = () => "request-1";
    });
    const events = recordEvents("task_started");

    const result = await taskOf(() => taskOf(() => 1).execute()).execute();

    const [outer, inner] = events;
    expect(outer).toEqual({
      name: "task_started",
      task: "Sample",
      runId: result.runId,
      chainId: result.chainId,
      parentId: undefined,
      depth: 0,
      index: 0,
      correlationId: "request-1",
      timestamp: Date.UTC(2026, 6, 1),
      payload: {},
    });
    expect(inner).toMatchObject({ chainId: result.chainId, parentId: result.runId, depth: 1, index: 1 });
  });

  test("is frozen, payload included, so that no listener can change it for another", async () => {
    const events = recordEvents("task_started", "task_executed");

    await taskOf(() => 1).execute();

    for (const event of events) expect([event, event.payload].every(Object.isFrozen)).toBe(true);
  });
});

describe("the payloads", () => {
  test("of a run that is retried until it succeeds", async () => {
    useManualClock();
    const { Sample, error } = flaky(2);
    retryOn(Error, { limit: 3, delay: 0 })(Sample);
    const events = recordEvents();

    const result = await Sample.execute();

    expect(events.map(({ name, payload }) => [name, payload])).toEqual([
      ["task_started", {}],
      ["retry_scheduled", { attempt: 2, delayMs: 0, error }],
      ["task_retried", { attempt: 2 }],
      ["retry_scheduled", { attempt: 3, delayMs: 0, error }],
      ["task_retried", { attempt: 3 }],
      ["task_executed", { result }],
    ]);
  });

  test("of a run whose retries are used up", async () => {
    const clock = useManualClock();
    const { Sample, error } = flaky(9);
    retryOn(Error, { limit: 1, delay: "250ms" })(Sample);
    const events = recordEvents();

    const running = Sample.execute();
    await clock.advance(250);
    const result = await running;

    expect(events.map(({ name, payload }) => [name, payload])).toEqual([
      ["task_started", {}],
      ["retry_scheduled", { attempt: 2, delayMs: 250, error }],
      ["task_retried", { attempt: 2 }],
      ["retries_exhausted", { retries: 1, error }],
      ["task_executed", { result }],
    ]);
  });

  test("of a run that is deprecated, fails and is rolled back", async () => {
    @deprecated("use another")
    class Sample extends Task.with() {
      work(): never {
        throw new Error("declined");
      }
      override rollback(): void {}
    }
    const events = recordEvents();

    const result = await Sample.execute();

    expect(events.map(({ name, payload }) => [name, payload])).toEqual([
      ["task_started", {}],
      ["task_deprecated", { message: "use another" }],
      ["task_rolled_back", {}],
      ["task_executed", { result }],
    ]);
  });

  test("of a rollback that throws: the error is in both events", async () => {
    const broken = new Error("cannot undo");
    class Sample extends Task.with() {
      work(): never {
        throw new Error("declined");
      }
      override rollback(): never {
        throw broken;
      }
    }
    const events = recordEvents("task_rolled_back", "observer_error");

    await Sample.execute();

    expect(events.map(({ name, payload }) => [name, payload])).toEqual([
      ["task_rolled_back", { error: broken }],
      ["observer_error", { observer: "rollback", error: broken }],
    ]);
  });

  test("of a run that a middleware turns away: nothing started, and it has its answer", async () => {
    configure((config) => config.use((task: Task) => task.skip("closed")));
    const events = recordEvents();

    await taskOf(() => 1).execute();

    expect(events.map(({ name }) => name)).toEqual(["task_executed"]);
  });
});

describe("nothing is built when nobody listens", () => {
  /** A clock that counts how often it is asked for the time of day: only events and ids ask for it. */
  class CountingClock extends ManualClock {
    asked = 0;
    override epoch(): number {
      this.asked += 1;
      return super.epoch();
    }
  }

  const askedDuring = async (prepare: () => void): Promise<number> => {
    const clock = new CountingClock();
    configure((config) => {
      config.clock = clock;
    });
    prepare();
    const { Sample } = flaky(2);
    retryOn(Error, { limit: 3, delay: 0 })(Sample);
    await Sample.execute();
    return clock.asked;
  };

  test("no time is taken for events, of which a retried run has six", async () => {
    const silent = await askedDuring(() => undefined);
    const heard = await askedDuring(() => recordEvents());

    expect(heard - silent).toBe(6);
  });

  test("and for those that somebody listens to, only they are built", async () => {
    const silent = await askedDuring(() => undefined);
    resetConfiguration();
    const heard = await askedDuring(() => recordEvents("task_retried"));

    expect(heard - silent).toBe(2);
  });
});

test("events of one name come with the payload of that name, also for those who listen to several", async () => {
  const events = recordEvents();

  await taskOf(() => 1).execute();

  expect(ofName(events, "task_executed")[0]?.payload.result.status).toBe("success");
});
