import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  AbortedError,
  CircuitOpenError,
  circuitBreaker,
  circuitOf,
  idempotentBy,
  literal,
  resetConfiguration,
  retryOn,
  Task,
  use,
} from "taskwright";
import type { ManualClock } from "taskwright/testing";
import { z } from "zod";
import { ofName, recordEvents, useManualClock } from "../support/builders.js";
import { bank } from "./circuits.js";

const refused = { status: "failed", metadata: { code: "circuit_open" } };
let clock: ManualClock;
beforeEach(() => {
  clock = useManualClock();
});
afterEach(() => {
  resetConfiguration();
});

describe("a closed circuit", () => {
  test("opens after five failures in a row, and refuses runs at once", async () => {
    const { run, fail, told } = bank();

    await fail(4);
    expect(await run("foul")).toMatchObject({ status: "failed", reason: "bank down" });
    const result = await run("fine");

    expect(result).toMatchObject({
      status: "failed",
      retryable: true,
      metadata: { code: "circuit_open", circuit: "Bank", retryAfterMs: 30_000 },
    });
    expect(result.status === "failed" && result.error).toBeInstanceOf(CircuitOpenError);
    expect(result.reason).toBe("Bank did not run: the circuit Bank is open for another 30000 ms, after the failure: bank down");
    expect(told.works).toBe(5);
  });

  test("counts anew after a success", async () => {
    const { run, fail, state } = bank({ threshold: 3 });

    await fail(2);
    await run("fine");
    await fail(2);
    expect(state()).toBe("closed");
    await fail(1);

    expect(state()).toBe("open");
  });

  test.each<[string, (task: Task) => unknown]>([
    ["this.fail()", (task) => task.fail("no money")],
    ["this.skip()", (task) => task.skip("nothing to do")],
  ])("neither counts %s nor begins a new count after it", async (_, halt) => {
    const { run, fail, state } = bank({ threshold: 3 });

    await fail(2);
    for (let at = 0; at < 5; at += 1) await run(halt);
    expect(state()).toBe("closed");
    await fail(1);

    expect(state()).toBe("open");
  });

  test("counts this.success() as a success", async () => {
    const { run, fail, state } = bank({ threshold: 2 });

    await fail(1);
    await run((task) => Reflect.apply(Reflect.get(task, "success") as () => never, task, []));
    await fail(1);

    expect(state()).toBe("closed");
  });

  test("counts an output that does not fit as a failure", async () => {
    class Quote extends Task.with({ output: z.object({ cents: z.number() }) }) {
      work(): { cents: number } {
        return { cents: Number.NaN };
      }
    }
    circuitBreaker({ threshold: 1 })(Quote);

    expect(await Quote.execute()).toMatchObject({ metadata: { code: "invalid_output" } });
    expect(circuitOf(Quote)?.state).toBe("open");
  });

  test("does not count an input that is refused, since it lies outside of it", async () => {
    class Quote extends Task.with({ input: z.object({ cents: z.number() }) }) {
      work(): void {}
    }
    circuitBreaker({ threshold: 1 })(Quote);

    await Quote.execute({ cents: "many" as unknown as number });

    expect(circuitOf(Quote)?.state).toBe("closed");
  });

  test("takes a run that was retried and succeeded at last for one success", async () => {
    const { Bank, run, fail, state } = bank({ threshold: 2 });
    retryOn(Error, { limit: 3, delay: 0 })(Bank);

    await fail(1);
    await run((task) => {
      if (task.attempt < 4) throw new Error("bank down");
    });
    await fail(1);

    expect(state()).toBe("closed");
  });

  test("takes a run that was retried in vain for one failure", async () => {
    const { Bank, fail, state } = bank({ threshold: 2 });
    retryOn(Error, { limit: 3, delay: 0 })(Bank);

    await fail(1);

    expect(state()).toBe("closed");
  });

  test("counts neither skipped nor failed nor replayed duplicates", async () => {
    for (const onDuplicate of ["skip", "fail", "replay"] as const) {
      let fails = false;
      class Charge extends Task.with({ name: `Charge ${onDuplicate}`, input: z.object({ id: z.string() }), output: z.object({}) }) {
        work(): Record<string, never> {
          if (fails) throw new Error("bank down");
          return {};
        }
      }
      idempotentBy("id", { onDuplicate })(Charge);
      circuitBreaker({ threshold: 2 })(Charge);

      await Charge.execute({ id: "a" });
      fails = true;
      await Charge.execute({ id: "b" });
      for (let at = 0; at < 3; at += 1) await Charge.execute({ id: "a" });
      expect(circuitOf(Charge)?.state).toBe("closed");
      await Charge.execute({ id: "c" });

      expect(circuitOf(Charge)?.state, onDuplicate).toBe("open");
    }
  });

  test("does not count runs that were called off", async () => {
    const { Bank, told, state } = bank({ threshold: 1 });
    told.weather = () => new Promise(() => undefined);
    const controller = new AbortController();

    const running = Bank.execute({}, { signal: controller.signal });
    controller.abort();

    expect(await running).toMatchObject({ status: "failed", error: expect.any(AbortedError) });
    expect(state()).toBe("closed");
  });

  test("opens once when runs fail at the same time, and all of them have the answer of their own work", async () => {
    const events = recordEvents("circuit_opened");
    const { Bank, told } = bank({ threshold: 3 });
    told.weather = "foul";

    const results = await Promise.all(Array.from({ length: 20 }, () => Bank.execute()));

    expect(results.map(({ reason }) => reason)).toEqual(Array.from({ length: 20 }, () => "bank down"));
    expect(events).toHaveLength(1);
  });

  test("is open by the time that the run which has opened it answers", async () => {
    const { run } = bank({ threshold: 1 });

    await run("foul");

    expect(await run("fine")).toMatchObject(refused);
  });
});

describe("an open circuit", () => {
  test("refuses up to the last millisecond of the cool-off, and tells how much is left", async () => {
    const { run, fail } = bank({ threshold: 1, coolOff: "10s" });
    await fail(1);

    await clock.advance(9_999);
    expect(await run("fine")).toMatchObject({ metadata: { code: "circuit_open", retryAfterMs: 1 } });
    await clock.advance(1);

    expect(await run("fine")).toMatchObject({ status: "success" });
  });

  test("does not look at the wall clock, which may jump", async () => {
    const { run, fail } = bank({ threshold: 1 });
    await fail(1);

    clock.jump(3_600_000);
    expect(await run("fine")).toMatchObject(refused);
    clock.jump(-7_200_000);
    await clock.advance(30_000);

    expect(await run("fine")).toMatchObject({ status: "success" });
  });

  test("keeps what it refuses away from the slot and from rollback", async () => {
    let rollbacks = 0;
    class Charge extends Task.with() {
      work(): void {
        throw new Error("bank down");
      }
      override rollback(): void {
        rollbacks += 1;
      }
    }
    circuitBreaker({ threshold: 1 })(Charge);
    idempotentBy(literal("once"))(Charge);
    await Charge.execute();
    const events = recordEvents();

    expect(await Charge.execute()).toMatchObject({ ...refused, retries: 0, rolledBack: false });
    expect(rollbacks).toBe(1);
    expect(events.map(({ name }) => name)).toEqual(["task_started", "circuit_refused", "task_executed"]);
  });

  test("refuses as a value that middlewares see, and as a Fault of executeBang", async () => {
    const seen: string[] = [];
    const { Bank, fail } = bank({ threshold: 1 });
    use(async (_task, next) => {
      seen.push((await next()).status);
    })(Bank);
    await fail(1);

    await expect(Bank.executeBang()).rejects.toMatchObject({ cause: { code: "circuit_open", cause: { message: "bank down" } } });
    expect(seen).toEqual(["failed", "failed"]);
  });

  test("hears nothing of runs that it had let through before it opened", async () => {
    const events = recordEvents("circuit_opened", "circuit_closed");
    const { run, fail, start, state } = bank({ threshold: 2 });
    const early = [
      await start(),
      await start(() => Promise.reject(new Error("late"))),
      await start(() => Promise.reject(new Error("late"))),
    ];
    await fail(2);

    early[0]?.resume();
    expect(await early[0]?.result).toMatchObject({ status: "success" });
    expect(state()).toBe("open");
    await clock.advance(30_000);
    early[1]?.resume();
    expect(await early[1]?.result).toMatchObject({ reason: "late" });
    expect(state()).toBe("half_open");
    await run("fine");
    early[2]?.resume();
    await early[2]?.result;
    await fail(1);

    expect(state()).toBe("closed");
    expect(events.map(({ name }) => name)).toEqual(["circuit_opened", "circuit_closed"]);
  });
});

describe("each change of state", () => {
  test("is announced with the run that caused it", async () => {
    const events = recordEvents("circuit_opened", "circuit_half_opened", "circuit_closed", "circuit_refused");
    const { run } = bank({ threshold: 2, coolOff: 5 });

    const results = [await run("foul"), await run("foul"), await run("fine")];
    await clock.advance(5_000);
    results.push(await run("foul"));
    await clock.advance(5_000);
    results.push(await run("fine"));

    const error = expect.objectContaining({ message: "bank down" });
    expect(events.map(({ name, runId, payload }) => [name, results.findIndex((result) => result.runId === runId), payload])).toEqual([
      ["circuit_opened", 1, { circuit: "Bank", coolOffMs: 5_000, error }],
      ["circuit_refused", 2, { code: "circuit_open", circuit: "Bank", retryAfterMs: 5_000 }],
      ["circuit_half_opened", 3, { circuit: "Bank" }],
      ["circuit_opened", 3, { circuit: "Bank", coolOffMs: 5_000, error }],
      ["circuit_half_opened", 4, { circuit: "Bank" }],
      ["circuit_closed", 4, { circuit: "Bank" }],
    ]);
  });

  test("is announced before the run that caused it answers, and makes children of that run what its listeners start", async () => {
    const { Bank, run } = bank({ threshold: 1 });
    class Page extends Task.with() {
      work(): void {}
    }
    const pages: Promise<{ parentId: string | undefined }>[] = [];
    Bank.telemetry.subscribe("circuit_opened", () => pages.push(Page.execute()));

    const { runId } = await run("foul");

    expect(pages).toHaveLength(1);
    expect((await pages[0])?.parentId).toBe(runId);
  });

  test("changes nothing of a run when its listener throws", async () => {
    const { Bank, run, state } = bank({ threshold: 1 });
    const errors = recordEvents("observer_error");
    Bank.telemetry.subscribe("circuit_opened", () => {
      throw new Error("pager down");
    });

    expect(await run("foul")).toMatchObject({ reason: "bank down" });
    expect(state()).toBe("open");
    expect(ofName(errors, "observer_error").map(({ payload }) => payload.observer)).toEqual(["a listener of circuit_opened"]);
  });
});
