import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { idempotentBy, literal, onSkipped, retryOn, StoreKey, Task, type TelemetryEvent } from "taskwright";
import { z } from "zod";
import { chargeTask, INPUT, KEY, operations, type ChargeTask } from "../idempotency/charge.js";
import { onEachStore } from "../idempotency/world.js";
import { PausePoint, recordEvents, taskOf } from "../support/builders.js";

/** The page this library began with, clause by clause, on both stores. What each clause leaves open is tested under test/idempotency. */

const names = (events: readonly TelemetryEvent[]): string[] => events.map(({ name }) => name);

onEachStore((world) => {
  describe("purpose and place", () => {
    test("I1: one declaration on the class is enough, with nothing registered", async () => {
      @idempotentBy("paymentId")
      class ChargeCustomer extends Task.with({ input: z.object({ paymentId: z.string() }) }) {
        work(): string {
          return "charged";
        }
      }

      expect(await ChargeCustomer.execute(INPUT)).toMatchObject({ status: "success", output: "charged" });
      expect(await ChargeCustomer.execute(INPUT)).toMatchObject({ status: "skipped", metadata: { code: "duplicate" } });
    });

    test("I2, I25: the claim is a write that must find nothing, the success one that must find the claim", async () => {
      await chargeTask().ChargeCustomer.execute(INPUT);

      expect(world.store.calls).toMatchObject([
        { operation: "claim", key: KEY, value: "processing", options: { nx: true } },
        { operation: "complete", key: KEY, value: "completed", options: { xx: true } },
      ]);
    });

    test("I3: the second caller stops before work", async () => {
      const pause = new PausePoint();
      const { ChargeCustomer, seen } = chargeTask({}, { work: () => pause.pass() });
      const first = ChargeCustomer.execute(INPUT);
      await pause.reached;

      await ChargeCustomer.execute(INPUT);

      expect(seen.works).toBe(1);
      pause.resume();
      await first;
    });

    test("I4: it is no lock: a repeat after the end is refused as well, and nobody waits unless asked to", async () => {
      const { ChargeCustomer, seen } = chargeTask();

      for (let call = 0; call < 3; call += 1) await ChargeCustomer.execute(INPUT);

      expect(seen.works).toBe(1);
      expect(world.clock.now()).toBe(0);
    });

    test("I5: an input that does not fit never touches the store", async () => {
      await chargeTask().ChargeCustomer.execute({ paymentId: "p", amountCents: "none" });

      expect(world.store.calls).toEqual([]);
    });

    test("I6, I7, I8, I45: one claim around all attempts, after the input and before the completion, the output verified inside it", async () => {
      const order: string[] = [];
      let failures = 1;
      class ChargeCustomer extends Task.with({
        input: z.object({ paymentId: z.string().transform((id) => (order.push("input"), id)) }),
        output: z.object({ id: z.string().transform((id) => (order.push("output"), id)) }),
      }) {
        work(): { id: string } {
          order.push("work");
          failures -= 1;
          if (failures >= 0) throw new TypeError("flaky");
          return { id: "ch_1" };
        }
      }
      idempotentBy("paymentId")(ChargeCustomer);
      retryOn(TypeError, { delay: 0 })(ChargeCustomer);
      for (const name of ["idempotency_claimed", "idempotency_completed"] as const) {
        ChargeCustomer.telemetry.subscribe(name, () => order.push(name));
      }

      await ChargeCustomer.execute(INPUT);

      expect(order).toEqual(["input", "idempotency_claimed", "work", "work", "output", "idempotency_completed"]);
    });
  });

  describe("options", () => {
    test("I9: after the ttl, 300 s unless set, a new run may claim", async () => {
      const { ChargeCustomer, seen } = chargeTask();
      await ChargeCustomer.execute(INPUT);
      await world.pass(299_000);
      await ChargeCustomer.execute(INPUT);
      await world.pass(1_100);
      await ChargeCustomer.execute(INPUT);

      expect(seen.works).toBe(2);
    });

    test("I10, I22, I24: the key is namespace, task and segment", async () => {
      await chargeTask().ChargeCustomer.execute(INPUT);
      expect(await world.raw("cmdx:idem:ChargeCustomer:pay_123")).toBe("completed");
    });

    test.each(["skip", "fail"] as const)(
      "I11, I12, I13, I26: onDuplicate %s decides the status; both name code, key and state",
      async (onDuplicate) => {
        const { ChargeCustomer } = chargeTask({ onDuplicate });
        await ChargeCustomer.execute(INPUT);

        const result = await ChargeCustomer.execute(INPUT);

        expect(result.status).toBe(onDuplicate === "skip" ? "skipped" : "failed");
        expect(result.metadata).toMatchObject({ code: "duplicate", idempotencyKey: KEY });
        expect(result.reason).toContain("state=completed");
      },
    );

    test("I14: a gate turns it on and off for each run", async () => {
      const { ChargeCustomer, seen } = chargeTask({ unless: (task) => (task as ChargeTask).input.amountCents === 1 });

      for (const amountCents of [1, 1, 2, 2]) await ChargeCustomer.execute({ ...INPUT, amountCents });

      expect(seen.works).toBe(3);
    });
  });

  describe("resolvers and blank segments", () => {
    test("I15, I16, I17, I18, I19, G10, G15: a field, a literal, functions of both arities, an object, several values", async () => {
      const input = z.object({ user: z.coerce.number(), request: z.string() });
      const forms = [
        idempotentBy("user"),
        idempotentBy(literal("nightly")),
        idempotentBy(() => "nullary"),
        idempotentBy((task: Task & { input: z.output<typeof input> }) => task.input.request),
        idempotentBy({ call: (task: Task & { input: z.output<typeof input> }) => `obj-${task.input.user}` }),
        idempotentBy(["user", "request"]),
      ];

      for (const [at, declare] of forms.entries()) {
        class Sample extends Task.with({ input, name: `Form${at}` }) {
          work(): void {}
        }
        declare(Sample);
        await Sample.execute({ user: "5", request: "r:1" });
      }

      expect([...new Set(world.store.calls.map(({ key }) => key))]).toEqual([
        "cmdx:idem:Form0:5",
        "cmdx:idem:Form1:nightly",
        "cmdx:idem:Form2:nullary",
        "cmdx:idem:Form3:r:1",
        "cmdx:idem:Form4:obj-5",
        "cmdx:idem:Form5:5:r%3A1",
      ]);
    });

    test("I20, I21, I41, G14: a blank segment steps aside, writes nothing, and none of the three events is sent", async () => {
      const events = recordEvents("idempotency_claimed", "idempotency_completed", "idempotency_duplicate");
      const { ChargeCustomer, seen } = chargeTask();

      for (const paymentId of ["", " ", ""]) await ChargeCustomer.execute({ paymentId });

      expect(seen.works).toBe(3);
      expect(world.store.calls).toEqual([]);
      expect(events).toEqual([]);
    });

    test("I23, G14: an empty part of a key is refused where keys are composed", () => {
      expect(() => StoreKey.compose("cmdx:idem", "", "k")).toThrow("taskName");
    });

    test("G12: parts that are missing make no key that everybody shares", async () => {
      class Sample extends Task.with({ input: z.object({ user: z.string().optional(), key: z.string().optional() }) }) {
        work(): void {}
      }
      idempotentBy(["user", "key"])(Sample);

      await Sample.execute({});
      await Sample.execute({ user: "u" });

      expect(world.store.calls).toEqual([]);
    });
  });

  describe("outcomes", () => {
    test("I27: one success, and the next call never enters work", async () => {
      const { ChargeCustomer, seen } = chargeTask();
      await ChargeCustomer.execute(INPUT);
      await ChargeCustomer.execute(INPUT);
      expect(seen.works).toBe(1);
    });

    test.each<[string, (task: Task) => unknown]>([
      ["I28: an error", () => Promise.reject(new Error("declined"))],
      ["I29: a skip", (task) => task.skip("nothing to do")],
      ["I29: a fail", (task) => task.fail("declined")],
      ["G3: the failure of another run", async (task) => task.propagate(await taskOf((inner) => inner.fail("declined")).execute())],
    ])("%s frees the key (I31), without a completed event (I46)", async (_name, work) => {
      const events = recordEvents("idempotency_completed");
      const { ChargeCustomer, seen } = chargeTask({}, { work });

      await ChargeCustomer.execute(INPUT);
      expect(await world.raw(KEY)).toBeUndefined();
      await ChargeCustomer.execute(INPUT);

      expect(seen.works).toBe(2);
      expect(events).toEqual([]);
    });

    test("I30: an output that does not fit frees the key", async () => {
      class ChargeCustomer extends Task.with({ input: z.object({ paymentId: z.string() }), output: z.object({ id: z.string() }) }) {
        work(): { id: string } {
          return {} as { id: string }; // a mistake of the author's
        }
      }
      idempotentBy("paymentId")(ChargeCustomer);

      expect(await ChargeCustomer.execute(INPUT)).toMatchObject({ metadata: { code: "invalid_output" } });
      expect(await world.raw(KEY)).toBeUndefined();
    });

    test("I32, G7: a key whose holder has died is free after the lease, and not before", async () => {
      await world.put(KEY, "processing owner=a-process-that-died", 300_000);
      const { ChargeCustomer, seen } = chargeTask();

      await world.pass(299_000);
      await ChargeCustomer.execute(INPUT);
      expect(seen.works).toBe(0);
      await world.pass(1_100);
      await ChargeCustomer.execute(INPUT);
      expect(seen.works).toBe(1);
    });

    test("G1: in the wait between two attempts a second caller is a duplicate", async () => {
      let failures = 1;
      const { ChargeCustomer, seen } = chargeTask(
        {},
        {
          work() {
            failures -= 1;
            if (failures >= 0) throw new TypeError("flaky");
          },
        },
      );
      retryOn(TypeError, { delay: 20 })(ChargeCustomer);
      const first = ChargeCustomer.execute(INPUT);
      await world.pass(10_000);

      expect(await ChargeCustomer.execute(INPUT)).toMatchObject({ metadata: { code: "duplicate", state: "processing" } });
      await world.pass(11_000);
      expect(await first).toHaveProperty("status", "success");
      expect(seen.works).toBe(2);
    });

    test("G4, G22: a duplicate rolls nothing back, and a key is free only after its own run's rollback", async () => {
      const pause = new PausePoint();
      const { ChargeCustomer, seen } = chargeTask(
        { onDuplicate: "fail" },
        { work: (task) => task.fail("no"), rollback: () => pause.pass() },
      );
      const first = ChargeCustomer.execute(INPUT);
      await pause.reached;

      expect(await ChargeCustomer.execute(INPUT)).toMatchObject({ status: "failed", metadata: { code: "duplicate" }, rolledBack: false });
      pause.resume();
      await first;
      expect(seen.rollbacks).toBe(1);
      expect(await world.raw(KEY)).toBeUndefined();
    });

    test.each<[string, (task: Task) => unknown]>([
      ["completes", () => "late"],
      ["frees", (task) => task.fail("declined")],
    ])("G5, G6: a run that outlived its claim touches nothing of the next when it %s", async (_name, end) => {
      const pause = new PausePoint();
      const events = recordEvents("idempotency_lost", "idempotency_completed", "idempotency_released");
      const { ChargeCustomer } = chargeTask(
        { lease: 10, ttl: 600 },
        {
          async work(task) {
            await pause.pass();
            return end(task);
          },
        },
      );
      world.store.disturb("renew", "fail-before", { times: Infinity });
      const late = ChargeCustomer.execute(INPUT);
      await pause.reached;
      await world.pass(11_000);
      await world.put(KEY, "processing owner=the-next", 60_000);
      pause.resume();
      await late;

      expect(await world.raw(KEY)).toBe("processing owner=the-next");
      expect(names(events)).toEqual(["idempotency_lost"]);
    });

    test("G8: a store that is down stops the run, and one that fails afterwards undoes nothing", async () => {
      const { ChargeCustomer, seen } = chargeTask();
      world.store.disturb("claim", "fail-before", { times: 2 });
      const refused = ChargeCustomer.execute(INPUT);
      await world.pass(1_000);
      expect(await refused).toMatchObject({ status: "failed", metadata: { code: "store_unavailable" } });
      expect(seen.works).toBe(0);

      world.store.disturb("complete", "fail-before");
      const done = ChargeCustomer.execute(INPUT);
      await world.pass(1_000);
      expect(await done).toMatchObject({ status: "success", metadata: {} });
      expect(await world.raw(KEY)).toBe("completed");
    });

    test("G9: what a claim lost to is seen in the same call", async () => {
      await world.put(KEY, "completed", 60_000);

      await chargeTask().ChargeCustomer.execute(INPUT);

      expect(operations(world.store.calls)).toEqual(["claim"]);
    });

    test("G23: the callbacks of a duplicate's status run", async () => {
      const called: string[] = [];
      class ChargeCustomer extends Task.with({ input: z.object({ paymentId: z.string() }) }) {
        work(): void {}

        @onSkipped() told(): void {
          called.push("on_skipped");
        }
      }
      idempotentBy("paymentId")(ChargeCustomer);
      await ChargeCustomer.execute(INPUT);
      await ChargeCustomer.execute(INPUT);

      expect(called).toEqual(["on_skipped"]);
    });

    test("G27: a run that is called off keeps its key until its work has come to rest", async () => {
      const pause = new PausePoint();
      const controller = new AbortController();
      const { ChargeCustomer } = chargeTask({}, { work: () => pause.pass() });
      const run = ChargeCustomer.execute(INPUT, { signal: controller.signal });
      await pause.reached;
      controller.abort();
      await run;

      expect(await world.raw(KEY)).toMatch(/^processing/);
      pause.resume();
      await world.pass(100);
      expect(await world.raw(KEY)).toBeUndefined();
    });

    test("G28: a resolver may hash, and then the value itself shows nowhere", async () => {
      const events = recordEvents();
      class Login extends Task.with({ input: z.object({ email: z.string() }) }) {
        work(): void {}
      }
      idempotentBy((task: Login) => createHash("sha256").update(task.input.email).digest("hex"))(Login);
      await Login.execute({ email: "ada@example.com" });
      const result = await Login.execute({ email: "ada@example.com" });

      const shown = JSON.stringify([result, events.map(({ payload }) => payload), world.store.calls]);
      expect(result.metadata.code).toBe("duplicate");
      expect(shown).not.toContain("ada@example.com");
    });
  });

  describe("inheritance", () => {
    test("I34 to I40: inherited, replaced, merged, turned off, and the parent untouched", async () => {
      class ApplicationTask extends Task.with({ input: z.object({ requestId: z.string(), paymentId: z.string() }) }) {
        work(): void {}
      }
      idempotentBy("requestId", { ttl: 600 })(ApplicationTask);
      class Inherits extends ApplicationTask {}
      class ChargeCustomer extends ApplicationTask {}
      idempotentBy("paymentId")(ChargeCustomer);
      class Merges extends ApplicationTask {}
      idempotentBy({ ttl: 60 })(Merges);
      class PreviewCharge extends ApplicationTask {}
      idempotentBy(false)(PreviewCharge);

      const both = { requestId: "r1", paymentId: "p1" };
      for (const type of [Inherits, ChargeCustomer, Merges, PreviewCharge]) await type.execute(both);

      expect([...new Set(world.store.calls.map(({ key }) => key))]).toEqual([
        "cmdx:idem:Inherits:r1",
        "cmdx:idem:ChargeCustomer:p1",
        "cmdx:idem:Merges:r1",
      ]);
      expect(Inherits.idempotency).toMatchObject({ ttlMs: 600_000 });
      expect(ChargeCustomer.idempotency).toMatchObject({ ttlMs: 600_000, resolver: { field: "paymentId" } });
      expect(Merges.idempotency).toMatchObject({ ttlMs: 60_000, resolver: { field: "requestId" } });
      expect(PreviewCharge.idempotency).toBeUndefined();
      expect(ApplicationTask.idempotency).toMatchObject({ ttlMs: 600_000, resolver: { field: "requestId" } });
    });
  });

  describe("telemetry and signals", () => {
    test("I42 to I48: the three events, their payloads, their order, and the duplicate's before its result", async () => {
      const events = recordEvents("idempotency_claimed", "idempotency_completed", "idempotency_duplicate", "task_executed");
      const { ChargeCustomer } = chargeTask();

      await ChargeCustomer.execute(INPUT);
      const duplicate = await ChargeCustomer.execute(INPUT);

      expect(names(events)).toEqual([
        "idempotency_claimed",
        "idempotency_completed",
        "task_executed",
        "idempotency_duplicate",
        "task_executed",
      ]);
      const payload = { code: "duplicate", idempotencyKey: KEY, state: "completed" };
      expect(events[3]).toMatchObject({ task: "ChargeCustomer", payload });
      expect(duplicate.metadata).toMatchObject(payload);
    });

    test("I49, I50, G2: a duplicate is a result; only one that fails rejects the strict call", async () => {
      const { ChargeCustomer } = chargeTask();
      await ChargeCustomer.execute(INPUT);
      expect(await ChargeCustomer.executeBang(INPUT)).toHaveProperty("status", "skipped");

      idempotentBy({ onDuplicate: "fail" })(ChargeCustomer);
      await expect(ChargeCustomer.executeBang(INPUT)).rejects.toMatchObject({ result: { metadata: { code: "duplicate" } } });
    });
  });
});
