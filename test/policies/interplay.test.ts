import { describe, expect, test } from "vitest";
import {
  circuitBreaker,
  idempotentBy,
  lockWith,
  rateLimit,
  retryOn,
  Task,
  timeout,
  TimeoutError,
  type IdempotencyOptions,
  type TaskDecorator,
} from "taskwright";
import { z } from "zod";
import { onEachStore } from "../idempotency/world.js";
import { ofName, PausePoint, recordEvents } from "../support/builders.js";

const INPUT = { walletId: "w1", paymentId: "pay_1" };
const LOCK = "cmdx:lock:Pay:w1";
const SLOT = "cmdx:idem:Pay:pay_1";

class NetworkError extends Error {}

/** A payment with these policies, on a wallet. `work` gets the number of the call, from 1. */
function payTask(decorators: readonly TaskDecorator[], work: (task: Task, call: number) => unknown = () => "paid") {
  const seen = { works: 0, rollbacks: 0 };
  class Pay extends Task.with({ input: z.object({ walletId: z.string(), paymentId: z.string() }) }) {
    async work(): Promise<unknown> {
      seen.works += 1;
      return work(this, seen.works);
    }
    override rollback(): void {
      seen.rollbacks += 1;
    }
  }
  for (const decorate of decorators) decorate(Pay);
  return { Pay, seen };
}

const byWallet: TaskDecorator = lockWith((task) => Reflect.get(Reflect.get(task, "input") as object, "walletId") as string); // its input has one
const once = (options: IdempotencyOptions = {}): TaskDecorator =>
  idempotentBy((task: Task) => Reflect.get(Reflect.get(task, "input") as object, "paymentId") as string, options); // likewise

onEachStore((world) => {
  describe("a duplicate", () => {
    test("takes the lock, is told that it is one, and frees the lock", async () => {
      const { Pay, seen } = payTask([byWallet, once()]);
      await Pay.execute(INPUT);
      const events = recordEvents("lock_acquired", "idempotency_duplicate", "lock_released");

      expect(await Pay.execute(INPUT)).toMatchObject({ status: "skipped", metadata: { code: "duplicate", state: "completed" } });
      expect(events.map(({ name }) => name)).toEqual(["lock_acquired", "idempotency_duplicate", "lock_released"]);
      expect(await world.raw(LOCK)).toBeUndefined();
      expect(await world.raw(SLOT)).toBe("completed");
      expect(seen).toEqual({ works: 1, rollbacks: 0 });
    });

    test("of a run that is at work is locked out before it is found to be one", async () => {
      const pause = new PausePoint();
      const { Pay } = payTask([byWallet, once()], () => pause.pass());
      const first = Pay.execute(INPUT);
      await pause.reached;

      expect(await Pay.execute(INPUT)).toMatchObject({ status: "failed", metadata: { code: "locked" } });
      pause.resume();
      await first;
    });

    test("under an open circuit is refused by the circuit, and its slot is not looked at", async () => {
      const { Pay, seen } = payTask([circuitBreaker({ threshold: 1 }), once()], (_, call) => {
        if (call === 2) throw new NetworkError("connection reset");
        return "paid";
      });
      await Pay.execute(INPUT); // succeeds: from now on it is a duplicate
      await Pay.execute({ ...INPUT, paymentId: "pay_2" }); // opens the circuit
      const calls = world.store.calls.length;

      expect(await Pay.execute(INPUT)).toMatchObject({ status: "failed", metadata: { code: "circuit_open" } });
      expect(world.store.calls).toHaveLength(calls);
      expect(await world.raw(SLOT)).toBe("completed");
      expect(seen.works).toBe(2);
    });

    test("over the limit is refused by the limit, and touches neither lock nor slot", async () => {
      const { Pay } = payTask([rateLimit({ limit: 1, per: 60 }), byWallet, once()]);
      await Pay.execute(INPUT);
      const events = recordEvents("rate_limited", "lock_acquired", "idempotency_duplicate");
      const calls = world.store.calls.filter(({ operation }) => operation === "claim").length;

      expect(await Pay.execute(INPUT)).toMatchObject({ status: "failed", metadata: { code: "rate_limited" } });
      expect(events.map(({ name }) => name)).toEqual(["rate_limited"]);
      expect(world.store.calls.filter(({ operation }) => operation === "claim")).toHaveLength(calls);
    });

    test("is nothing to the circuit: neither a success nor a failure", async () => {
      const { Pay } = payTask([circuitBreaker({ threshold: 2 }), once()], (_, call) => {
        if (call > 1) throw new NetworkError("connection reset");
        return "paid";
      });
      await Pay.execute(INPUT);
      await Pay.execute({ ...INPUT, paymentId: "pay_2" }); // one failure
      await Pay.execute(INPUT); // a duplicate between the two
      await Pay.execute({ ...INPUT, paymentId: "pay_3" }); // two in a row: open

      expect(await Pay.execute({ ...INPUT, paymentId: "pay_4" })).toMatchObject({ metadata: { code: "circuit_open" } });
    });
  });

  describe("a timeout under a claim and a lock", () => {
    test("answers at the deadline; both stay held until the work has come to rest and was rolled back", async () => {
      const pause = new PausePoint();
      const { Pay, seen } = payTask([timeout(5), byWallet, once()], () => pause.pass());
      const events = recordEvents("attempt_timed_out", "task_rolled_back", "idempotency_released", "lock_released");
      const run = Pay.execute(INPUT);
      await pause.reached;
      await world.pass(5_000);

      expect(await run).toMatchObject({ status: "failed", metadata: { code: "timeout" }, rolledBack: false });
      expect([await world.raw(LOCK), await world.raw(SLOT)]).toEqual([
        expect.stringMatching(/^locked/),
        expect.stringMatching(/^processing/),
      ]);
      pause.resume();
      await world.pass(100);
      expect([await world.raw(LOCK), await world.raw(SLOT)]).toEqual([undefined, undefined]);
      expect(events.map(({ name }) => name)).toEqual(["attempt_timed_out", "task_rolled_back", "idempotency_released", "lock_released"]);
      expect(seen).toEqual({ works: 1, rollbacks: 1 });
    });

    test("that is retried keeps the claim through the wait, and the key counts one success", async () => {
      const { Pay, seen } = payTask([timeout(5), retryOn(TimeoutError, { limit: 1, delay: 10 }), once()], (task, call) => {
        if (call > 1) return "paid";
        return new Promise((_, reject) => task.signal.addEventListener("abort", () => reject(task.signal.reason as Error)));
      });
      const run = Pay.execute(INPUT);
      await world.pass(8_000); // in the wait between the two attempts
      expect(await Pay.execute(INPUT)).toMatchObject({ status: "skipped", metadata: { state: "processing" } });
      await world.pass(8_000);

      expect(await run).toMatchObject({ status: "success", retries: 1 });
      expect(await world.raw(SLOT)).toBe("completed");
      expect(seen).toEqual({ works: 2, rollbacks: 0 });
    });

    test("whose work goes on beyond maxHold lets both go at last", async () => {
      const pause = new PausePoint();
      const { Pay } = payTask([timeout(5), lockWith(() => "w1", { ttl: 30, maxHold: 60 }), once({ ttl: 60, lease: 30, maxHold: 60 })], () =>
        pause.pass(),
      );
      const events = recordEvents("idempotency_lost", "lock_lost");
      const run = Pay.execute(INPUT);
      await pause.reached;
      await world.pass(5_000);
      await run;
      await world.pass(95_000);

      expect([await world.raw(LOCK), await world.raw(SLOT)]).toEqual([undefined, undefined]);
      expect(ofName(events, "idempotency_lost").map(({ payload }) => payload.why)).toEqual(["max_hold"]);
      expect(ofName(events, "lock_lost").map(({ payload }) => payload.why)).toEqual(["max_hold"]);
      pause.resume();
    });
  });

  describe("a lock that is lost during a claim", () => {
    test("aborts the work's signal; a success completes the slot all the same, and the other's lock is left alone", async () => {
      const pause = new PausePoint();
      const reasons: unknown[] = [];
      const { Pay } = payTask([lockWith(() => "w1", { ttl: 30 }), once()], (task) => {
        task.signal.addEventListener("abort", () => reasons.push(task.signal.reason));
        return pause.pass();
      });
      const events = recordEvents("lock_lost", "idempotency_lost", "idempotency_completed", "lock_released");
      const run = Pay.execute(INPUT);
      await pause.reached;
      await world.put(LOCK, "locked owner=another", 600_000);
      await world.pass(11_000);
      expect(reasons).toEqual([expect.objectContaining({ code: "lease_lost" })]);
      pause.resume();

      expect(await run).toMatchObject({ status: "success", metadata: {} });
      expect(await world.raw(SLOT)).toBe("completed");
      expect(await world.raw(LOCK)).toBe("locked owner=another");
      expect(events.map(({ name }) => name)).toEqual(["lock_lost", "idempotency_completed"]);
    });
  });

  describe("a breaker and retries", () => {
    test("a retried and finally successful run is one success", async () => {
      const { Pay, seen } = payTask([circuitBreaker({ threshold: 2 }), retryOn(NetworkError, { limit: 5, delay: 0 })], (_, call) => {
        if (call < 5) throw new NetworkError("connection reset");
        return "paid";
      });

      expect(await Pay.execute(INPUT)).toMatchObject({ status: "success", retries: 4 });
      expect(await Pay.execute(INPUT)).toMatchObject({ status: "success" });
      expect(seen.works).toBe(6);
    });

    test("a run whose retries are used up is one failure", async () => {
      const { Pay } = payTask([circuitBreaker({ threshold: 2 }), retryOn(NetworkError, { limit: 5, delay: 0 })], () => {
        throw new NetworkError("connection reset");
      });
      const events = recordEvents("circuit_opened", "retries_exhausted");
      await Pay.execute(INPUT);
      expect(ofName(events, "circuit_opened")).toEqual([]);
      await Pay.execute(INPUT);

      expect(events.map(({ name }) => name)).toEqual(["retries_exhausted", "retries_exhausted", "circuit_opened"]);
    });

    test("a timeout is a failure; being locked out and a store that is down are none", async () => {
      const pause = new PausePoint();
      const { Pay } = payTask([circuitBreaker({ threshold: 1 }), byWallet, timeout(5)], () => pause.pass());
      await world.put(LOCK, "locked owner=another", 60_000);
      expect(await Pay.execute(INPUT)).toMatchObject({ metadata: { code: "locked" } });
      await world.put(LOCK, "locked owner=another", 1);
      await world.pass(1_000);
      world.store.disturb("claim", "fail-before", { times: 2 });
      const unavailable = Pay.execute(INPUT);
      await world.pass(1_000);
      expect(await unavailable).toMatchObject({ metadata: { code: "store_unavailable" } });
      const slow = Pay.execute(INPUT);
      await pause.reached;
      await world.pass(5_000);
      expect(await slow).toMatchObject({ metadata: { code: "timeout" } });
      pause.resume();
      await world.pass(0);

      expect(await Pay.execute(INPUT)).toMatchObject({ metadata: { code: "circuit_open" } });
    });
  });

  describe("a rate limit whose store is down", () => {
    test.each([
      ["fail", { status: "failed", metadata: { code: "store_unavailable" } }, 0],
      ["run", { status: "success" }, 1],
    ] as const)("follows onStoreError %s, as the claim does", async (onStoreError, answer, works) => {
      const { Pay, seen } = payTask([rateLimit({ limit: 1, per: 60, onStoreError }), once()]);
      world.store.disturb("count", "fail-before", { times: 9 });
      const run = Pay.execute(INPUT);
      await world.pass(1_000);

      expect(await run).toMatchObject(answer);
      expect(seen.works).toBe(works);
    });
  });
});
