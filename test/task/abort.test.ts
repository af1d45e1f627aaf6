import { getEventListeners } from "node:events";
import { afterEach, describe, expect, test } from "vitest";
import { configure, resetConfiguration, retryOn, Task, use, type Failed } from "taskwright";
import { z } from "zod";
import { deferred, ofName, PausePoint, recordEvents, taskOf, useManualClock } from "../support/builders.js";
import { settle } from "../support/manual-clock.js";

afterEach(() => {
  resetConfiguration();
});

const listenersOf = (signal: AbortSignal): number => getEventListeners(signal, "abort").length;

/** A task whose work stands at a pause point and does not listen to its signal. */
function deafTask() {
  const pause = new PausePoint();
  const rolledBack: string[] = [];
  class Deaf extends Task.with() {
    async work(): Promise<string> {
      await pause.pass();
      rolledBack.push("work came to rest");
      return "done";
    }
    override rollback(): void {
      rolledBack.push("rollback");
    }
  }
  return { Deaf, pause, rolledBack };
}

describe("a run whose signal was aborted before it began", () => {
  test("fails as aborted; work is not entered", async () => {
    let worked = false;
    const Sample = taskOf(() => {
      worked = true;
    });

    const result = await Sample.execute({}, { signal: AbortSignal.abort(new Error("closing time")) });

    expect(worked).toBe(false);
    expect(result).toMatchObject({
      status: "failed",
      reason: "Sample was aborted: closing time",
      metadata: { code: "aborted" },
      retryable: true,
      retries: 0,
      error: { name: "AbortedError", code: "aborted", cause: { message: "closing time" } },
    });
  });

  test("is still told of an input that does not fit, which is the nearer reason", async () => {
    class Sample extends Task.with({ input: z.object({ id: z.string() }) }) {
      work(): void {}
    }

    const result = await Sample.execute({ id: 1 as never }, { signal: AbortSignal.abort() });

    expect(result.metadata.code).toBe("invalid_input");
  });

  test("leaves no listener on the signal", async () => {
    const signal = AbortSignal.abort();

    await taskOf(() => 1).execute({}, { signal });

    expect(listenersOf(signal)).toBe(0);
  });
});

describe("a run that is called off during work that does not listen", () => {
  test("is answered at once", async () => {
    const { Deaf, pause } = deafTask();
    const controller = new AbortController();

    const running = Deaf.execute({}, { signal: controller.signal });
    await pause.reached;
    controller.abort(new Error("closing time"));
    const result = await running;

    expect(result).toMatchObject({ status: "failed", metadata: { code: "aborted" }, rolledBack: false });
    pause.resume();
    await settle();
  });

  test("is rolled back only once the work has come to rest", async () => {
    const { Deaf, pause, rolledBack } = deafTask();
    const events = recordEvents("task_rolled_back");
    const controller = new AbortController();

    const running = Deaf.execute({}, { signal: controller.signal });
    await pause.reached;
    controller.abort();
    await running;
    await settle();
    expect(rolledBack).toEqual([]);

    pause.resume();
    await settle();
    expect(rolledBack).toEqual(["work came to rest", "rollback"]);
    expect(events).toHaveLength(1);
  });

  test("is rolled back also when the work ends by throwing, and a rollback that throws is reported", async () => {
    const events = recordEvents("task_rolled_back", "observer_error");
    const work = deferred();
    class Sample extends Task.with() {
      work(): Promise<void> {
        return work.promise;
      }
      override rollback(): void {
        throw new Error("cannot undo");
      }
    }
    const controller = new AbortController();

    const running = Sample.execute({}, { signal: controller.signal });
    await settle();
    controller.abort();
    await running;
    work.reject(new Error("connection lost"));
    await settle();

    expect(ofName(events, "task_rolled_back")[0]?.payload.error?.message).toBe("cannot undo");
    expect(ofName(events, "observer_error")).toHaveLength(1);
  });

  test("cannot be halted any more by the work that goes on", async () => {
    const pause = new PausePoint();
    let late: unknown;
    const Sample = taskOf(async (task) => {
      await pause.pass();
      try {
        task.skip("nothing to do");
      } catch (error) {
        late = error;
      }
    });
    const controller = new AbortController();

    const running = Sample.execute({}, { signal: controller.signal });
    await pause.reached;
    controller.abort();
    const result = await running;
    pause.resume();
    await settle();

    expect(result.status).toBe("failed");
    expect(late).toMatchObject({ name: "FinishedTaskError" });
  });

  test("is not retried", async () => {
    const { Deaf, pause } = deafTask();
    retryOn(() => true, { limit: 3, delay: 0 })(Deaf);
    const events = recordEvents("retry_scheduled", "task_retried", "retries_exhausted");
    const controller = new AbortController();

    const running = Deaf.execute({}, { signal: controller.signal });
    await pause.reached;
    controller.abort();
    await running;
    pause.resume();
    await settle();

    expect(events).toEqual([]);
  });

  test("leaves no listener on the signal, not even while the work goes on", async () => {
    const { Deaf, pause } = deafTask();
    const controller = new AbortController();

    const running = Deaf.execute({}, { signal: controller.signal });
    await pause.reached;
    controller.abort();
    await running;

    expect(listenersOf(controller.signal)).toBe(0);
    pause.resume();
    await settle();
  });
});

describe("a run that is called off during work that listens", () => {
  test("aborts this.signal with the caller's reason", async () => {
    const reason = new Error("closing time");
    const controller = new AbortController();
    let heard: unknown;
    const Sample = taskOf(
      (task) =>
        new Promise((_, reject) => {
          task.signal.addEventListener("abort", () => {
            heard = task.signal.reason;
            reject(new Error("gave up"));
          });
        }),
    );

    const running = Sample.execute({}, { signal: controller.signal });
    await settle();
    controller.abort(reason);

    expect((await running).metadata.code).toBe("aborted");
    expect(heard).toBe(reason);
  });

  test("aborts a signal that is asked for only afterwards", async () => {
    const pause = new PausePoint();
    let aborted: boolean | undefined;
    const Sample = taskOf(async (task) => {
      await pause.pass();
      aborted = task.signal.aborted;
    });
    const controller = new AbortController();

    const running = Sample.execute({}, { signal: controller.signal });
    await pause.reached;
    controller.abort();
    await running;
    pause.resume();
    await settle();

    expect(aborted).toBe(true);
  });

  test("by a listener that is added and never taken away: the caller's signal keeps none", async () => {
    const controller = new AbortController();
    const Sample = taskOf((task) => {
      task.signal.addEventListener("abort", () => undefined);
    });

    for (let run = 0; run < 5; run += 1) await Sample.execute({}, { signal: controller.signal });

    expect(listenersOf(controller.signal)).toBe(0);
  });
});

describe("listeners on a long-lived signal", () => {
  const { signal } = new AbortController();

  test.each<[string, () => Promise<unknown>]>([
    ["a success", () => taskOf(() => 1).execute({}, { signal })],
    ["a failure", () => taskOf((task) => task.fail()).execute({}, { signal })],
    ["a rejection", () => taskOf(() => Promise.reject(new Error("no"))).execute({}, { signal })],
    [
      "a run that a middleware turns away",
      () => {
        const Sample = taskOf(() => 1);
        use((task: Task) => task.skip())(Sample);
        return Sample.execute({}, { signal });
      },
    ],
    [
      "a run that is retried",
      () => {
        const Sample = taskOf(() => {
          throw new Error("no");
        });
        retryOn(Error, { limit: 2, delay: 0 })(Sample);
        return Sample.execute({}, { signal });
      },
    ],
    ["nested runs", () => taskOf(() => taskOf(() => 1).execute({}, { signal })).execute({}, { signal })],
  ])("are gone after %s", async (_, run) => {
    await run();

    expect(listenersOf(signal)).toBe(0);
  });

  test("number one for a run that is under way, however many retries and waits it has had", async () => {
    const clock = useManualClock();
    const controller = new AbortController();
    const Sample = taskOf(() => {
      throw new Error("network");
    });
    retryOn(Error, { limit: 5, delay: "1s" })(Sample);

    const running = Sample.execute({}, { signal: controller.signal });
    await clock.advance(3_000);
    expect(listenersOf(controller.signal)).toBe(1);
    await clock.advance(10_000);
    await running;

    expect(listenersOf(controller.signal)).toBe(0);
  });
});

describe("a run that is called off while it waits for a retry", () => {
  test("is answered at once, leaves no timer, and is rolled back before the answer", async () => {
    const clock = useManualClock();
    const events = recordEvents("retry_scheduled", "task_retried");
    const controller = new AbortController();
    let undone = 0;
    class Sample extends Task.with() {
      work(): never {
        throw new Error("network");
      }
      override rollback(): void {
        undone += 1;
      }
    }
    retryOn(Error, { limit: 3, delay: "1h" })(Sample);

    const running = Sample.execute({}, { signal: controller.signal });
    await settle();
    expect(clock.pending).toBe(1);
    controller.abort(new Error("closing time"));
    const result = await running;

    expect(result).toMatchObject({ status: "failed", reason: "Sample was aborted: closing time", retries: 0, rolledBack: true });
    expect(undone).toBe(1);
    expect(clock.pending).toBe(0);
    expect(events.map(({ name }) => name)).toEqual(["retry_scheduled"]);
  });
});

describe("a nested run", () => {
  test("is called off by the signal of the run around it", async () => {
    const inner = deafTask();
    const results: Failed[] = [];
    configure((config) => {
      config.telemetry.subscribe("task_executed", ({ payload: { result } }) => {
        if (result.status === "failed") results.push(result);
      });
    });
    const controller = new AbortController();
    const Outer = taskOf(() => inner.Deaf.execute());

    const running = Outer.execute({}, { signal: controller.signal });
    await inner.pause.reached;
    controller.abort();
    const outcome = await running;
    await settle();

    expect(outcome.metadata.code).toBe("aborted");
    expect(results.map(({ task, metadata }) => [task, metadata.code])).toEqual(
      expect.arrayContaining([
        ["Deaf", "aborted"],
        ["Sample", "aborted"],
      ]),
    );
    inner.pause.resume();
    await settle();
    expect(inner.rolledBack).toEqual(["work came to rest", "rollback"]);
  });

  test("with a signal of its own is called off alone; the run around it goes on", async () => {
    const inner = deafTask();
    const controller = new AbortController();
    const Outer = taskOf(async () => (await inner.Deaf.execute({}, { signal: controller.signal })).status);

    const running = Outer.execute();
    await inner.pause.reached;
    controller.abort();

    expect(await running).toMatchObject({ status: "success", output: "failed" });
    inner.pause.resume();
    await settle();
  });

  test("that is started by work which goes on after its run was called off is called off before it begins", async () => {
    const pause = new PausePoint();
    let worked = false;
    const late = deferred<string>();
    const Inner = taskOf(() => {
      worked = true;
    });
    const Outer = taskOf(async () => {
      await pause.pass();
      late.resolve((await Inner.execute()).reason ?? "");
    });
    const controller = new AbortController();

    const running = Outer.execute({}, { signal: controller.signal });
    await pause.reached;
    controller.abort(new Error("closing time"));
    await running;
    pause.resume();

    expect(await late.promise).toBe("Sample was aborted: closing time");
    expect(worked).toBe(false);
  });
});

test("an abort after the work is done comes too late to change anything", async () => {
  const controller = new AbortController();
  const Sample = taskOf(() => "done");
  use(async (_task: Task, next) => {
    await next();
    controller.abort();
  })(Sample);

  expect(await Sample.execute({}, { signal: controller.signal })).toMatchObject({ status: "success", output: "done" });
});

test("a run without a signal has one all the same, which does not abort", async () => {
  const result = await taskOf((task) => [task.signal.aborted, task.signal === task.signal]).execute();

  expect(result).toMatchObject({ output: [false, true] });
});

test("AbortSignal.timeout and AbortSignal.any serve as signals", async () => {
  const controller = new AbortController();
  const { Deaf, pause } = deafTask();

  const running = Deaf.execute({}, { signal: AbortSignal.any([controller.signal, AbortSignal.timeout(60_000)]) });
  await pause.reached;
  controller.abort();

  expect((await running).metadata.code).toBe("aborted");
  pause.resume();
  await settle();
});
