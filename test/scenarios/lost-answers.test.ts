import { afterEach, describe, expect, test } from "vitest";
import { MemoryStore, resetConfiguration } from "taskwright";
import { ChaosStore } from "taskwright/testing";
import { ofName, PausePoint, recordEvents, useManualClock } from "../support/builders.js";
import { chargeKey, chargeTask } from "./fixtures/charge.js";
import { onEachStore } from "./fixtures/stores.js";
import { expectNothingUnhandled, keepIn, slotEvents } from "./fixtures/watch.js";

expectNothingUnhandled();
afterEach(() => {
  resetConfiguration();
});

const KEY = chargeKey("pay_1");

describe("a claim that took effect and whose answer was lost", () => {
  onEachStore((open) => {
    test("is recognised as its own by the caller, who runs, once", async () => {
      const chaos = new ChaosStore(open());
      keepIn(chaos);
      chaos.disturb("claim", "fail-after");
      const Charge = chargeTask();
      const events = recordEvents();

      const first = await Charge.execute({ paymentId: "pay_1" });
      const second = await Charge.execute({ paymentId: "pay_1" });

      expect(first).toMatchObject({ status: "success", metadata: {} });
      expect(second.metadata).toMatchObject({ code: "duplicate", state: "completed", idempotencyKey: KEY });
      expect(Charge.runs).toBe(1);
      const ofFirst = events.filter(({ runId }) => runId === first.runId);
      expect(slotEvents(ofFirst)).toEqual(["idempotency_store_error", "idempotency_claimed", "idempotency_completed"]);
    });
  });

  test("gives a whole lease when it is made again after the time limit, however short the lease", async () => {
    const clock = useManualClock();
    const chaos = new ChaosStore(new MemoryStore({ clock }));
    keepIn(chaos);
    chaos.disturb("claim", "lose-answer");
    const atWork = new PausePoint();
    const aborted: boolean[] = [];
    const Charge = chargeTask({ lease: 2 }, async (task) => {
      aborted.push(task.signal.aborted);
      await atWork.pass();
      aborted.push(task.signal.aborted);
    });
    const events = recordEvents();
    const run = Charge.execute({ paymentId: "pay_1" });

    await clock.advance(2_050); // the time limit of the first call, and a pause
    await atWork.reached;
    await clock.advance(10_000); // five leases
    const other = await Charge.execute({ paymentId: "pay_1" });
    atWork.resume();

    expect(await run).toMatchObject({ status: "success", metadata: {} });
    expect(aborted).toEqual([false, false]);
    expect(other.metadata).toMatchObject({ code: "duplicate", state: "processing" });
    expect(slotEvents(events)).not.toContain("idempotency_lost");
  });

  test("is not given back while its repetition is on its way", async () => {
    const clock = useManualClock();
    const store = new MemoryStore({ clock });
    const chaos = new ChaosStore(store);
    keepIn(chaos);
    const [first, second] = [chaos.disturb("claim", "delay-answer"), chaos.disturb("claim", "delay-answer")];
    const atWork = new PausePoint();
    const Charge = chargeTask({}, (_, run) => (run === 1 ? atWork.pass() : undefined));
    const run = Charge.execute({ paymentId: "pay_1" });
    await clock.advance(5_000 + 50);
    await second.met;

    first.release(); // too late for the first call; the second has been granted, and its answer is yet to come
    await clock.advance(0);
    second.release();
    await atWork.reached;
    const held = await store.get(KEY);
    const other = await Charge.execute({ paymentId: "pay_1" });
    atWork.resume();
    const result = await run;

    expect(held).toMatchObject({ owner: result.runId });
    expect(other.metadata).toMatchObject({ code: "duplicate", state: "processing" });
    expect(result).toMatchObject({ status: "success", metadata: {} });
    expect(Charge.runs).toBe(1);
  });

  test("is not given back while a run that waits asks for its key again", async () => {
    const clock = useManualClock();
    const store = new MemoryStore({ clock });
    const chaos = new ChaosStore(store);
    keepIn(chaos);
    const late = chaos.disturb("claim", "delay");
    const atWork = new PausePoint();
    const Charge = chargeTask({ onDuplicate: { processing: "wait" } }, (_, run) => (run === 1 ? atWork.pass() : undefined));
    const run = Charge.execute({ paymentId: "pay_1" });
    await clock.advance(5_000);
    await store.set(KEY, "processing", { nx: true, owner: "other", ttlMs: 60_000 });
    await clock.advance(60); // the repetition of the first call is refused, and the run waits
    await store.delete(KEY);
    const again = chaos.disturb("claim", "delay-answer");
    await clock.advance(100);
    await again.met; // granted; its answer is yet to come

    late.release(); // the very first call takes effect now
    await clock.advance(0);
    again.release();
    await atWork.reached;
    const held = await store.get(KEY);
    atWork.resume();
    const result = await run;

    expect(held).toMatchObject({ owner: result.runId });
    expect(result).toMatchObject({ status: "success", metadata: {} });
  });

  test("is given back when it comes while another claim of a run that waits is refused, once that run has given up", async () => {
    const clock = useManualClock();
    const store = new MemoryStore({ clock });
    const chaos = new ChaosStore(store);
    keepIn(chaos);
    const late = chaos.disturb("claim", "delay");
    const Charge = chargeTask({ onDuplicate: { processing: "wait" }, waitFor: 10 });
    const given = Charge.execute({ paymentId: "pay_1" });
    await clock.advance(5_000);
    await store.set(KEY, "processing", { nx: true, owner: "other", ttlMs: 60_000 });
    await clock.advance(20_000); // its repetition is refused, and it has waited in vain
    const duplicate = await given;
    await store.delete(KEY);

    late.release(); // the very first call takes effect now
    await clock.advance(0);

    expect(duplicate).toMatchObject({ status: "failed", metadata: { code: "duplicate", state: "processing" } });
    expect(await store.get(KEY)).toBeUndefined();
    expect(Charge.runs).toBe(0);
  });

  test("is given back when it takes effect between the refusal of its repetition and the answer to that", async () => {
    const clock = useManualClock();
    const store = new MemoryStore({ clock });
    const chaos = new ChaosStore(store);
    keepIn(chaos);
    const late = chaos.disturb("claim", "delay");
    const refused = chaos.disturb("claim", "delay-answer");
    const Charge = chargeTask();
    await store.set(KEY, "processing", { nx: true, owner: "other", ttlMs: 60_000 });
    const given = Charge.execute({ paymentId: "pay_1" });
    await clock.advance(5_000 + 50);
    await refused.met; // the repetition lost to the other run, and is yet to be told so
    await store.delete(KEY);

    late.release(); // the first call takes effect now
    await clock.advance(0);
    refused.release();
    const duplicate = await given;
    await clock.advance(0);

    expect(duplicate).toMatchObject({ status: "skipped", metadata: { code: "duplicate", state: "processing" } });
    expect(await store.get(KEY)).toBeUndefined();
    expect(Charge.runs).toBe(0);
  });

  test("is given back when it comes after the caller has given up, so the next one runs", async () => {
    const clock = useManualClock();
    const store = new MemoryStore({ clock });
    const chaos = new ChaosStore(store);
    keepIn(chaos);
    const late = chaos.disturb("claim", "delay", { times: 2 });
    const Charge = chargeTask();
    const given = Charge.execute({ paymentId: "pay_1" });
    await clock.advance(5_000 + 50 + 5_000);
    const gaveUp = await given;

    late.release(); // both calls take effect now
    await clock.advance(0);
    const held = await store.get(KEY);
    const next = await Charge.execute({ paymentId: "pay_1" });

    expect(gaveUp).toMatchObject({ status: "failed", retryable: true, metadata: { code: "store_unavailable" } });
    expect(held).toBeUndefined();
    expect(next.status).toBe("success");
    expect(Charge.runs).toBe(1);
  });

  test("is given back when it comes after its run has ended", async () => {
    const clock = useManualClock();
    const store = new MemoryStore({ clock });
    const chaos = new ChaosStore(store);
    keepIn(chaos);
    const late = chaos.disturb("claim", "delay");
    const Charge = chargeTask({}, (_, run) => {
      if (run === 1) throw new Error("declined");
    });
    const given = Charge.execute({ paymentId: "pay_1" });
    await clock.advance(5_050);
    const failed = await given;

    late.release(); // the first of the two calls takes effect now
    await clock.advance(0);

    expect(failed).toMatchObject({ status: "failed", reason: "declined" });
    expect(await store.get(KEY)).toBeUndefined();
  });
});

describe("a completion whose answer was lost", () => {
  onEachStore((open) => {
    test.each(["fail-after", "fail-before"] as const)("is written again, and counts as done (%s)", async (fault) => {
      const chaos = new ChaosStore(open());
      const store = keepIn(chaos);
      chaos.disturb("complete", fault);
      const Charge = chargeTask();
      const events = recordEvents();

      const first = await Charge.execute({ paymentId: "pay_1" });
      const second = await Charge.execute({ paymentId: "pay_1" });

      expect(first).toMatchObject({ status: "success", metadata: {} });
      expect(second.metadata).toMatchObject({ code: "duplicate", state: "completed" });
      expect((await store.get(KEY))?.value).toBe("completed");
      const ofFirst = events.filter(({ runId }) => runId === first.runId);
      expect(slotEvents(ofFirst)).toEqual(["idempotency_claimed", "idempotency_store_error", "idempotency_completed"]);
    });
  });

  test("is no loss to a renewal that meets the completed slot meanwhile", async () => {
    const clock = useManualClock();
    const chaos = new ChaosStore(new MemoryStore({ clock }));
    keepIn(chaos);
    chaos.disturb("complete", "lose-answer");
    const Charge = chargeTask({ lease: 6 });
    const events = recordEvents();
    const run = Charge.execute({ paymentId: "pay_1" });

    await clock.advance(6_000);

    expect(await run).toMatchObject({ status: "success", metadata: {} });
    expect(slotEvents(events)).toEqual(["idempotency_claimed", "idempotency_store_error", "idempotency_completed"]);
  });

  test("that never comes through leaves the success standing and the slot held, and says so", async () => {
    const clock = useManualClock();
    const store = new MemoryStore({ clock });
    const chaos = new ChaosStore(store);
    keepIn(chaos);
    chaos.disturb("complete", "fail-before", { times: Infinity });
    const Charge = chargeTask({ lease: 60 });
    const events = recordEvents();
    const run = Charge.execute({ paymentId: "pay_1" });

    await clock.advance(60_000);
    const result = await run;
    const left = ofName(events, "idempotency_store_error").map(({ payload }) => payload.operation);

    expect(result).toMatchObject({ status: "success", output: { chargeId: "ch_1" } });
    expect(new Set(left)).toEqual(new Set(["complete"]));
    expect(slotEvents(events)).not.toContain("idempotency_released");
    expect(chaos.calls.filter(({ operation }) => operation === "delete")).toEqual([]);
  });
});
