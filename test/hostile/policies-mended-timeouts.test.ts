import { expect, test, vi } from "vitest";
import { callback, retryOn, Task, timeout, TimeoutError } from "taskwright";

import { PausePoint, succeedWith, taskOf } from "../support/builders.js";
import { settle } from "../support/manual-clock.js";
import { useStage } from "./stage.js";

vi.mock("../../src/support/random.js", () => ({ random: () => 0.5 }));

const stage = useStage();

test("an attempt that the gate keeps from having a deadline is not ended by that of the attempt before", async () => {
  let works = 0;
  const T = taskOf(async () => {
    works += 1;
    if (works === 1) return new Promise<never>((_, reject) => setImmediate(() => reject(new Error("x"))));
    return new Promise<string>(() => {});
  });
  timeout(1, { if: (task) => task.attempt < 1 })(T);
  retryOn(Error, { limit: 1, delay: 0 })(T);
  const c = new AbortController();
  let ended = false;
  const run = T.execute({}, { signal: c.signal }).finally(() => {
    ended = true;
  });
  await stage.clock.advance(500);
  expect(works).toBe(2);
  c.abort(new Error("stop"));
  await stage.clock.advance(10);
  expect(ended).toBe(true);
  expect(await run).toMatchObject({ metadata: { code: "aborted" } });
});

test("same after timed out", async () => {
  let works = 0;
  const T = taskOf(async (task) => {
    works += 1;
    if (works === 1) return new Promise<never>((_, reject) => task.signal.addEventListener("abort", () => reject(new Error("x"))));
    await new Promise((r) => stage.clock.timer(50, () => r(0)));
    return "done";
  });
  timeout(1, { if: (task) => task.attempt < 1 })(T);
  retryOn(TimeoutError, { limit: 1, delay: 0 })(T);
  const run = T.execute();
  await stage.clock.advance(5000);
  expect(await run).toMatchObject({ status: "success", output: "done" });
});

test("a nested run in on_failed after a timeout is not called off", async () => {
  const Notify = taskOf(async () => "told");
  const told: unknown[] = [];
  const T = taskOf(
    (task) => new Promise<never>((_, reject) => task.signal.addEventListener("abort", () => reject(task.signal.reason as Error))),
  );
  timeout(1)(T);
  callback("on_failed", async () => {
    const r = await Notify.execute();
    told.push([r.status, r.metadata["code"]]);
  })(T);
  const run = T.execute();
  await stage.clock.advance(2000);
  await run;
  expect(told).toEqual([["success", undefined]]);
});

test("late halt of attempt 1 does not decide attempt 2 (overlap)", async () => {
  const pause = new PausePoint();
  const pause2 = new PausePoint();
  let works = 0;
  const T = taskOf(async (task) => {
    works += 1;
    if (works === 1) {
      await pause.pass();
      task.fail("declined");
    }
    await pause2.pass();
    return "charged";
  });
  timeout(1)(T);
  retryOn(TimeoutError, { limit: 1, delay: 0, overlap: true })(T);
  const run = T.execute();
  await stage.clock.advance(1000);
  expect(works).toBe(2);
  pause.resume();
  await settle();
  pause2.resume();
  expect(await run).toMatchObject({ status: "success", output: "charged" });
});

test("late halt of attempt 1 in the settle time", async () => {
  const pause = new PausePoint();
  let works = 0;
  const T = taskOf(async (task) => {
    works += 1;
    if (works === 1) {
      await pause.pass();
      succeedWith(task, "first");
    }
    throw new Error("second");
  });
  timeout(1)(T);
  retryOn(TimeoutError, { limit: 1, delay: 0 })(T);
  const run = T.execute();
  await stage.clock.advance(1000);
  pause.resume();
  await settle();
  const result = await run;
  expect({ works, status: result.status }).toEqual({ works: 2, status: "failed" });
});

test("polled this.signal of late work under overlap", async () => {
  let works = 0;
  const seen: boolean[] = [];
  const pause = new PausePoint();
  const pause2 = new PausePoint();
  const T = taskOf(async (task) => {
    works += 1;
    if (works === 1) {
      await pause.pass();
      seen.push(task.signal.aborted);
      return 1;
    }
    await pause2.pass();
    return 2;
  });
  timeout(1)(T);
  retryOn(TimeoutError, { limit: 1, delay: 0, overlap: true })(T);
  const run = T.execute();
  await stage.clock.advance(1000);
  pause.resume();
  await settle();
  pause2.resume();
  await run;
  expect(seen).toEqual([true]);
});

test("halted before deadline in cleanup", async () => {
  let works = 0;
  const pause = new PausePoint();
  const T = taskOf(async (task) => {
    works += 1;
    try {
      succeedWith(task, "charged");
    } finally {
      await pause.pass();
    }
  });
  timeout(1)(T);
  retryOn(TimeoutError, { limit: 1, delay: 0, overlap: true })(T);
  const run = T.execute();
  await stage.clock.advance(3000);
  pause.resume();
  const r = await run;
  expect({ works, status: r.status }).toEqual({ works: 1, status: "success" });
});

test("swallowed halt in timeout gate", async () => {
  let works = 0;
  const T = taskOf(async () => {
    works += 1;
  });
  timeout(1, {
    if: (task) => {
      try {
        task.skip("no");
      } catch {}
      return true;
    },
  })(T);
  const r = await T.execute();
  expect({ works, status: r.status }).toEqual({ works: 0, status: "skipped" });
});

test("abort by caller in on_success callbacks of timed task reaches nested", async () => {
  const c = new AbortController();
  const seen: boolean[] = [];
  const T = taskOf(async () => "done");
  timeout(1)(T);
  callback("on_success", (task) => {
    c.abort();
    seen.push(task.signal.aborted);
  })(T);
  await T.execute({}, { signal: c.signal });
  expect(seen).toEqual([true]);
});

test("rollback of an aborted run can run the task that undoes", async () => {
  const Refund = taskOf(() => "refunded");
  const seen: unknown[] = [];
  const pause = new PausePoint();
  class T extends Task.with({ name: "Abortable" }) {
    async work() {
      await pause.pass();
    }
    override async rollback() {
      const r = await Refund.execute();
      seen.push(r.status, r.metadata["code"]);
    }
  }
  const c = new AbortController();
  const run = T.execute({}, { signal: c.signal });
  await pause.reached;
  c.abort();
  await run;
  pause.resume();
  await settle();
  expect(seen).toEqual(["success", undefined]);
});

test("rollback after a timeout can", async () => {
  const Refund = taskOf(() => "refunded");
  const seen: unknown[] = [];
  const pause = new PausePoint();
  class T extends Task.with({ name: "TimedRollback" }) {
    async work() {
      await pause.pass();
    }
    override async rollback() {
      const r = await Refund.execute();
      seen.push(r.status, r.metadata["code"]);
    }
  }
  timeout(1)(T);
  const run = T.execute();
  await stage.clock.advance(1000);
  await run;
  pause.resume();
  await settle();
  expect(seen).toEqual(["success", undefined]);
});

test("listener of retry_scheduled can run a task after a timeout", async () => {
  const Audit = taskOf(() => "noted");
  const seen: Promise<string>[] = [];
  let works = 0;
  const T = taskOf((task) => {
    works += 1;
    if (works > 1) return "ok";
    return new Promise<never>((_, reject) => task.signal.addEventListener("abort", () => reject(task.signal.reason as Error)));
  });
  timeout(1)(T);
  retryOn(TimeoutError, { limit: 1, delay: 1 })(T);
  T.telemetry.subscribe("retry_scheduled", () => void seen.push(Audit.execute().then((r) => r.status)));
  const run = T.execute();
  await stage.clock.advance(5_000);
  await run;
  expect(await Promise.all(seen)).toEqual(["success"]);
});
