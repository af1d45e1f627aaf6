import { getEventListeners } from "node:events";
import { afterEach, describe, expect, test } from "vitest";
import { resetConfiguration, retryOn, Task, use } from "taskwright";
import { z } from "zod";
import { deafTask, deferred, ofName, PausePoint, recordEvents, taskOf } from "../support/builders.js";
import { settle } from "../support/manual-clock.js";

afterEach(() => {
  resetConfiguration();
});

const listenersOf = (signal: AbortSignal): number => getEventListeners(signal, "abort").length;

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
    const { Deaf, pause, told: rolledBack } = deafTask();
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
