import { describe, expect, test } from "vitest";
import { LeaseLostError, literal, LockedError, lockWith, Task, type LockOptions } from "taskwright";
import { z } from "zod";
import { operations } from "../idempotency/charge.js";
import { onEachStore } from "../idempotency/world.js";
import { deferred, ofName, PausePoint, recordEvents, succeedWith } from "../support/builders.js";

const KEY = "cmdx:lock:Withdraw:w1";
const INPUT = { walletId: "w1" };

/** A task that is locked by its wallet. The first of its runs stands at `pause`. */
function withdrawTask(options: LockOptions = {}, work?: (task: Task) => unknown) {
  const pause = new PausePoint();
  const seen = { works: 0, inside: 0, most: 0 };
  class Withdraw extends Task.with({ input: z.object({ walletId: z.string().optional() }) }) {
    async work(): Promise<unknown> {
      seen.works += 1;
      seen.inside += 1;
      seen.most = Math.max(seen.most, seen.inside);
      try {
        if (work !== undefined) return await work(this);
        if (seen.works === 1) await pause.pass();
        return seen.works;
      } finally {
        seen.inside -= 1;
      }
    }
  }
  lockWith("walletId", options)(Withdraw);
  return { Withdraw, pause, seen };
}

onEachStore((world) => {
  describe("a lock", () => {
    test("is held while work goes on, under namespace, task and segment, with its owner and an expiry", async () => {
      const { Withdraw, pause } = withdrawTask();
      const events = recordEvents("lock_acquired", "lock_released");
      const run = Withdraw.execute(INPUT);
      await pause.reached;

      expect(await world.raw(KEY)).toMatch(/^locked owner=[0-9a-f-]{36}$/);
      expect(await world.life(KEY)).toBeGreaterThan(29_000);
      expect(await world.life(KEY)).toBeLessThanOrEqual(30_000);
      pause.resume();
      const result = await run;

      expect(result).toMatchObject({ status: "success", metadata: {} });
      expect(await world.raw(KEY)).toBeUndefined();
      expect(events.map(({ name, payload }) => [name, payload])).toEqual([
        ["lock_acquired", { lockKey: KEY, waitedMs: 0 }],
        ["lock_released", { lockKey: KEY }],
      ]);
    });

    test("refuses the second run at once, with the time to wait and who holds it, and without touching it", async () => {
      const { Withdraw, pause, seen } = withdrawTask();
      const events = recordEvents("lock_refused");
      const first = Withdraw.execute(INPUT);
      await pause.reached;
      const before = await world.raw(KEY);
      const second = await Withdraw.execute(INPUT);

      expect(second).toMatchObject({
        status: "failed",
        error: expect.any(LockedError),
        reason: `Withdraw did not run: the lock ${KEY} is held by another run`,
        retryable: true,
        metadata: { code: "locked", lockKey: KEY, retryAfterMs: expect.any(Number), heldBy: expect.any(String) },
      });
      expect(second.metadata["retryAfterMs"]).toBeGreaterThan(29_000);
      expect(events).toMatchObject([{ payload: { code: "locked", lockKey: KEY } }]);
      expect(await world.raw(KEY)).toBe(before);
      expect(seen.works).toBe(1);
      pause.resume();
      expect((await first).metadata).not.toHaveProperty("code");
    });

    test("lets other keys through, and remembers no success", async () => {
      const { Withdraw, pause } = withdrawTask();
      const first = Withdraw.execute(INPUT);
      await pause.reached;

      expect(await Withdraw.execute({ walletId: "w2" })).toMatchObject({ status: "success" });
      pause.resume();
      await first;
      expect(await Withdraw.execute(INPUT)).toMatchObject({ status: "success" });
    });

    test.each<[string, (task: Task) => unknown]>([
      ["throws", () => Promise.reject(new Error("declined"))],
      ["fails", (task) => task.fail("declined")],
      ["skips", (task) => task.skip("nothing to do")],
      ["succeeds early", (task) => succeedWith(task)],
    ])("is freed when work %s", async (_name, work) => {
      const { Withdraw } = withdrawTask({}, work);
      await Withdraw.execute(INPUT);

      expect(await world.raw(KEY)).toBeUndefined();
    });

    test("is renewed while work takes longer than its life, and free for nobody", async () => {
      const { Withdraw, pause } = withdrawTask({ ttl: 30 });
      const run = Withdraw.execute(INPUT);
      await pause.reached;
      await world.pass(120_000);

      expect(await world.raw(KEY)).toMatch(/^locked owner=/);
      expect(await Withdraw.execute(INPUT)).toMatchObject({ metadata: { code: "locked" } });
      pause.resume();
      expect(await run).toMatchObject({ status: "success" });
    });

    test("of a run that hangs ends after maxHold, and the run is told", async () => {
      const reason = deferred<unknown>();
      const { Withdraw } = withdrawTask({ ttl: 30, maxHold: 60 }, (task) => {
        task.signal.addEventListener("abort", () => reason.resolve(task.signal.reason));
        return reason.promise;
      });
      const events = recordEvents("lock_lost");
      const run = Withdraw.execute(INPUT);
      await world.pass(0);
      await world.pass(95_000);

      expect(await reason.promise).toBeInstanceOf(LeaseLostError);
      await run;
      expect(events).toMatchObject([{ payload: { lockKey: KEY, why: "max_hold" } }]);
      expect(await world.raw(KEY)).toBeUndefined();
    });

    test("that another has taken is not freed by the run that lost it", async () => {
      const { Withdraw, pause } = withdrawTask();
      const events = recordEvents("lock_lost", "lock_released");
      const run = Withdraw.execute(INPUT);
      await pause.reached;
      await world.put(KEY, "locked owner=another", 60_000);
      pause.resume();
      await run;

      expect(await world.raw(KEY)).toBe("locked owner=another");
      expect(events).toMatchObject([{ name: "lock_lost", payload: { why: "refused" } }]);
    });

    test("that somebody has freed is lost at the next renewal, and is not said to be released as well", async () => {
      const { Withdraw, pause } = withdrawTask({ ttl: 30 });
      const events = recordEvents("lock_lost", "lock_released");
      const run = Withdraw.execute(INPUT);
      await pause.reached;
      await world.store.delete(KEY);
      await world.pass(11_000);
      pause.resume();
      await run;

      expect(events.map(({ name }) => name)).toEqual(["lock_lost"]);
    });

    test("that is lost aborts the signal of work, which may still end", async () => {
      const { Withdraw, seen } = withdrawTask(
        { ttl: 30 },
        (task) => new Promise((resolve) => task.signal.addEventListener("abort", resolve)),
      );
      const run = Withdraw.execute(INPUT);
      await world.pass(0);
      await world.put(KEY, "locked owner=another", 60_000);
      await world.pass(11_000);

      expect(await run).toMatchObject({ status: "success" });
      expect(seen.works).toBe(1);
    });
  });

  describe("a run that waits", () => {
    test("goes on as soon as the lock is freed in this process, and says how long it took", async () => {
      const { Withdraw, pause, seen } = withdrawTask({ wait: 60 });
      const events = recordEvents("lock_acquired");
      const first = Withdraw.execute(INPUT);
      await pause.reached;
      const second = Withdraw.execute(INPUT);
      await world.pass(5_000);
      pause.resume();
      await first;

      expect(await second).toMatchObject({ status: "success" }); // no time has passed since
      expect(seen.most).toBe(1);
      expect(ofName(events, "lock_acquired").map(({ payload }) => payload.waitedMs)).toEqual([0, 5_000]);
    });

    test("goes on when the holder has died and its lock has run out", async () => {
      const { Withdraw, pause } = withdrawTask({ wait: 60 });
      await world.put(KEY, "locked owner=dead", 2_000);
      const run = Withdraw.execute(INPUT);
      await world.pass(2_500);
      await pause.reached;
      pause.resume();

      expect(await run).toMatchObject({ status: "success" });
    });

    test("fails as locked when its time is up, and not before", async () => {
      const { Withdraw } = withdrawTask({ wait: 5 });
      await world.put(KEY, "locked owner=another", 600_000);
      let ended = false;
      const run = Withdraw.execute(INPUT).finally(() => (ended = true));
      await world.pass(4_900);
      expect(ended).toBe(false);
      await world.pass(200);

      expect(await run).toMatchObject({ status: "failed", metadata: { code: "locked" } });
    });

    test("is called off by its caller", async () => {
      const { Withdraw } = withdrawTask({ wait: 60 });
      await world.put(KEY, "locked owner=another", 600_000);
      const controller = new AbortController();
      const run = Withdraw.execute(INPUT, { signal: controller.signal });
      await world.pass(1_000);
      controller.abort(new Error("closing time"));
      await world.pass(0);

      expect(await run).toMatchObject({ metadata: { code: "aborted" } });
      expect(await world.raw(KEY)).toBe("locked owner=another");
    });

    test("takes its turn: of many, one is inside at a time, and all get through", async () => {
      const { Withdraw, seen } = withdrawTask({ wait: 600 }, async () => {
        await new Promise((resolve) => setImmediate(resolve));
        return "done";
      });
      const runs = Array.from({ length: 20 }, () => Withdraw.execute(INPUT));
      let ended = false;
      const all = Promise.all(runs).finally(() => (ended = true));
      for (let turn = 0; turn < 200 && !ended; turn += 1) await world.pass(250);

      expect((await all).every(({ status }) => status === "success")).toBe(true);
      expect(seen).toMatchObject({ works: 20, most: 1 });
    });

    test("for a lock of a run around it is told at once that this would never end", async () => {
      const { Withdraw: Inner } = withdrawTask({ wait: 600, scope: "wallet" });
      const { Withdraw: Outer } = withdrawTask({ scope: "wallet" }, () => Inner.execute(INPUT));

      const result = await Outer.execute(INPUT);

      expect(result).toMatchObject({ status: "success" });
      expect(result.status === "success" && result.output).toMatchObject({
        status: "failed",
        reason: "Withdraw did not run: the lock cmdx:lock:wallet:w1 is held by a run around this one, so it would never come free",
        metadata: { code: "locked" },
      });
    });
  });

  describe("a store that fails", () => {
    test("keeps the work from running, with the default", async () => {
      const { Withdraw, seen } = withdrawTask();
      const events = recordEvents("lock_store_error");
      world.store.disturb("claim", "fail-before", { times: 2 });
      const run = Withdraw.execute(INPUT);
      await world.pass(1_000);

      expect(await run).toMatchObject({ status: "failed", retryable: true, metadata: { code: "store_unavailable", lockKey: KEY } });
      expect(seen.works).toBe(0);
      expect(events).toHaveLength(2);
    });

    test("lets it run without the lock where the task says so", async () => {
      const { Withdraw, pause, seen } = withdrawTask({ onStoreError: "run" });
      pause.resume();
      const events = recordEvents("lock_bypassed");
      world.store.disturb("claim", "fail-before", { times: 2 });
      const run = Withdraw.execute(INPUT);
      await world.pass(1_000);

      expect(await run).toMatchObject({ status: "success" });
      expect(events).toMatchObject([{ payload: { why: "store_error" } }]);
      expect(seen.works).toBe(1);
    });

    test("and whose answer is lost grants the repetition, since the owner is the same", async () => {
      const { Withdraw, pause } = withdrawTask();
      pause.resume();
      world.store.disturb("claim", "lose-answer");
      const run = Withdraw.execute(INPUT);
      await world.pass(6_000);

      expect(await run).toMatchObject({ status: "success" });
      expect(await world.raw(KEY)).toBeUndefined();
    });

    test("when the lock is to be freed hides nothing: the lock ends with its life", async () => {
      const { Withdraw, pause } = withdrawTask({ ttl: 30 });
      pause.resume();
      const events = recordEvents("lock_store_error", "lock_released");
      world.store.disturb("delete", "fail-before", { times: 9 });

      expect(await Withdraw.execute(INPUT)).toMatchObject({ status: "success" });
      expect(events).toMatchObject([{ name: "lock_store_error", payload: { operation: "release", lockKey: KEY } }]);
      expect(await world.raw(KEY)).toMatch(/^locked/);
      await world.pass(31_000);
      expect(await world.raw(KEY)).toBeUndefined();
    });
  });

  describe("without a key", () => {
    test("a run goes on without a lock, or is refused, as the task says", async () => {
      const events = recordEvents("lock_bypassed");
      const { Withdraw } = withdrawTask({}, () => "done");
      const { Withdraw: Strict, seen } = withdrawTask({ onMissingKey: "fail", scope: "strict" });

      expect(await Withdraw.execute({})).toMatchObject({ status: "success" });
      expect(await Strict.execute({})).toMatchObject({ status: "failed", metadata: { code: "missing_key" }, retryable: false });
      expect(events).toMatchObject([{ payload: { why: "missing_key" } }]);
      expect(operations(world.store.calls)).toEqual([]);
      expect(seen.works).toBe(0);
    });

    test("a gate that is closed lets it through too", async () => {
      const events = recordEvents("lock_bypassed");
      const { Withdraw } = withdrawTask({ unless: () => true }, () => "done");

      expect(await Withdraw.execute(INPUT)).toMatchObject({ status: "success" });
      expect(events).toMatchObject([{ payload: { why: "gate" } }]);
      expect(operations(world.store.calls)).toEqual([]);
    });
  });

  test("classes with one scope share their locks; a literal locks the whole task", async () => {
    const { Withdraw, pause } = withdrawTask({ scope: "wallet" });
    class Deposit extends Task.with() {
      work(): string {
        return "done";
      }
    }
    lockWith(literal("w1"), { scope: "wallet" })(Deposit);
    const run = Withdraw.execute(INPUT);
    await pause.reached;

    expect(await world.raw("cmdx:lock:wallet:w1")).toMatch(/^locked/);
    expect(await Deposit.execute()).toMatchObject({ metadata: { code: "locked", lockKey: "cmdx:lock:wallet:w1" } });
    pause.resume();
    await run;
    expect(await Deposit.execute()).toMatchObject({ status: "success" });
  });
});
