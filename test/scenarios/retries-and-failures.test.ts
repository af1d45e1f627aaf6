import { runInNewContext } from "node:vm";
import { afterEach, describe, expect, test } from "vitest";
import { idempotentBy, MemoryStore, resetConfiguration, retryOn, Task, type Duration } from "taskwright";
import { z } from "zod";
import { ofName, PausePoint, recordEvents, useManualClock } from "../support/builders.js";
import { chargeKey, chargeTask } from "./fixtures/charge.js";
import { onEachStore } from "./fixtures/stores.js";
import { announced, expectNothingUnhandled, keepIn, slotEvents } from "./fixtures/watch.js";

expectNothingUnhandled();
afterEach(() => {
  resetConfiguration();
});

const KEY = chargeKey("pay_1");

/** A charge that fails the first time, and is tried again after a while. */
function retriedCharge(delay: Duration, failures = 1) {
  const Charge = chargeTask({ lease: 60 }, (_, run) => {
    if (run <= failures) throw new Error("card network");
  });
  retryOn(Error, { limit: 2, delay })(Charge);
  return Charge;
}

describe("a run that waits before its next attempt", () => {
  test("holds its key for an hour on a lease of a minute, and blocks that key and no other", async () => {
    const clock = useManualClock();
    const store = keepIn(new MemoryStore({ clock }));
    const Charge = retriedCharge(3_600);
    const events = recordEvents();
    const first = Charge.execute({ paymentId: "pay_1" });

    const lefts: number[] = [];
    for (let minute = 0; minute < 59; minute += 1) {
      await clock.advance(60_000);
      lefts.push((await store.get(KEY))?.expiresInMs ?? 0);
    }
    const same = await Charge.execute({ paymentId: "pay_1" });
    const others = await Promise.all(Array.from({ length: 100 }, (_, at) => Charge.execute({ paymentId: `other_${at}` })));
    await clock.advance(60_000);

    expect(Math.min(...lefts)).toBeGreaterThanOrEqual(40_000);
    expect(same.metadata).toMatchObject({ code: "duplicate", state: "processing" });
    expect(others.every(({ status }) => status === "success")).toBe(true);
    const result = await first;
    expect(result).toMatchObject({ status: "success", retries: 1 });
    expect(slotEvents(events.filter(({ runId }) => runId === result.runId))).toEqual(["idempotency_claimed", "idempotency_completed"]);
  });

  onEachStore((open) => {
    test("is the only one with its key: a caller during the wait is a duplicate, and the slot is claimed and completed once", async () => {
      keepIn(open());
      const Charge = retriedCharge("150ms");
      const events = recordEvents();
      const scheduled = announced("retry_scheduled");
      const first = Charge.execute({ paymentId: "pay_1" });
      await scheduled;

      const during = await Charge.execute({ paymentId: "pay_1" });
      const result = await first;

      expect(during.metadata).toMatchObject({ code: "duplicate", state: "processing" });
      expect(result).toMatchObject({ status: "success", retries: 1 });
      const ofFirst = events.filter(({ runId }) => runId === result.runId);
      expect(slotEvents(ofFirst)).toEqual(["idempotency_claimed", "idempotency_completed"]);
    });

    test("frees its key once, after the last attempt", async () => {
      const store = keepIn(open());
      const Charge = retriedCharge("1ms", 3);
      const events = recordEvents();

      const result = await Charge.execute({ paymentId: "pay_1" });

      expect(result).toMatchObject({ status: "failed", retries: 2 });
      expect(slotEvents(events)).toEqual(["idempotency_claimed", "idempotency_released"]);
      expect(await store.get(KEY)).toBeUndefined();
    });
  });
});

describe("a key whose parts change while the work goes on", () => {
  onEachStore((open) => {
    test("is resolved once: completed under the text that was claimed", async () => {
      const store = keepIn(open());
      const order: { id?: string } = { id: "o1" };
      let asked = 0;
      class Ship extends Task.with() {
        work(): void {
          delete order.id;
        }
      }
      idempotentBy(() => {
        asked += 1;
        if (asked > 1) throw new Error("the order is gone");
        return order.id;
      })(Ship);

      const result = await Ship.execute();

      expect(result.status).toBe("success");
      expect(asked).toBe(1);
      expect((await store.get("cmdx:idem:Ship:o1"))?.value).toBe("completed");
    });

    test("is freed under the text that was claimed, after a failure", async () => {
      const store = keepIn(open());
      const order: { id?: string } = { id: "o1" };
      class Ship extends Task.with() {
        work(): void {
          delete order.id;
          throw new Error("no stock");
        }
      }
      idempotentBy(() => order.id)(Ship);

      const result = await Ship.execute();

      expect(result.status).toBe("failed");
      expect(await store.get("cmdx:idem:Ship:o1")).toBeUndefined();
    });
  });
});

// ttl counts from the completion: it is how long a success is remembered, not how old a claim may grow. There is no option that
// frees the key at once on success; a lock is made for that.
describe("the retention", () => {
  test("begins when the run has completed, and ends at its very millisecond", async () => {
    const clock = useManualClock();
    keepIn(new MemoryStore({ clock }));
    const Charge = chargeTask({ ttl: 300 }, () => new Promise<void>((resolve) => clock.timer(1_000, resolve)));
    const first = Charge.execute({ paymentId: "pay_1" });
    await clock.advance(1_000);
    await first;

    const codeAfter = async (ms: number): Promise<unknown> => {
      await clock.advance(ms);
      return (await Charge.execute({ paymentId: "pay_1" })).metadata["state"];
    };
    expect(await codeAfter(1_000)).toBe("completed"); // 2 s after the call
    expect(await codeAfter(297_000)).toBe("completed"); // 299 s after the call
    expect(await codeAfter(1_999)).toBe("completed"); // a millisecond before the end
    const next = Charge.execute({ paymentId: "pay_1" });
    await clock.advance(0);
    expect(Charge.runs).toBe(1);
    await clock.advance(1);
    expect((await next).metadata["state"]).toBe("completed");
    const last = Charge.execute({ paymentId: "pay_1" });
    await clock.advance(1_000);
    expect((await last).status).toBe("success");
    expect(Charge.runs).toBe(2);
  });

  test("is not lengthened by duplicates", async () => {
    const clock = useManualClock();
    const store = keepIn(new MemoryStore({ clock }));
    const Charge = chargeTask({ ttl: 300 });
    await Charge.execute({ paymentId: "pay_1" });

    for (let second = 0; second < 299; second += 1) {
      await clock.advance(1_000);
      await Charge.execute({ paymentId: "pay_1" });
    }

    expect((await store.get(KEY))?.expiresInMs).toBe(1_000);
    expect(Charge.runs).toBe(1);
  });

  test("of a long run begins at its end, however long it took", async () => {
    const clock = useManualClock();
    const store = keepIn(new MemoryStore({ clock }));
    const Charge = chargeTask({ ttl: 300 }, () => new Promise<void>((resolve) => clock.timer(3_000_000, resolve)));
    const first = Charge.execute({ paymentId: "pay_1" });
    await clock.advance(3_000_000);

    expect((await first).metadata).toEqual({});
    expect((await store.get(KEY))?.expiresInMs).toBe(300_000);
  });
});

describe("a failed run", () => {
  const thrown: readonly (readonly [string, () => unknown])[] = [
    ["an Error", () => new Error("declined")],
    ["a text", () => "declined"],
    ["nothing", () => undefined],
    ["null", () => null],
    ["an object", () => ({ code: 402 })],
    ["an abort", () => new DOMException("stopped", "AbortError")],
    ["a RangeError, as a stack that overflows throws", () => new RangeError("Maximum call stack size exceeded")],
    ["an error of another realm", () => runInNewContext("new TypeError('elsewhere')") as unknown],
    ["several errors in one", () => new AggregateError([new Error("one"), new Error("two")], "both")],
    [
      "an error whose message cannot be read",
      () =>
        Object.defineProperty(new Error("hidden"), "message", {
          get: () => {
            throw new Error("no");
          },
        }),
    ],
  ];

  onEachStore((open) => {
    test.each(thrown)("frees its key, whatever was thrown: %s", async (_, value) => {
      const store = keepIn(open());
      const events = recordEvents("idempotency_released");
      const Charge = chargeTask({}, (_, run) => {
        if (run === 1) throw value();
      });

      const first = await Charge.execute({ paymentId: "pay_1" });
      const freed = await store.get(KEY);
      const second = await Charge.execute({ paymentId: "pay_1" });

      expect(first.status).toBe("failed");
      expect(ofName(events, "idempotency_released")).toMatchObject([{ payload: { idempotencyKey: KEY, reason: "failed" } }]);
      expect(freed).toBeUndefined();
      expect(second.status).toBe("success");
    });

    test("frees its key when it rejects without anybody waiting, and when it skips or fails on purpose", async () => {
      const store = keepIn(open());
      const events = recordEvents("idempotency_released");
      const Charge = chargeTask({}, (task, run) => {
        if (run === 1) return Promise.reject(new Error("late"));
        if (run === 2) task.skip("nothing to do");
        if (run === 3) task.fail("cannot be done");
        return undefined;
      });

      const statuses: string[] = [];
      for (let call = 0; call < 4; call += 1) statuses.push((await Charge.execute({ paymentId: "pay_1" })).status);

      expect(statuses).toEqual(["failed", "skipped", "failed", "success"]);
      expect(ofName(events, "idempotency_released").map(({ payload }) => payload.reason)).toEqual(["failed", "skipped", "failed"]);
      expect((await store.get(KEY))?.value).toBe("completed");
    });

    test("is rolled back before its key is free", async () => {
      const store = keepIn(open());
      const atRollback = new PausePoint();
      class Reserve extends Task.with({ input: z.object({ id: z.string() }) }) {
        work(): void {
          throw new Error("no stock");
        }
        override rollback(): Promise<void> {
          return atRollback.pass();
        }
      }
      idempotentBy("id")(Reserve);
      const first = Reserve.execute({ id: "1" });
      await atRollback.reached;

      const during = await Reserve.execute({ id: "1" });
      atRollback.resume();
      await first;

      expect(during.metadata).toMatchObject({ code: "duplicate", state: "processing" });
      expect(await store.get("cmdx:idem:Reserve:1")).toBeUndefined();
    });
  });
});
