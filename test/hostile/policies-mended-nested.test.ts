import { expect, test, vi } from "vitest";
import { idempotentBy, literal, lockWith, retryOn, shutdown, Task, timeout, TimeoutError } from "taskwright";

import { deafTask, PausePoint, taskOf } from "../support/builders.js";
import { settle } from "../support/manual-clock.js";
import { useStage } from "./stage.js";

vi.mock("../../src/support/random.js", () => ({ random: () => 0.5 }));

const stage = useStage();

const LOCK = "cmdx:lock:wallet:w1";

/** A charge on a locked wallet that fails, and how it is undone. */
function chargeUndoneBy(undo: () => Promise<unknown>, work: () => unknown = () => Promise.reject(new Error("declined"))) {
  class Charge extends Task.with() {
    async work(): Promise<unknown> {
      return work();
    }
    override async rollback(): Promise<void> {
      await undo();
    }
  }
  lockWith(literal("w1"), { scope: "wallet" })(Charge);
  return Charge;
}

test("outer lock is held until the nested timed-out work rests", async () => {
  const { Deaf, pause } = deafTask();
  timeout(1)(Deaf);
  const Outer = taskOf(async () => {
    await Deaf.executeBang();
  });
  lockWith(literal("k"), { scope: "outer" })(Outer);
  const run = Outer.execute();
  await stage.clock.advance(1000);
  expect(await run).toMatchObject({ status: "failed" });
  expect((await stage.store.get("cmdx:lock:outer:k"))?.value).toBe("locked");
  pause.resume();
  await settle();
  expect(await stage.store.get("cmdx:lock:outer:k")).toBeUndefined();
});

test("outer slot of aborted run is held until nested work rests", async () => {
  const { Deaf, pause } = deafTask();
  const Outer = taskOf(async () => {
    await Deaf.executeBang();
  });
  idempotentBy(literal("k"), { namespace: "n2" })(Outer);
  const c = new AbortController();
  const run = Outer.execute({}, { signal: c.signal });
  await pause.reached;
  c.abort();
  expect(await run).toMatchObject({ metadata: { code: "aborted" } });
  await settle();
  expect((await stage.store.get("n2:Sample:k"))?.value).toBe("processing");
  pause.resume();
  await settle();
  expect(await stage.store.get("n2:Sample:k")).toBeUndefined();
});

test("outer retryOn(TimeoutError) does not start beside nested late work", async () => {
  let inside = 0,
    most = 0;
  const pause = new PausePoint();
  const Inner = taskOf(async () => {
    inside += 1;
    most = Math.max(most, inside);
    await pause.pass();
    inside -= 1;
  });
  timeout(1)(Inner);
  const Outer = taskOf(async () => {
    await Inner.executeBang();
  });
  retryOn(TimeoutError, { limit: 2, delay: 0 })(Outer);
  const run = Outer.execute();
  await stage.clock.advance(5000);
  await run;
  pause.resume();
  expect(most).toBe(1);
});

test("a lock is kept while the work of a task that undoes goes on beyond its own deadline", async () => {
  const { Deaf: Refund, pause } = deafTask();
  timeout(1)(Refund);
  const run = chargeUndoneBy(() => Refund.execute()).execute();
  await stage.clock.advance(1_000);
  await run;
  const before = (await stage.memory.get(LOCK))?.value;
  pause.resume();
  await settle();
  expect(before).toMatch(/^locked/);
  expect((await stage.memory.get(LOCK))?.value).toBeUndefined();
});

test("the same, of a rollback that follows late work", async () => {
  const { Deaf: Refund, pause } = deafTask();
  timeout(1)(Refund);
  const work = new PausePoint();
  const Charge = chargeUndoneBy(
    () => Refund.execute(),
    () => work.pass(),
  );
  timeout(1)(Charge);
  const run = Charge.execute();
  await stage.clock.advance(1_000);
  await run;
  work.resume();
  await stage.clock.advance(1_000);
  const before = (await stage.memory.get(LOCK))?.value;
  pause.resume();
  await settle();
  expect(before).toMatch(/^locked/);
  expect((await stage.memory.get(LOCK))?.value).toBeUndefined();
});

test.each([false, 60] as const)("shutdown gives runs inside a locked run their grace, with @timeout(%s)", async (limit) => {
  const { Deaf, pause } = deafTask();
  const Outer = taskOf(async () => (await Deaf.execute()).status);
  lockWith(literal("k"), { scope: "p24" })(Outer);
  timeout(limit)(Outer);
  const run = Outer.execute();
  await pause.reached;
  const keys = shutdown({ grace: 5 });
  await stage.clock.advance(1_000);
  pause.resume();
  await stage.clock.advance(100);
  expect(await run).toMatchObject({ status: "success", output: "success" });
  expect(await keys).toEqual([]);
});

test("outer retryOn(TimeoutError) retries a nested timeout that has come to rest", async () => {
  let works = 0;
  const Inner = taskOf((task) => {
    works += 1;
    if (works > 1) return "ok";
    return new Promise<never>((_, reject) => task.signal.addEventListener("abort", () => reject(task.signal.reason as Error)));
  });
  timeout(1)(Inner);
  const Outer = taskOf(async () => (await Inner.executeBang()).status);
  retryOn(TimeoutError, { limit: 1, delay: 0 })(Outer);
  const run = Outer.execute();
  await stage.clock.advance(2_000);
  expect(await run).toMatchObject({ status: "success", retries: 1 });
});
