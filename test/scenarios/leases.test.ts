import { setTimeout as wait } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";
import {
  DefinitionError,
  idempotentBy,
  LeaseLostError,
  literal,
  MemoryStore,
  releaseSlot,
  resetConfiguration,
  slots,
  type Duration,
  type IdempotencyOptions,
  type SlotInfo,
  type Store,
} from "taskwright";
import { RedisStore } from "taskwright/redis";
import { deferred, ofName, PausePoint, recordEvents, thrownBy, useManualClock } from "../support/builders.js";
import { chargeKey, chargeTask } from "./fixtures/charge.js";
import { Program } from "./fixtures/package.js";
import { immortalKeys, onEachStore, useRedis } from "./fixtures/stores.js";
import { announced, expectNothingUnhandled, keepIn } from "./fixtures/watch.js";

expectNothingUnhandled();
afterEach(() => {
  resetConfiguration();
});

const KEY = chargeKey("pay_1");
const DAY = 86_400;

async function all(store: Store): Promise<SlotInfo[]> {
  const found: SlotInfo[] = [];
  for await (const slot of slots(store)) found.push(slot);
  return found;
}

describe("a worker that is killed at its work", () => {
  const redis = useRedis();

  /** Starts a worker, and kills it in the middle of a charge. Answers with the run that died. */
  async function dieAtWork(options: object): Promise<string> {
    const worker = new Program("charge.mjs", { port: redis.server.port, options });
    await worker.next("ready");
    worker.send({ input: { paymentId: "pay_1", holdMs: 600_000 } });
    const { runId } = await worker.next<{ runId: string }>("working");
    await worker.kill();
    return runId;
  }

  test("blocks its key for the lease and not for the retention", async () => {
    const store = keepIn(new RedisStore(redis.connect()));
    const options = { ttl: DAY, lease: 3 } satisfies IdempotencyOptions;
    const dead = await dieAtWork(options);
    const Charge = chargeTask(options);
    // The event of the next claim does not name the run that died: its slot is gone by then. Until then the slot names it.
    const before = await Charge.execute({ paymentId: "pay_1" });
    const seen = await all(store);

    const left = Number(before.metadata["retryAfterMs"]);
    await wait(left);
    const after = await Charge.execute({ paymentId: "pay_1" });

    expect(before.metadata).toMatchObject({ code: "duplicate", state: "processing", firstRunId: dead });
    expect(seen).toMatchObject([{ key: KEY, state: "processing", owner: dead, runId: dead }]);
    expect(left).toBeLessThanOrEqual(3_000);
    expect(after).toMatchObject({ status: "success", metadata: {} });
    expect(Charge.runs).toBe(1);
  });

  test("leaves no key without an end of life, also when no time was set anywhere", async () => {
    await dieAtWork({});

    const left = await redis.connect().pttl(KEY);

    expect(await immortalKeys(redis.server.port)).toEqual([]);
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThanOrEqual(300_000);
  });

  test("can be found and its key freed by hand before the lease is over, in the owner's name only", async () => {
    const store = keepIn(new RedisStore(redis.connect()));
    const dead = await dieAtWork({});
    const [slot] = await all(store);

    const byStranger = await releaseSlot(KEY, { owner: "somebody-else", store });
    const byOwner = await releaseSlot(slot?.key ?? "", { owner: slot?.owner ?? "", store });
    const Charge = chargeTask();
    const next = await Charge.execute({ paymentId: "pay_1" });

    expect(slot).toMatchObject({ key: KEY, owner: dead });
    expect([byStranger, byOwner]).toEqual([false, true]);
    expect(next.status).toBe("success");
  });
});

describe("a claim whose owner no longer exists", () => {
  test("shows owner, age and lease, and is free once the lease is over", async () => {
    const clock = useManualClock();
    const store = keepIn(new MemoryStore({ clock }));
    const Charge = chargeTask({ lease: 60 }, (_, run) => {
      if (run === 1) throw new Error("gone");
    });
    const { runId: owner } = await Charge.execute({ paymentId: "pay_1" });
    await store.set(KEY, "processing", { nx: true, owner, ttlMs: 60_000 }); // what a run that died would have left
    await clock.advance(59_999);

    const found = await all(store);
    const blocked = await Charge.execute({ paymentId: "pay_1" });
    await clock.advance(1);
    const free = await Charge.execute({ paymentId: "pay_1" });

    expect(found).toEqual([{ key: KEY, state: "processing", owner, runId: owner, ageMs: 59_999, expiresInMs: 1 }]);
    expect(blocked.metadata).toMatchObject({ code: "duplicate", state: "processing", retryAfterMs: 1 });
    expect(free.status).toBe("success");
  });
});

describe("times", () => {
  const wrong: readonly unknown[] = [0, -1, Number.NaN, Number.POSITIVE_INFINITY, "300", "5 minutes", "", null, () => 300, 300n, "0s"];

  test.each(["ttl", "lease", "maxHold", "waitFor"] as const)("%s is refused where it is declared, when it is no time", (option) => {
    for (const value of wrong) {
      const declared = { [option]: value } as IdempotencyOptions; // what a caller without a compiler may write
      expect(thrownBy(() => idempotentBy(literal("nightly"), declared))).toBeInstanceOf(DefinitionError);
    }
  });

  test("say in the refusal what is allowed", () => {
    const refusal = thrownBy(() => idempotentBy(literal("nightly"), { ttl: "300" as Duration })); // as above

    expect(String(refusal)).toContain('@idempotentBy(): ttl must be a time greater than zero, got "300"');
    expect(String(refusal)).toContain('"250ms"');
  });

  test.each([
    [0.4, 400],
    ["0.5ms", 1],
    [0.000_001, 1],
    ["24h", DAY * 1_000],
  ] as const)("a ttl of %s is %i ms, and never rounds to none", (ttl, ms) => {
    expect(chargeTask({ ttl }).idempotency?.ttlMs).toBe(ms);
  });

  test("the lease is minutes by default, whatever the retention, and never longer than it", () => {
    const leaseOf = (ttl: Duration): number | undefined => chargeTask({ ttl }).idempotency?.leaseMs;

    const unset = { ttl: DAY, lease: undefined } as unknown as IdempotencyOptions; // what code that passes options on may give

    expect([leaseOf(DAY), leaseOf(300), leaseOf(10)]).toEqual([300_000, 300_000, 10_000]);
    expect(chargeTask(unset).idempotency?.leaseMs).toBe(300_000);
  });

  test("a lease longer than the retention is refused, with the cure, also where parent and child bring it about", async () => {
    const refusal = /lease \(60000 ms\) is longer than ttl \(10000 ms\).*Shorten lease/s;
    class Child extends chargeTask({ ttl: 10 }) {}
    idempotentBy({ lease: 60 })(Child);

    expect(() => chargeTask({ ttl: 10, lease: 60 })).toThrow(refusal);
    await expect(Child.execute({ paymentId: "pay_1" })).rejects.toThrow(refusal);
  });
});

describe("work that never ends", () => {
  test("holds its key for maxHold and one lease at the most; then its signal aborts and another may run", async () => {
    const clock = useManualClock();
    keepIn(new MemoryStore({ clock }));
    const aborted = deferred<unknown>();
    const Charge = chargeTask({ lease: 30, maxHold: 120, ttl: 60 }, ({ signal }, run) => {
      if (run > 1) return undefined;
      signal.addEventListener("abort", () => aborted.resolve(signal.reason));
      return new Promise(() => {});
    });
    const events = recordEvents("idempotency_lost");
    void Charge.execute({ paymentId: "pay_1" });

    await clock.advance(119_000);
    const meanwhile = await Charge.execute({ paymentId: "pay_1" });
    await clock.advance(31_000);
    const afterwards = await Charge.execute({ paymentId: "pay_1" });

    expect(meanwhile.metadata).toMatchObject({ code: "duplicate", state: "processing" });
    expect(ofName(events, "idempotency_lost").map(({ payload }) => payload)).toEqual([{ idempotencyKey: KEY, why: "max_hold" }]);
    expect(await aborted.promise).toBeInstanceOf(LeaseLostError);
    expect(afterwards.status).toBe("success");
  });

  test("has a limit also when none was set: an hour, or the retention where that is longer", () => {
    const maxHoldOf = (ttl: Duration): number | undefined => chargeTask({ ttl }).idempotency?.maxHoldMs;

    expect([maxHoldOf(300), maxHoldOf(DAY)]).toEqual([3_600_000, DAY * 1_000]);
  });

  test("leaves no timer behind once its claim is lost", async () => {
    const clock = useManualClock();
    keepIn(new MemoryStore({ clock, sweepEveryMs: DAY * 1_000 }));
    const Charge = chargeTask({ lease: 30, maxHold: 60, ttl: 60 }, () => new Promise(() => {}));
    void Charge.execute({ paymentId: "pay_1" });
    await clock.advance(120_000);

    expect(clock.pending).toBe(1); // the store's sweep
  });
});

describe("work that goes on after its run was called off", () => {
  onEachStore((open) => {
    test("keeps its key until it has come to rest, and is rolled back before the key is free", async () => {
      const store = keepIn(open());
      const atWork = new PausePoint();
      const Charge = chargeTask({}, (_, run) => (run === 1 ? atWork.pass() : undefined));
      const caller = new AbortController();
      const first = Charge.execute({ paymentId: "pay_1" }, { signal: caller.signal });
      await atWork.reached;

      caller.abort(new Error("too slow"));
      const calledOff = await first;
      const meanwhile = await Charge.execute({ paymentId: "pay_1" });
      const rollbacksMeanwhile = Charge.rollbacks;
      const released = announced("idempotency_released");
      atWork.resume();
      await released;
      const rollbacksAtRelease = Charge.rollbacks;
      const afterwards = await Charge.execute({ paymentId: "pay_1" });

      expect(calledOff).toMatchObject({ status: "failed", metadata: { code: "aborted" } });
      expect(meanwhile.metadata).toMatchObject({ code: "duplicate", state: "processing" });
      expect([rollbacksMeanwhile, rollbacksAtRelease]).toEqual([0, 1]);
      expect(afterwards.status).toBe("success");
      expect((await store.get(KEY))?.value).toBe("completed");
    });
  });
});
