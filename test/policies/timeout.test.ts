import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { resetConfiguration, retryOn, Task, timeout, TimeoutError, type TaskDecorator } from "taskwright";
import {
  deafTask,
  mistakeIn,
  ofName,
  PausePoint,
  recordEvents,
  succeedWith,
  taskOf,
  thrownBy,
  useManualClock,
  warningsOf,
} from "../support/builders.js";
import { settle, type ManualClock } from "../support/manual-clock.js";

let clock: ManualClock;
beforeEach(() => {
  clock = useManualClock();
});
afterEach(() => {
  resetConfiguration();
});

/** A task whose work ends when its signal aborts, by throwing the reason, as `fetch` does. */
function listeningTask(...decorators: readonly TaskDecorator[]) {
  const seen = { works: 0, reasons: [] as unknown[] };
  const Listening = taskOf(
    (task) =>
      new Promise((_, reject) => {
        seen.works += 1;
        const { signal } = task;
        signal.addEventListener("abort", () => {
          seen.reasons.push(signal.reason);
          reject(signal.reason as Error);
        });
      }),
  );
  for (const decorate of decorators) decorate(Listening);
  return { Listening, seen };
}

describe("the deadline", () => {
  test("fails the attempt with the code timeout, at that very millisecond", async () => {
    const events = recordEvents("attempt_timed_out");
    const { Listening, seen } = listeningTask(timeout("250ms"));
    let ended = false;
    const run = Listening.execute().finally(() => (ended = true));

    await clock.advance(249);
    expect(ended).toBe(false);
    await clock.advance(1);

    expect(await run).toMatchObject({
      status: "failed",
      error: expect.any(TimeoutError),
      reason: "Sample did not end within 250 ms",
      retryable: true,
      metadata: { code: "timeout" },
      durationMs: 250,
      retries: 0,
    });
    expect(seen.reasons).toEqual([expect.any(TimeoutError)]);
    expect(events).toMatchObject([{ name: "attempt_timed_out", payload: { attempt: 1, timeoutMs: 250 } }]);
  });

  test("is not met by work that ends before it, and leaves no timer behind", async () => {
    const Quick = taskOf(async () => "done");
    timeout(5)(Quick);

    expect(await Quick.execute()).toMatchObject({ status: "success", output: "done" });
    expect(clock.pending).toBe(0);
  });

  test("is no concern of work that answers at once", async () => {
    const Quick = taskOf(() => "done");
    timeout(5)(Quick);

    expect(await Quick.execute()).toMatchObject({ status: "success", output: "done" });
    expect(clock.pending).toBe(0);
  });

  test("brings the answer also when work does not listen; the rollback follows once it has come to rest", async () => {
    const { Deaf, pause, told } = deafTask();
    timeout(1)(Deaf);
    const run = Deaf.execute();
    await pause.reached;
    await clock.advance(1_000);

    expect(await run).toMatchObject({ status: "failed", metadata: { code: "timeout" }, rolledBack: false });
    expect(told).toEqual([]);
    pause.resume();
    await settle();
    expect(told).toEqual(["work came to rest", "rollback"]);
  });

  test("gives the rollback a signal that has not aborted", async () => {
    const aborted: boolean[] = [];
    class Slow extends Task.with() {
      work(): Promise<never> {
        return new Promise((_, reject) => this.signal.addEventListener("abort", () => reject(this.signal.reason as Error)));
      }
      override rollback(): void {
        aborted.push(this.signal.aborted);
      }
    }
    timeout(1)(Slow);
    const run = Slow.execute();
    await clock.advance(1_000);
    await run;
    await settle();

    expect(aborted).toEqual([false]);
  });

  test("leaves no rejection unhandled, whatever late work does", async () => {
    const pause = new PausePoint();
    const Late = taskOf(async () => {
      await pause.pass();
      throw new Error("too late");
    });
    timeout(1)(Late);
    const rejections: unknown[] = [];
    const keep = (reason: unknown): void => void rejections.push(reason);
    process.on("unhandledRejection", keep);

    const run = Late.execute();
    await clock.advance(1_000);
    await run;
    pause.resume();
    const warnings = await warningsOf(settle);
    process.off("unhandledRejection", keep);

    expect(rejections).toEqual([]);
    expect(warnings).toEqual([]);
  });

  test("a halt of late work changes nothing", async () => {
    const pause = new PausePoint();
    const Late = taskOf(async (task) => {
      await pause.pass();
      succeedWith(task, "after all");
    });
    timeout(1)(Late);

    const run = Late.execute();
    await clock.advance(1_000);
    pause.resume();

    expect(await run).toMatchObject({ status: "failed", metadata: { code: "timeout" } });
  });

  test("calls off the runs that the attempt has started", async () => {
    const { Deaf, pause } = deafTask();
    const Outer = taskOf(() => Deaf.execute());
    timeout(1)(Outer);
    const events = recordEvents("task_executed");
    const run = Outer.execute();
    await pause.reached;
    await clock.advance(1_000);

    expect(await run).toMatchObject({ metadata: { code: "timeout" } });
    expect(ofName(events, "task_executed")[0]?.payload.result).toMatchObject({ task: "Deaf", metadata: { code: "aborted" } });
    pause.resume();
  });

  test("of longer than a month is kept", async () => {
    const { Listening } = listeningTask(timeout("40d"));
    let ended = false;
    const run = Listening.execute().finally(() => (ended = true));
    await clock.advance(39 * 86_400_000);
    expect(ended).toBe(false);
    await clock.advance(86_400_000);
    expect(await run).toMatchObject({ metadata: { code: "timeout" } });
  });

  test("loses to a caller who calls the run off before it", async () => {
    const { Deaf, pause } = deafTask();
    timeout(1)(Deaf);
    const controller = new AbortController();
    const run = Deaf.execute({}, { signal: controller.signal });
    await pause.reached;
    controller.abort(new Error("closing time"));
    await clock.advance(2_000);

    expect(await run).toMatchObject({ metadata: { code: "aborted" }, reason: "Deaf was aborted: closing time" });
    pause.resume();
  });
});

describe("retries", () => {
  test("follow a timeout only if they are told to", async () => {
    class NetworkError extends Error {}
    const { Listening, seen } = listeningTask(timeout(1), retryOn(NetworkError, { delay: 0 }));
    const run = Listening.execute();
    await clock.advance(1_000);

    expect(await run).toMatchObject({ status: "failed", retries: 0, metadata: { code: "timeout" } });
    expect(seen.works).toBe(1);
  });

  test("each have the whole time", async () => {
    const { Listening, seen } = listeningTask(timeout(1), retryOn(TimeoutError, { limit: 2, delay: 1 }));
    const events = recordEvents("attempt_timed_out", "task_retried");
    const run = Listening.execute();
    await clock.advance(1_000 + 1_000 + 1_000 + 1_000 + 999);
    expect(seen.works).toBe(3);
    await clock.advance(1);

    expect(await run).toMatchObject({ status: "failed", retries: 2, durationMs: 5_000, metadata: { code: "timeout" } });
    expect(events.map(({ name, payload }) => [name, payload])).toEqual([
      ["attempt_timed_out", { attempt: 1, timeoutMs: 1_000 }],
      ["task_retried", { attempt: 2 }],
      ["attempt_timed_out", { attempt: 2, timeoutMs: 1_000 }],
      ["task_retried", { attempt: 3 }],
      ["attempt_timed_out", { attempt: 3, timeoutMs: 1_000 }],
    ]);
  });

  test("see a signal of their own, which has not aborted", async () => {
    const aborted: boolean[] = [];
    const Slow = taskOf((task) => {
      aborted.push(task.signal.aborted);
      return new Promise((_, reject) => task.signal.addEventListener("abort", () => reject(new Error("stopped"))));
    });
    timeout(1)(Slow);
    retryOn(TimeoutError, { limit: 1, delay: 0 })(Slow);
    const run = Slow.execute();
    await clock.advance(2_000);

    await run;
    expect(aborted).toEqual([false, false]);
  });

  test("can succeed where the first attempt did not end, and nothing is rolled back", async () => {
    let works = 0;
    class Slow extends Task.with() {
      work(): unknown {
        works += 1;
        if (works === 2) return "done";
        return new Promise((_, reject) => this.signal.addEventListener("abort", () => reject(this.signal.reason as Error)));
      }
      override rollback(): void {
        throw new Error("not to be called");
      }
    }
    timeout(1)(Slow);
    retryOn(TimeoutError, { delay: 0 })(Slow);
    const run = Slow.execute();
    await clock.advance(1_000);

    expect(await run).toMatchObject({ status: "success", output: "done", retries: 1 });
  });

  test("do not come beside work that still goes on: the run answers, and says why", async () => {
    const { Deaf, pause } = deafTask();
    timeout(1)(Deaf);
    retryOn(TimeoutError, { limit: 5, delay: 0 })(Deaf);
    const events = recordEvents("retry_scheduled", "task_retried");
    const run = Deaf.execute();
    await pause.reached;
    await clock.advance(1_100);

    expect(await run).toMatchObject({
      status: "failed",
      retries: 0,
      reason: "Deaf did not end within 1000 ms; not tried again, since the work of that attempt still goes on",
      metadata: { code: "timeout" },
    });
    expect(events).toEqual([]);
    pause.resume();
  });

  test("come once that work has come to rest, if it does so within the wait", async () => {
    const pause = new PausePoint();
    let works = 0;
    const Slow = taskOf(async () => {
      works += 1;
      if (works === 1) await pause.pass();
      return works;
    });
    timeout(1)(Slow);
    retryOn(TimeoutError, { limit: 1, delay: 2 })(Slow);
    const run = Slow.execute();
    await clock.advance(1_000 + 1_500);
    expect(works).toBe(1);
    pause.resume();
    await settle();
    expect(works).toBe(1); // the wait counts from the failure
    await clock.advance(500);

    expect(await run).toMatchObject({ status: "success", output: 2, retries: 1, durationMs: 3_000 });
  });

  test("come beside it where overlap allows that", async () => {
    const pauses = [new PausePoint(), new PausePoint()];
    let works = 0;
    const Slow = taskOf(async () => {
      works += 1;
      await pauses[works - 1]?.pass();
      return works;
    });
    timeout(1)(Slow);
    retryOn(TimeoutError, { limit: 2, delay: 0, overlap: true })(Slow);
    const run = Slow.execute();
    await clock.advance(2_000);

    expect(await run).toMatchObject({ status: "success", output: 3, retries: 2 });
    for (const pause of pauses) pause.resume();
  });

  test("with overlap, the rollback waits for the work of every attempt", async () => {
    const pauses = [new PausePoint(), new PausePoint()];
    const told: string[] = [];
    class Slow extends Task.with() {
      async work(): Promise<void> {
        const attempt = this.attempt;
        await pauses[attempt - 1]?.pass();
        told.push(`work ${attempt}`);
      }
      override rollback(): void {
        told.push("rollback");
      }
    }
    timeout(1)(Slow);
    retryOn(TimeoutError, { limit: 1, delay: 0, overlap: true })(Slow);
    const run = Slow.execute();
    await clock.advance(2_000);
    await run;
    pauses[1]?.resume();
    await settle();
    expect(told).toEqual(["work 2"]);
    pauses[0]?.resume();
    await settle();

    expect(told).toEqual(["work 2", "work 1", "rollback"]);
  });
});

describe("what is declared", () => {
  test.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY, "5 s", "soon", null, {}])("refuses the time %j", (time) => {
    expect(mistakeIn(thrownBy(() => timeout(time as number)))).toMatch(/^@timeout\(\) must be a time greater than zero, got /);
  });

  test("refuses options it does not know, and gates that are no functions", () => {
    expect(mistakeIn(thrownBy(() => timeout(1, { limit: 3 } as object)))).toMatch(
      '@timeout() has no option "limit". Allowed: "if", "unless"',
    );
    expect(mistakeIn(thrownBy(() => timeout(1, { if: true } as object)))).toMatch("@timeout(): if must be a function, got true");
  });

  test("a subclass has its parent's time, may have another, and may have none", async () => {
    const { Listening: Parent } = listeningTask(timeout(1));
    class Same extends Parent {}
    @timeout(2)
    class Longer extends Parent {}
    @timeout(false)
    class None extends Parent {}

    const runs = [Parent, Same, Longer].map((type) => type.execute());
    const controller = new AbortController();
    const none = None.execute({}, { signal: controller.signal });
    await clock.advance(10_000);
    controller.abort();

    expect((await Promise.all(runs)).map(({ durationMs }) => durationMs)).toEqual([1_000, 1_000, 2_000]);
    expect(await none).toMatchObject({ metadata: { code: "aborted" }, durationMs: 10_000 });
  });

  test("gates decide for each attempt, and one that throws is a failure of the run", async () => {
    const { Listening } = listeningTask(timeout(1, { if: (task) => task.attempt < 1 }));
    const run = Listening.execute();
    await clock.advance(1_000);
    expect(await run).toMatchObject({ metadata: { code: "timeout" } });

    const { Listening: Gated } = listeningTask(
      timeout(1, {
        unless: () => {
          throw new Error("gate");
        },
      }),
    );
    expect(await Gated.execute()).toMatchObject({ status: "failed", reason: "gate" });
  });

  test("is seen in the task's schema", () => {
    const { Listening } = listeningTask(timeout("90s"));

    expect(Listening.schema).toMatchObject({ policies: { timeout: { timeoutMs: 90_000 } } });
  });
});
