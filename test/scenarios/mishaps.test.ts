import { afterEach, describe, expect, test } from "vitest";
import { configure, idempotentBy, onSuccess, resetConfiguration, Task, use } from "taskwright";
import { z } from "zod";
import { recordEvents } from "../support/builders.js";
import { chargeKey, chargeTask } from "./fixtures/charge.js";
import { onEachStore } from "./fixtures/stores.js";
import { expectNothingUnhandled, keepIn, slotEvents } from "./fixtures/watch.js";

expectNothingUnhandled();
afterEach(() => {
  resetConfiguration();
});

const KEY = chargeKey("pay_1");

describe("a mishap between the claim and the end of the run", () => {
  class Sum extends Task.with({ input: z.object({ id: z.string() }), output: z.object({ total: z.number() }) }) {
    work(): { total: number } {
      return { total: 1 };
    }
  }

  onEachStore((open) => {
    test("frees the claim: an output that does not fit", async () => {
      const store = keepIn(open());
      class Wrong extends Sum {
        override work(): { total: number } {
          return { total: "three" } as unknown as { total: number }; // what untyped code may give
        }
      }
      idempotentBy("id")(Wrong);
      const events = recordEvents();

      const result = await Wrong.execute({ id: "1" });

      expect(result).toMatchObject({ status: "failed", metadata: { code: "invalid_output" } });
      expect(slotEvents(events)).toEqual(["idempotency_claimed", "idempotency_released"]);
      expect(await store.get("cmdx:idem:Wrong:1")).toBeUndefined();
    });

    test("frees the claim: a listener of the claim that throws, and the run goes on", async () => {
      const store = keepIn(open());
      configure((config) => {
        config.telemetry.subscribe("idempotency_claimed", () => {
          throw new Error("no metrics today");
        });
        config.telemetry.subscribe("observer_error", () => undefined);
      });
      const Charge = chargeTask({}, (_, run) => {
        if (run === 1) throw new Error("declined");
      });

      const first = await Charge.execute({ paymentId: "pay_1" });
      const freed = await store.get(KEY);
      const second = await Charge.execute({ paymentId: "pay_1" });

      expect([first.status, freed, second.status]).toEqual(["failed", undefined, "success"]);
    });

    test("makes no claim at all: a middleware that throws before the run", async () => {
      const store = keepIn(open());
      const Charge = chargeTask();
      use(() => {
        throw new Error("no tenant");
      })(Charge);

      const result = await Charge.execute({ paymentId: "pay_1" });

      expect(result).toMatchObject({ status: "failed", reason: "no tenant" });
      expect(await store.get(KEY)).toBeUndefined();
      expect(Charge.runs).toBe(0);
    });

    test("takes nothing back after the completion: callbacks, middlewares and listeners that throw", async () => {
      const store = keepIn(open());
      configure((config) => {
        config.telemetry.subscribe("idempotency_completed", () => {
          throw new Error("no metrics today");
        });
        config.telemetry.subscribe("observer_error", () => undefined);
      });
      let runs = 0;
      class Late extends Sum {
        override work(): { total: number } {
          runs += 1;
          return { total: 2 };
        }
        @onSuccess() mail(): void {
          throw new Error("no mail today");
        }
      }
      idempotentBy("id")(Late);
      use(async (_, next) => {
        await next();
        throw new Error("no trace today");
      })(Late);

      const first = await Late.execute({ id: "1" });
      const second = await Late.execute({ id: "1" });

      expect(first).toMatchObject({ status: "success", output: { total: 2 } });
      expect(second.metadata).toMatchObject({ code: "duplicate", state: "completed" });
      expect((await store.get("cmdx:idem:Late:1"))?.value).toBe("completed");
      expect(runs).toBe(1);
    });
  });
});
