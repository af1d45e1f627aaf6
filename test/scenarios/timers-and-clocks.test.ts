import { setTimeout as wait } from "node:timers/promises";
import { afterEach, describe, expect, test, vi } from "vitest";
import { configure, MemoryStore, resetConfiguration, StoreTimeoutError } from "taskwright";
import { ChaosStore, ManualClock } from "taskwright/testing";
import { ofName, PausePoint, recordEvents, useManualClock } from "../support/builders.js";
import { chargeKey, chargeTask } from "./fixtures/charge.js";
import { Program } from "./fixtures/package.js";
import { onEachStore, useRedis } from "./fixtures/stores.js";
import { expectNothingUnhandled, keepIn, slotEvents } from "./fixtures/watch.js";

expectNothingUnhandled();
afterEach(() => {
  vi.restoreAllMocks();
  resetConfiguration();
});

const KEY = chargeKey("pay_1");
const HOUR = 3_600_000;

/** A store on a clock that stands still, with a run at work whose lease is a minute. */
async function atWorkOnChaos() {
  const clock = useManualClock();
  const chaos = new ChaosStore(new MemoryStore({ clock }));
  keepIn(chaos);
  const atWork = new PausePoint();
  const Charge = chargeTask({ lease: 60, ttl: 60 }, (_, run) => (run === 1 ? atWork.pass() : undefined));
  const events = recordEvents();
  const run = Charge.execute({ paymentId: "pay_1" });
  await atWork.reached;
  const renewals = (): number => chaos.calls.filter(({ operation }) => operation === "renew").length;
  return { clock, chaos, Charge, events, atWork, run, renewals };
}

describe("a renewal", () => {
  test("that fails three times is tried again while there is time, and nothing is lost", async () => {
    const { clock, chaos, events, atWork, run } = await atWorkOnChaos();
    chaos.disturb("renew", "fail-before", { times: 3 });

    await clock.advance(59_000);
    atWork.resume();

    expect(await run).toMatchObject({ status: "success", metadata: {} });
    const told = ofName(events, "idempotency_store_error").map(({ payload }) => payload.operation);
    expect(told).toEqual(["renew", "renew", "renew"]);
    expect(slotEvents(events)).not.toContain("idempotency_lost");
  });

  test("that throws instead of rejecting is no more than one that fails", async () => {
    const { clock, chaos, events, atWork, run } = await atWorkOnChaos();
    vi.spyOn(chaos, "renew").mockImplementationOnce(() => {
      throw new Error("at once");
    });

    await clock.advance(59_000);
    atWork.resume();

    expect(await run).toMatchObject({ status: "success", metadata: {} });
    expect(ofName(events, "idempotency_store_error")).toMatchObject([{ payload: { operation: "renew", error: { message: "at once" } } }]);
  });

  // The holder counts on all of its lease but a hundredth and two milliseconds, for clocks that drift and timers that are late.
  test("that never works loses the lease a little before its time has passed, and nobody else gets the key earlier", async () => {
    const { clock, chaos, Charge, events, atWork, run } = await atWorkOnChaos();
    chaos.disturb("renew", "fail-before", { times: Infinity });

    await clock.advance(59_397);
    const before = slotEvents(events).includes("idempotency_lost");
    await clock.advance(1);
    const after = ofName(events, "idempotency_lost");
    await clock.advance(601);
    const blocked = await Charge.execute({ paymentId: "pay_1" });
    await clock.advance(1);
    const next = await Charge.execute({ paymentId: "pay_1" });
    atWork.resume();

    expect(before).toBe(false);
    expect(after).toMatchObject([{ payload: { why: "expired" } }]);
    expect(blocked.metadata).toMatchObject({ code: "duplicate", state: "processing", retryAfterMs: 1 });
    expect(next.status).toBe("success");
    expect((await run).metadata).toEqual({ superseded: true });
  });

  test("that gives no answer is waited for no longer than the store's time limit, and is alone on its way until then", async () => {
    const { clock, chaos, events, atWork, run, renewals } = await atWorkOnChaos();
    chaos.disturb("renew", "never-answer");

    await clock.advance(20_000);
    await clock.advance(4_999);
    const during = renewals();
    await clock.advance(30_000);
    atWork.resume();

    expect(during).toBe(1);
    const [failure] = ofName(events, "idempotency_store_error");
    expect(failure?.payload.error).toBeInstanceOf(StoreTimeoutError);
    expect(renewals()).toBeGreaterThan(1);
    expect(await run).toMatchObject({ status: "success", metadata: {} });
    expect(slotEvents(events)).not.toContain("idempotency_lost");
  });

  test("that is answered after the run has ended changes nothing", async () => {
    const { clock, chaos, events, atWork, run } = await atWorkOnChaos();
    const renewal = chaos.disturb("renew", "delay");
    await clock.advance(20_000);
    await renewal.met;
    atWork.resume();
    const result = await run;

    renewal.release(); // refused: the slot is completed
    await clock.advance(0);

    expect(result.metadata).toEqual({});
    expect(slotEvents(events)).toEqual(["idempotency_claimed", "idempotency_completed"]);
  });
});

describe("a program with nothing more to do", () => {
  test.each([
    ["imports", "end"],
    ["runs", "claimed success end"],
    ["renews", "claimed success end"],
    ["hangs", "claimed end"],
    ["waits", "claimed then failed end"],
  ])("ends by itself: it %s", async (does, said) => {
    const program = new Program("ends.mjs", { does });

    expect(await program.end(15_000)).toBe(0);
    expect(program.output.trim()).toBe(said);
  });
});

describe("the end of a claim", () => {
  test("is at its very millisecond in memory, whatever lease the next caller wants", async () => {
    for (const lease of [30_000, 60_000, 90_000]) {
      const clock = new ManualClock();
      const store = new MemoryStore({ clock });
      await store.set(KEY, "processing", { nx: true, owner: "dead", ttlMs: 60_000 });

      await clock.advance(59_999);
      const before = await store.set(KEY, "processing", { nx: true, owner: "next", ttlMs: lease });
      await clock.advance(1);
      const after = await store.set(KEY, "processing", { nx: true, owner: "next", ttlMs: lease });

      expect(before).toMatchObject({ ok: false, held: { owner: "dead", expiresInMs: 1 } });
      expect(after.ok).toBe(true);
    }
  });

  onEachStore((open) => {
    test("leaves no moment in which a key is neither held nor free", async () => {
      const [one, other] = [open(), open()];
      const odd: unknown[] = [];
      for (let round = 0; round < 30; round += 1) {
        const key = `${KEY}:${round}`;
        await one.set(key, "processing", { nx: true, owner: "dead", ttlMs: 1 + (round % 5) });
        for (let free = false; !free;) {
          const claim = await other.set(key, "processing", { nx: true, owner: "next", ttlMs: 1_000 });
          free = claim.ok;
          if (!claim.ok && !(claim.held !== undefined && claim.held.owner === "dead" && claim.held.expiresInMs > 0)) odd.push(claim);
        }
      }

      expect(odd).toEqual([]);
    });
  });
});

describe("a wall clock that jumps", () => {
  test.each([HOUR, -HOUR])("by %i ms ends no claim and no retention early, and keeps none for longer, in memory", async (jump) => {
    const clock = new ManualClock();
    configure((config) => {
      config.clock = clock;
      config.store = new MemoryStore({ clock });
    });
    const atWork = new PausePoint();
    const Charge = chargeTask({ ttl: 300, lease: 60 }, (_, run) => (run === 1 ? atWork.pass() : undefined));
    const events = recordEvents();
    const first = Charge.execute({ paymentId: "pay_1" });
    await atWork.reached;

    clock.jump(jump);
    await clock.advance(59_000);
    const during = await Charge.execute({ paymentId: "pay_1" });
    atWork.resume();
    await first;
    clock.jump(jump);
    await clock.advance(299_999);
    const remembered = await Charge.execute({ paymentId: "pay_1" });
    await clock.advance(1);
    const forgotten = await Charge.execute({ paymentId: "pay_1" });

    expect(during.metadata).toMatchObject({ code: "duplicate", state: "processing" });
    expect(remembered.metadata).toMatchObject({ code: "duplicate", state: "completed" });
    expect(forgotten.status).toBe("success");
    expect(slotEvents(events)).not.toContain("idempotency_lost");
  });

  onEachStore((open) => {
    test.each([HOUR, -HOUR])("by %i ms under the machine's clock changes nothing for a run at work", async (jump) => {
      const store = keepIn(open());
      const atWork = new PausePoint();
      const Charge = chargeTask({ lease: "3s" }, () => atWork.pass());
      const events = recordEvents();
      const first = Charge.execute({ paymentId: "pay_1" });
      await atWork.reached;

      const real = Date.now.bind(Date);
      vi.spyOn(Date, "now").mockImplementation(() => real() + jump);
      const left = (await store.get(KEY))?.expiresInMs ?? 0;
      await wait(1_200); // a renewal
      const renewed = (await store.get(KEY))?.expiresInMs ?? 0;
      const second = await Charge.execute({ paymentId: "pay_1" });
      atWork.resume();
      const result = await first;
      const retention = (await store.get(KEY))?.expiresInMs ?? 0;

      expect(left).toBeLessThanOrEqual(3_000);
      expect(renewed).toBeGreaterThan(left - 1_200);
      expect(second.metadata).toMatchObject({ code: "duplicate", state: "processing" });
      expect(result).toMatchObject({ status: "success", metadata: {} });
      expect(result.durationMs).toBeLessThan(60_000);
      expect(retention).toBeLessThanOrEqual(300_000);
      expect(slotEvents(events)).toEqual(["idempotency_claimed", "idempotency_duplicate", "idempotency_completed"]);
    });
  });

  const redis = useRedis();
  test("that is ten minutes ahead or behind in another process takes no key from it", async () => {
    const workers = [600_000, -600_000].map(
      (skewMs) => new Program("charge.mjs", { port: redis.server.port, skewMs, options: { lease: 4 } }),
    );
    const [ahead, behind] = workers;
    if (ahead === undefined || behind === undefined) throw new Error("two were started");
    await Promise.all(workers.map((worker) => worker.next("ready")));

    const states: unknown[] = [];
    for (const [holder, other, paymentId] of [
      [ahead, behind, "pay_1"],
      [behind, ahead, "pay_2"],
    ] as const) {
      holder.send({ input: { paymentId, holdMs: 1_500 } });
      await holder.next("working");
      other.send({ input: { paymentId } });
      const { metadata } = await other.next<{ metadata: Record<string, unknown> }>("answered");
      states.push([metadata["state"], Number(metadata["retryAfterMs"]) <= 4_000]);
      const { status } = await holder.next("answered");
      other.send({ input: { paymentId } });
      const after = await other.next<{ metadata: Record<string, unknown> }>("answered");
      states.push([status, after.metadata["state"]]);
    }
    await Promise.all(workers.map((worker) => worker.kill()));

    expect(states).toEqual([
      ["processing", true],
      ["success", "completed"],
      ["processing", true],
      ["success", "completed"],
    ]);
  });
});
