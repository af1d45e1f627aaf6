import { afterEach, describe, expect, test, vi } from "vitest";
import { configure, MemoryStore, resetConfiguration, type EventName } from "taskwright";
import { chargeKey, chargeTask } from "./fixtures/charge.js";
import { expectNothingUnhandled, keepIn } from "./fixtures/watch.js";

expectNothingUnhandled();
afterEach(() => {
  vi.restoreAllMocks();
  resetConfiguration();
});

const KEY = chargeKey("pay_1");

describe("a listener", () => {
  const ways: readonly (readonly [string, () => unknown])[] = [
    [
      "throws",
      () => {
        throw new Error("no metrics today");
      },
    ],
    ["rejects", () => Promise.reject(new Error("no metrics today"))],
    ["never ends", () => new Promise(() => {})],
  ];
  const names = ["idempotency_claimed", "idempotency_completed", "idempotency_duplicate", "idempotency_released"] as const;

  for (const [way, listener] of ways) {
    test.each(names)(`that ${way} on %s changes neither the outcome, nor the slot, nor the other listeners`, async (name: EventName) => {
      const store = keepIn(new MemoryStore());
      const heard: string[] = [];
      const errors: string[] = [];
      configure(({ telemetry }) => {
        telemetry.subscribe(name, () => heard.push("before"));
        telemetry.subscribe(name, listener);
        telemetry.subscribe(name, () => heard.push("after"));
        telemetry.subscribe("observer_error", ({ payload }) => errors.push(payload.error.message));
      });
      const Charge = chargeTask({}, (_, run) => {
        if (run === 1) throw new Error("declined");
      });

      const statuses: string[] = [];
      for (let call = 0; call < 3; call += 1) statuses.push((await Charge.execute({ paymentId: "pay_1" })).status);

      expect(statuses).toEqual(["failed", "success", "skipped"]);
      expect((await store.get(KEY))?.value).toBe("completed");
      const times = name === "idempotency_claimed" ? 2 : 1;
      expect(heard).toEqual(Array.from({ length: times }, () => ["before", "after"]).flat());
      expect(errors).toEqual(way === "never ends" ? [] : Array.from({ length: times }, () => "no metrics today"));
    });
  }
});
