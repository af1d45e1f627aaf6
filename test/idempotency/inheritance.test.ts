import { describe, expect, test } from "vitest";
import { idempotentBy, Task } from "taskwright";
import { z } from "zod";
import { ofName, recordEvents } from "../support/builders.js";
import { inMemory } from "./world.js";

const INPUT = { requestId: "r1", paymentId: "p1" };

/** A parent and a child, both with work of their own count. */
function family() {
  class ApplicationTask extends Task.with({ input: z.object({ requestId: z.string(), paymentId: z.string() }) }) {
    works(): number {
      return 1;
    }
    work(): number {
      return this.works();
    }
  }
  class ChargeCustomer extends ApplicationTask {}
  return { ApplicationTask, ChargeCustomer };
}

inMemory((world) => {
  const keys = (): string[] => [...new Set(world.store.calls.map(({ key }) => key))];

  describe("a subclass", () => {
    test("inherits resolver and options", async () => {
      const { ApplicationTask, ChargeCustomer } = family();
      idempotentBy("requestId", { ttl: 600 })(ApplicationTask);

      await ChargeCustomer.execute(INPUT);

      expect(keys()).toEqual(["cmdx:idem:ChargeCustomer:r1"]);
      expect(ChargeCustomer.idempotency).toEqual(ApplicationTask.idempotency);
    });

    test("with a resolver of its own keeps the inherited options", async () => {
      const { ApplicationTask, ChargeCustomer } = family();
      idempotentBy("requestId", { ttl: 600, onDuplicate: "fail" })(ApplicationTask);
      idempotentBy("paymentId")(ChargeCustomer);

      await ChargeCustomer.execute(INPUT);

      expect(keys()).toEqual(["cmdx:idem:ChargeCustomer:p1"]);
      expect(ChargeCustomer.idempotency).toMatchObject({ ttlMs: 600_000, onDuplicate: { processing: "fail", completed: "fail" } });
    });

    test("with options of its own keeps the inherited resolver, and the options it does not name", async () => {
      const { ApplicationTask, ChargeCustomer } = family();
      idempotentBy("requestId", { ttl: 600, namespace: "billing" })(ApplicationTask);
      idempotentBy({ ttl: 60 })(ChargeCustomer);

      await ChargeCustomer.execute(INPUT);

      expect(keys()).toEqual(["billing:ChargeCustomer:r1"]);
      expect(ChargeCustomer.idempotency).toMatchObject({ ttlMs: 60_000, namespace: "billing" });
    });

    test("computes lease and maxHold anew from its own ttl, where nobody has set them", () => {
      const { ApplicationTask, ChargeCustomer } = family();
      idempotentBy("requestId", { ttl: "24h" })(ApplicationTask);
      idempotentBy({ ttl: 60 })(ChargeCustomer);

      expect(ApplicationTask.idempotency).toMatchObject({ leaseMs: 300_000, maxHoldMs: 86_400_000 });
      expect(ChargeCustomer.idempotency).toMatchObject({ leaseMs: 60_000, maxHoldMs: 3_600_000 });
    });

    test("turns it off for itself with false: no claim, and work runs each time", async () => {
      const { ApplicationTask, ChargeCustomer } = family();
      idempotentBy("requestId")(ApplicationTask);
      idempotentBy(false)(ChargeCustomer);
      const events = recordEvents();

      await ChargeCustomer.execute(INPUT);
      const result = await ChargeCustomer.execute(INPUT);

      expect(result.status).toBe("success");
      expect(world.store.calls).toEqual([]);
      expect(ChargeCustomer.idempotency).toBeUndefined();
      expect(events.filter(({ name }) => name.startsWith("idempotency_"))).toEqual([]);
      expect(ApplicationTask.idempotency).toBeDefined();
    });

    test("of one that is off turns it on with a resolver, and has the options of before", () => {
      const { ApplicationTask, ChargeCustomer } = family();
      idempotentBy("requestId", { ttl: 600 })(ApplicationTask);
      idempotentBy(false)(ChargeCustomer);
      class ChargeAgain extends ChargeCustomer {}
      idempotentBy("paymentId")(ChargeAgain);

      expect(ChargeAgain.idempotency).toMatchObject({ ttlMs: 600_000, resolver: { field: "paymentId" } });
    });

    test("of one that is off does not turn it on with options alone, and still has them once it is on", () => {
      const { ApplicationTask, ChargeCustomer } = family();
      idempotentBy("requestId")(ApplicationTask);
      idempotentBy(false)(ChargeCustomer);
      class Options extends ChargeCustomer {}
      idempotentBy({ ttl: 60 })(Options);
      class On extends Options {}
      idempotentBy("paymentId")(On);

      expect(Options.idempotency).toBeUndefined();
      expect(On.idempotency).toMatchObject({ ttlMs: 60_000 });
    });

    test("never changes its parent", async () => {
      const { ApplicationTask, ChargeCustomer } = family();
      idempotentBy("requestId", { ttl: 600, if: () => true })(ApplicationTask);
      const before = ApplicationTask.idempotency;
      idempotentBy("paymentId", { ttl: 60, onDuplicate: "fail", if: null })(ChargeCustomer);
      idempotentBy(false)(ChargeCustomer);

      expect(ApplicationTask.idempotency).toEqual(before);
      await ApplicationTask.execute(INPUT);
      expect(keys()).toEqual(["cmdx:idem:ApplicationTask:r1"]);
    });

    test("never changes its siblings", () => {
      const { ApplicationTask, ChargeCustomer } = family();
      class Refund extends ApplicationTask {}
      idempotentBy("requestId")(ApplicationTask);
      idempotentBy({ ttl: 60 })(ChargeCustomer);

      expect(Refund.idempotency).toMatchObject({ ttlMs: 300_000 });
    });

    test("sees what its parent is told after it has run", async () => {
      const { ApplicationTask, ChargeCustomer } = family();
      await ChargeCustomer.execute(INPUT);
      idempotentBy("requestId")(ApplicationTask);

      await ChargeCustomer.execute(INPUT);

      expect(await ChargeCustomer.execute(INPUT)).toMatchObject({ status: "skipped", metadata: { code: "duplicate" } });
    });

    test("keeps what it was told itself when its parent is told something later", () => {
      const { ApplicationTask, ChargeCustomer } = family();
      idempotentBy("paymentId", { ttl: 60 })(ChargeCustomer);
      idempotentBy("requestId", { ttl: 600, namespace: "late" })(ApplicationTask);

      expect(ChargeCustomer.idempotency).toMatchObject({ ttlMs: 60_000, namespace: "late", resolver: { field: "paymentId" } });
    });

    test("takes the last of several declarations on one class, option by option", () => {
      const { ApplicationTask } = family();
      idempotentBy("requestId", { ttl: 60, namespace: "a" })(ApplicationTask);
      idempotentBy({ ttl: 90 })(ApplicationTask);

      expect(ApplicationTask.idempotency).toMatchObject({ ttlMs: 90_000, namespace: "a" });
    });

    test("inherits from a base class without an input of its own", async () => {
      abstract class Base extends Task {}
      idempotentBy("requestId", { ttl: 600 })(Base);
      class Sample extends Base.with({ input: z.object({ requestId: z.string() }) }) {
        work(): void {}
      }

      await Sample.execute({ requestId: "r9" });

      expect(keys()).toEqual(["cmdx:idem:Sample:r9"]);
    });
  });

  describe("gates", () => {
    test.each<[name: string, gates: { if?: () => boolean; unless?: () => boolean }, active: boolean]>([
      ["if true", { if: () => true }, true],
      ["if false", { if: () => false }, false],
      ["unless true", { unless: () => true }, false],
      ["unless false", { unless: () => false }, true],
      ["both open", { if: () => true, unless: () => false }, true],
      ["if open, unless closed", { if: () => true, unless: () => true }, false],
      ["if closed, unless open", { if: () => false, unless: () => false }, false],
    ])("%s: active is %s", async (_name, gates, active) => {
      const events = recordEvents("idempotency_bypassed", "idempotency_claimed");
      const { ApplicationTask } = family();
      idempotentBy("requestId", gates)(ApplicationTask);

      const result = await ApplicationTask.execute(INPUT);

      expect(result.status).toBe("success");
      expect(world.store.calls.length > 0).toBe(active);
      expect(events.map(({ name }) => name)).toEqual([active ? "idempotency_claimed" : "idempotency_bypassed"]);
    });

    test("get the task as this and as argument, with its parsed input, before the resolver is asked", async () => {
      const order: string[] = [];
      const { ApplicationTask } = family();
      type App = InstanceType<typeof ApplicationTask>;
      idempotentBy(
        (task: App) => {
          order.push("resolver");
          return task.input.requestId;
        },
        {
          if(this: App, task: App) {
            order.push(`gate ${this === task} ${task.input.paymentId}`);
            return true;
          },
        },
      )(ApplicationTask);

      await ApplicationTask.execute(INPUT);

      expect(order).toEqual(["gate true p1", "resolver"]);
    });

    test("that are closed leave the resolver unasked, and tell why the run stepped aside", async () => {
      const events = recordEvents("idempotency_bypassed");
      const { ApplicationTask } = family();
      idempotentBy(
        () => {
          throw new Error("must not be asked");
        },
        { if: () => false },
      )(ApplicationTask);

      expect(await ApplicationTask.execute(INPUT)).toHaveProperty("status", "success");
      expect(ofName(events, "idempotency_bypassed").map(({ payload }) => payload)).toEqual([{ why: "gate" }]);
    });

    test("are inherited one by one, replaced one by one, and cleared with null", async () => {
      const { ApplicationTask, ChargeCustomer } = family();
      const closed = (): boolean => false;
      const open = (): boolean => false;
      idempotentBy("requestId", { if: closed, unless: open })(ApplicationTask);
      idempotentBy({ if: null })(ChargeCustomer);

      expect(ChargeCustomer.idempotency).toMatchObject({ if: null, unless: open });
      expect(ApplicationTask.idempotency).toMatchObject({ if: closed, unless: open });
      await ChargeCustomer.execute(INPUT);
      expect(keys()).toEqual(["cmdx:idem:ChargeCustomer:r1"]);
    });

    test("that throw fail the run, and nothing is claimed", async () => {
      const error = new Error("no gate today");
      const { ApplicationTask } = family();
      idempotentBy("requestId", {
        if: () => {
          throw error;
        },
      })(ApplicationTask);

      expect(await ApplicationTask.execute(INPUT)).toHaveProperty("error", error);
      expect(world.store.calls).toEqual([]);
    });

    test("that answer with a promise fail the run, since a promise is always true", async () => {
      const { ApplicationTask } = family();
      idempotentBy("requestId", { if: (() => Promise.reject(new Error("x"))) as unknown as () => boolean })(ApplicationTask);

      const result = await ApplicationTask.execute(INPUT);

      expect(result).toMatchObject({ status: "failed" });
      expect(result.reason).toContain("answered with a promise");
      expect(world.store.calls).toEqual([]);
    });
  });
});
