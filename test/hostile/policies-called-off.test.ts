import { callback, configure, idempotentBy, literal, lockWith, rateLimit, shutdown, Task, type TaskDecorator } from "taskwright";
import type { StoreOperation } from "taskwright/testing";
import { describe, expect, test } from "vitest";
import { PausePoint, taskOf } from "../support/builders.js";
import { settle } from "../support/manual-clock.js";
import { useStage } from "./stage.js";

const stage = useStage();

const KEYS: readonly (readonly [string, TaskDecorator, string])[] = [
  ["a lock", lockWith(literal("k"), { scope: "held" }), "cmdx:lock:held:k"],
  ["a claim", idempotentBy(literal("k"), { ttl: 600, lease: 600 }), "cmdx:idem:Sample:k"],
];

/** What is told of the store from now on. */
function storeErrors(): string[] {
  const names: string[] = [];
  configure(({ telemetry }) => {
    for (const name of ["lock_store_error", "idempotency_store_error", "rate_limit_store_error"] as const)
      telemetry.subscribe(name, () => void names.push(name));
  });
  return names;
}

/** The result of a run that is called off while the store does not answer it. */
async function calledOffWhileAsking(task: ReturnType<typeof taskOf>, operation: StoreOperation) {
  const asked = stage.store.disturb(operation, "never-answer");
  const controller = new AbortController();
  const run = task.execute({}, { signal: controller.signal });
  await asked.met;
  controller.abort();
  return run;
}

describe.each(KEYS)("a run that is called off while it asks for %s", (_name, decorate, key) => {
  test("gives back what is granted after it has answered", async () => {
    const Sample = taskOf(() => "done");
    decorate(Sample);
    const late = stage.store.disturb("claim", "delay");
    const controller = new AbortController();
    const run = Sample.execute({}, { signal: controller.signal });
    await late.met;
    controller.abort();
    expect(await run).toMatchObject({ metadata: { code: "aborted" } });
    await settle(); // what it gives back at once has been given back

    late.release(); // and now it is granted
    await settle();

    expect(await stage.memory.get(key)).toBeUndefined();
  });

  test("tells of no trouble with the store: there was none", async () => {
    const Sample = taskOf(() => "done");
    decorate(Sample);
    const troubles = storeErrors();
    expect(await calledOffWhileAsking(Sample, "claim")).toMatchObject({ metadata: { code: "aborted" } });
    await stage.clock.advance(60_000);
    expect(troubles).toEqual([]);
  });

  test("does not ask again, when it was about to", async () => {
    const Sample = taskOf(() => "done");
    decorate(Sample);
    stage.store.disturb("claim", "fail-before");
    const controller = new AbortController();
    const run = Sample.execute({}, { signal: controller.signal });
    await settle(); // it pauses before it asks once more
    controller.abort();

    expect(await run).toMatchObject({ metadata: { code: "aborted" } });
    expect(stage.store.calls.filter(({ operation }) => operation === "claim")).toHaveLength(1);
  });

  test.each(Array.from({ length: 16 }, (_, hops) => hops))(
    "by a shutdown %d turns after it was granted, leaves no key and no work that was not told",
    async (hops) => {
      let entered = false;
      let told = false;
      const Sample = taskOf((task) => {
        entered = true;
        return new Promise((resolve) => {
          task.signal.addEventListener("abort", () => {
            told = true;
            resolve("stopped");
          });
        });
      });
      decorate(Sample);
      let keys: Promise<readonly string[]> | undefined;
      const set = stage.memory.set.bind(stage.memory);
      stage.memory.set = async (...args) => {
        const answer = await set(...args);
        let turn = Promise.resolve();
        for (let hop = 0; hop < hops; hop += 1) turn = turn.then(() => undefined);
        if (keys === undefined) void turn.then(() => (keys ??= shutdown({ grace: 5 })));
        return answer;
      };
      const run = Sample.execute();
      await stage.clock.advance(6_000);
      await run;

      expect(await keys).toEqual([]);
      expect(entered).toBe(told);
      expect((await stage.memory.get(key))?.value.startsWith("processing") ?? false).toBe(false);
      expect((await stage.memory.get(key))?.owner).toBeUndefined();
    },
  );
});

test("a run that is called off while it is counted is aborted at once, and tells of no trouble with the store", async () => {
  const Sample = taskOf(() => "done");
  rateLimit({ limit: 1, per: 60, onStoreError: "run" })(Sample);
  const troubles = storeErrors();
  expect(await calledOffWhileAsking(Sample, "count")).toMatchObject({ metadata: { code: "aborted" } });
  await stage.clock.advance(60_000);
  expect(troubles).toEqual([]);
});

test("what undoes a run may claim and lock while the process shuts down", async () => {
  const Refund = taskOf(() => "refunded");
  idempotentBy(literal("k"), { namespace: "refund" })(Refund);
  lockWith(literal("k"), { scope: "refund" })(Refund);
  const answers: unknown[] = [];
  const pause = new PausePoint();
  class Charge extends Task.with() {
    async work(): Promise<never> {
      await pause.pass();
      throw new Error("stopped");
    }
    override async rollback(): Promise<void> {
      answers.push((await Refund.execute()).status);
    }
  }
  lockWith(literal("k"), { scope: "wallet" })(Charge);
  const run = Charge.execute();
  await pause.reached;
  const keys = shutdown({ grace: 5 });
  pause.resume();
  await stage.clock.advance(100);

  expect(await run).toMatchObject({ status: "failed", rolledBack: true });
  expect(answers).toEqual(["success"]);
  expect(await keys).toEqual([]);
});

test("callbacks of a run that was called off may run tasks, and see a signal that has not aborted", async () => {
  const Alert = taskOf(() => "told");
  const pause = new PausePoint();
  const Sample = taskOf(() => pause.pass());
  const seen: unknown[] = [];
  callback("on_failed", async (task) => {
    seen.push(task.signal.aborted, (await Alert.execute()).status);
  })(Sample);
  const controller = new AbortController();
  const run = Sample.execute({}, { signal: controller.signal });
  await pause.reached;
  controller.abort();

  expect(await run).toMatchObject({ metadata: { code: "aborted" } });
  expect(seen).toEqual([false, "success"]);
  pause.resume();
});
