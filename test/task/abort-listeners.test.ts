import { getEventListeners } from "node:events";
import { afterEach, describe, expect, test } from "vitest";
import { configure, resetConfiguration, retryOn, Task, use, type Failed } from "taskwright";
import { deafTask, deferred, PausePoint, recordEvents, taskOf, useManualClock } from "../support/builders.js";
import { settle } from "../support/manual-clock.js";

afterEach(() => {
  resetConfiguration();
});

const listenersOf = (signal: AbortSignal): number => getEventListeners(signal, "abort").length;

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
    expect(inner.told).toEqual(["work came to rest", "rollback"]);
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
