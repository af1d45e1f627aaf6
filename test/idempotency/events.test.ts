import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { describe, expect, test } from "vitest";
import { configure, retryOn, Task, type TelemetryEvent } from "taskwright";
import { z } from "zod";
import { ofName, recordEvents } from "../support/builders.js";
import { ManualClock } from "taskwright/testing";
import { chargeTask, INPUT, KEY } from "./charge.js";
import { inMemory, onEachStore } from "./world.js";

onEachStore((world) => {
  describe("the events of a run", () => {
    test("that succeeds: claimed, then everything of the work, then completed", async () => {
      const events = recordEvents();
      let failures = 1;
      const { ChargeCustomer } = chargeTask(
        {},
        {
          work() {
            failures -= 1;
            if (failures >= 0) throw new TypeError("flaky");
          },
        },
      );
      retryOn(TypeError, { delay: 0 })(ChargeCustomer);

      await ChargeCustomer.execute(INPUT);

      expect(events.map(({ name }) => name)).toEqual([
        "task_started",
        "idempotency_claimed",
        "retry_scheduled",
        "task_retried",
        "idempotency_completed",
        "task_executed",
      ]);
    });

    test("that is a duplicate: duplicate alone, before the run has answered", async () => {
      const { ChargeCustomer } = chargeTask();
      await ChargeCustomer.execute(INPUT);
      const events = recordEvents();

      await ChargeCustomer.execute(INPUT);

      expect(events.map(({ name }) => name)).toEqual(["task_started", "idempotency_duplicate", "task_executed"]);
    });

    test("that fails: claimed, rolled back, released, and no completed", async () => {
      const events = recordEvents();
      const { ChargeCustomer } = chargeTask({}, { work: (task) => task.fail("declined") });

      await ChargeCustomer.execute(INPUT);

      expect(events.map(({ name }) => name)).toEqual([
        "task_started",
        "idempotency_claimed",
        "task_rolled_back",
        "idempotency_released",
        "task_executed",
      ]);
    });

    test("carry exactly this, beside the fields that all events have", async () => {
      const events = recordEvents("idempotency_claimed", "idempotency_completed", "idempotency_duplicate", "idempotency_released");
      const { ChargeCustomer } = chargeTask({}, { work: (task) => (task.input.paymentId === "bad" ? task.fail("declined") : undefined) });

      const first = await ChargeCustomer.execute(INPUT);
      await ChargeCustomer.execute(INPUT);
      await ChargeCustomer.execute({ paymentId: "bad" });

      expect(events.map(({ name, payload }) => [name, payload])).toEqual([
        ["idempotency_claimed", { idempotencyKey: KEY }],
        ["idempotency_completed", { idempotencyKey: KEY }],
        ["idempotency_duplicate", { code: "duplicate", idempotencyKey: KEY, state: "completed" }],
        ["idempotency_claimed", { idempotencyKey: "cmdx:idem:ChargeCustomer:bad" }],
        ["idempotency_released", { idempotencyKey: "cmdx:idem:ChargeCustomer:bad", reason: "failed" }],
      ]);
      for (const event of events) {
        expect(event).toMatchObject({ task: "ChargeCustomer", timestamp: world.clock.epoch(), depth: 0, index: 0 });
        expect(event.runId).toMatch(/^[0-9a-f-]{36}$/);
        expect(event).toHaveProperty("correlationId");
        expect(Object.isFrozen(event)).toBe(true);
        expect(Object.isFrozen(event.payload)).toBe(true);
      }
      expect(events.slice(0, 2).map(({ runId, chainId }) => [runId, chainId])).toEqual([
        [first.runId, first.chainId],
        [first.runId, first.chainId],
      ]);
    });

    test("come when what they tell is true in the store", async () => {
      const seen: [string, Promise<string | undefined>][] = [];
      configure((config) => {
        for (const name of ["idempotency_claimed", "idempotency_completed", "idempotency_released"] as const)
          config.telemetry.subscribe(name, () => void seen.push([name, world.raw(KEY)]));
      });
      const looked = (): Promise<unknown> => Promise.all(seen.map(([, raw]) => raw)); // before anything changes again
      const { ChargeCustomer } = chargeTask(
        {},
        {
          async work(task) {
            await looked();
            if (seen.length < 2) task.skip();
          },
        },
      );

      for (let run = 0; run < 2; run += 1) {
        await ChargeCustomer.execute(INPUT);
        await looked();
      }

      const told = await Promise.all(seen.map(async ([name, raw]) => [name, (await raw)?.split(" ")[0]]));
      expect(told).toEqual([
        ["idempotency_claimed", "processing"],
        ["idempotency_released", undefined],
        ["idempotency_claimed", "processing"],
        ["idempotency_completed", "completed"],
      ]);
    });

    test("reach the listeners of the class, and those on the diagnostics channel", async () => {
      const byClass: string[] = [];
      const byChannel: unknown[] = [];
      const onChannel = (message: unknown): void => {
        byChannel.push((message as TelemetryEvent).payload);
      };
      const { ChargeCustomer } = chargeTask();
      ChargeCustomer.telemetry.subscribe("idempotency_claimed", ({ payload }) => byClass.push(payload.idempotencyKey));
      subscribe("taskwright:idempotency_claimed", onChannel);

      await ChargeCustomer.execute(INPUT);
      unsubscribe("taskwright:idempotency_claimed", onChannel);

      expect(byClass).toEqual([KEY]);
      expect(byChannel).toEqual([{ idempotencyKey: KEY }]);
    });

    test("change nothing when a listener throws, rejects or never answers", async () => {
      const names = ["idempotency_claimed", "idempotency_completed", "idempotency_duplicate"] as const;
      configure((config) => {
        for (const name of names) {
          config.telemetry.subscribe(name, () => {
            throw new Error("no metrics today");
          });
          config.telemetry.subscribe(name, () => Promise.reject(new Error("no metrics today")));
          config.telemetry.subscribe(name, () => new Promise(() => {}));
        }
        config.telemetry.subscribe("observer_error", () => undefined);
      });
      const { ChargeCustomer } = chargeTask();

      expect(await ChargeCustomer.execute(INPUT)).toHaveProperty("status", "success");
      expect(await ChargeCustomer.execute(INPUT)).toHaveProperty("status", "skipped");
    });
  });
});

inMemory(() => {
  /** A clock that counts how often it is asked for the time of day, which every event is stamped with. */
  class CountingClock extends ManualClock {
    asked = 0;

    override epoch(): number {
      this.asked += 1;
      return super.epoch();
    }
  }

  /** How many stamps a run makes; the task has run before, so that everything is composed. */
  async function stampsOf(
    type: { execute(input: { readonly paymentId: string }): Promise<unknown> },
    input: { readonly paymentId: string },
  ): Promise<number> {
    const clock = new CountingClock();
    await type.execute(INPUT);
    configure((config) => {
      config.clock = clock;
    });
    await type.execute(input);
    return clock.asked;
  }

  /** What a run takes that has no key: stamps for its ids alone. */
  function plainStamps(): Promise<number> {
    class Plain extends Task.with({ input: z.object({ paymentId: z.string() }) }) {
      work(): void {}
    }
    return stampsOf(Plain, INPUT);
  }

  test.each([
    ["a run that succeeds", { paymentId: "other" }],
    ["a duplicate", INPUT],
  ])("nothing is built for events of %s that nobody listens to", async (_name, input) => {
    expect(await stampsOf(chargeTask().ChargeCustomer, input)).toBe(await plainStamps());
  });

  test("a listener of one event has only that one built", async () => {
    const events = recordEvents("idempotency_claimed");

    expect(await stampsOf(chargeTask().ChargeCustomer, { paymentId: "other" })).toBe((await plainStamps()) + 1);
    expect(ofName(events, "idempotency_claimed")).toHaveLength(2);
  });
});
