import { describe, expect, test } from "vitest";
import { idempotentBy, retryOn, Task } from "taskwright";
import { z } from "zod";
import { ofName, PausePoint, recordEvents } from "../support/builders.js";
import { chargeTask, INPUT, KEY, operations } from "./charge.js";
import { onEachStore } from "./world.js";

onEachStore((world) => {
  describe("the claim", () => {
    test("stands in the slot before work runs, and is exactly `processing owner=<token>`", async () => {
      let during: string | undefined;
      let owner: string | undefined;
      const { ChargeCustomer } = chargeTask(
        {},
        {
          async work(task) {
            during = await world.raw(KEY);
            owner = task.claim?.owner;
          },
        },
      );

      await ChargeCustomer.execute(INPUT);

      expect(owner).toMatch(/^\S{16,}$/);
      expect(during).toBe(`processing owner=${owner}`);
    });

    test("is exactly `completed` after a success", async () => {
      const { ChargeCustomer } = chargeTask();

      await ChargeCustomer.execute(INPUT);

      expect(await world.raw(KEY)).toBe("completed");
    });

    test("is not asked for when the input does not fit", async () => {
      const { ChargeCustomer, seen } = chargeTask();

      const result = await ChargeCustomer.execute({ ...INPUT, amountCents: -1 });

      expect(result).toMatchObject({ status: "failed", metadata: { code: "invalid_input" } });
      expect(world.store.calls).toEqual([]);
      expect(seen.works).toBe(0);
    });

    test("costs a first run two calls of the store, and a duplicate one", async () => {
      const { ChargeCustomer } = chargeTask();

      await ChargeCustomer.execute(INPUT);
      await ChargeCustomer.execute(INPUT);

      expect(operations(world.store.calls)).toEqual(["claim", "complete", "claim"]);
    });

    test("has the lease as its life, and the completion the retention", async () => {
      let during: number | undefined;
      const { ChargeCustomer } = chargeTask(
        { lease: 30, ttl: 600 },
        {
          async work() {
            during = await world.life(KEY);
          },
        },
      );

      await ChargeCustomer.execute(INPUT);

      expect(during).toBeGreaterThan(29_000);
      expect(during).toBeLessThanOrEqual(30_000);
      const after = await world.life(KEY);
      expect(after).toBeGreaterThan(599_000);
      expect(after).toBeLessThanOrEqual(600_000);
    });

    test("is shown to the task as key, owner and fence, and to nobody before it is held", async () => {
      const seen: unknown[] = [];
      class ChargeCustomer extends Task.with({ input: z.object({ paymentId: z.string() }) }) {
        work(): void {
          seen.push(this.claim);
        }
      }
      idempotentBy((task: ChargeCustomer) => {
        seen.push(task.claim);
        return task.input.paymentId;
      })(ChargeCustomer);

      await ChargeCustomer.execute(INPUT);

      expect(seen).toEqual([undefined, { key: KEY, owner: expect.any(String), fence: expect.any(Number) }]);
      expect(Object.isFrozen(seen[1])).toBe(true);
    });

    test("has a fence that grows from claim to claim, also after a release and an expiry", async () => {
      const fences: number[] = [];
      const { ChargeCustomer } = chargeTask(
        { ttl: 10 },
        {
          work(task) {
            fences.push(task.claim?.fence ?? Number.NaN);
            if (fences.length < 3) task.fail("not yet");
          },
        },
      );

      for (let run = 0; run < 3; run += 1) await ChargeCustomer.execute(INPUT);
      await world.pass(10_000);
      await ChargeCustomer.execute(INPUT);

      expect(fences).toHaveLength(4);
      expect(fences).toEqual([...new Set(fences)].toSorted((a, b) => a - b));
    });

    test("has another owner in every run", async () => {
      const owners = new Set<string | undefined>();
      const { ChargeCustomer } = chargeTask({}, { work: (task) => void owners.add(task.claim?.owner) });

      for (const paymentId of ["a", "b", "c"]) await ChargeCustomer.execute({ paymentId });

      expect(owners.size).toBe(3);
      expect(owners).not.toContain(undefined);
    });

    test("is held across all attempts: a caller during the backoff is a duplicate, and there is one claim and one completion", async () => {
      const events = recordEvents("idempotency_claimed", "idempotency_completed", "idempotency_released", "retry_scheduled");
      let failures = 2;
      const { ChargeCustomer, seen } = chargeTask(
        {},
        {
          work() {
            failures -= 1;
            if (failures >= 0) throw new TypeError("flaky");
          },
        },
      );
      retryOn(TypeError, { limit: 2, delay: 10 })(ChargeCustomer);

      const first = ChargeCustomer.execute(INPUT);
      await world.pass(5_000);
      const second = await ChargeCustomer.execute(INPUT);
      await world.pass(20_000);

      expect(second).toMatchObject({ status: "skipped", metadata: { code: "duplicate", state: "processing" } });
      expect(await first).toMatchObject({ status: "success", retries: 2 });
      expect(seen.works).toBe(3);
      expect(events.map(({ name }) => name)).toEqual([
        "idempotency_claimed",
        "retry_scheduled",
        "retry_scheduled",
        "idempotency_completed",
      ]);
      expect(await world.raw(KEY)).toBe("completed");
    });

    test.each(["above", "below"] as const)("goes around the retries also where its decorator stands %s theirs", async (place) => {
      const events = recordEvents("idempotency_claimed", "idempotency_released");
      class ChargeCustomer extends Task.with({ input: z.object({ paymentId: z.string() }) }) {
        work(): void {
          throw new TypeError("flaky");
        }
      }
      const decorators = [retryOn(TypeError, { limit: 2, delay: 0 }), idempotentBy("paymentId")];
      for (const decorate of place === "above" ? decorators : decorators.toReversed()) decorate(ChargeCustomer);

      const result = await ChargeCustomer.execute(INPUT);

      expect(result.retries).toBe(2);
      expect(events).toHaveLength(2);
    });

    test("is released once when the last attempt has failed", async () => {
      const events = recordEvents("idempotency_released");
      const { ChargeCustomer } = chargeTask(
        {},
        {
          work() {
            throw new TypeError("flaky");
          },
        },
      );
      retryOn(TypeError, { limit: 2, delay: 0 })(ChargeCustomer);

      await ChargeCustomer.execute(INPUT);

      expect(events).toHaveLength(1);
      expect(operations(world.store.calls)).toEqual(["claim", "delete"]);
      expect(await world.raw(KEY)).toBeUndefined();
    });

    test("lets one of fifty callers at once through, and the others are duplicates", async () => {
      const pause = new PausePoint();
      const events = recordEvents("idempotency_duplicate", "idempotency_claimed");
      const { ChargeCustomer, seen } = chargeTask({}, { work: () => pause.pass() });

      const runs = Array.from({ length: 50 }, () => ChargeCustomer.execute(INPUT));
      await pause.reached;
      pause.resume();
      const results = await Promise.all(runs);

      expect(seen.works).toBe(1);
      expect(results.filter(({ status }) => status === "success")).toHaveLength(1);
      expect(results.filter(({ status }) => status === "skipped")).toHaveLength(49);
      expect(ofName(events, "idempotency_claimed")).toHaveLength(1);
      expect(ofName(events, "idempotency_duplicate")).toHaveLength(49);
    });

    test("leaves the keys of other payments and other tasks alone", async () => {
      const { ChargeCustomer, seen } = chargeTask();
      class Refund extends Task.with({ input: z.object({ paymentId: z.string() }) }) {
        work(): string {
          return "refunded";
        }
      }
      idempotentBy("paymentId")(Refund);

      await ChargeCustomer.execute(INPUT);
      await ChargeCustomer.execute({ paymentId: "pay_124" });
      const refund = await Refund.execute(INPUT);

      expect(seen.works).toBe(2);
      expect(refund).toMatchObject({ status: "success", output: "refunded" });
      expect(await world.raw("cmdx:idem:Refund:pay_123")).toBe("completed");
    });
  });
});
