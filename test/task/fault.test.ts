import { afterEach, describe, expect, test } from "vitest";
import { Fault, FailError, isFault, isTaskwrightError, resetConfiguration, Task, TaskwrightError } from "taskwright";
import { z } from "zod";
import { rejectionOf, taskOf } from "../support/builders.js";

afterEach(() => {
  resetConfiguration();
});

class CardError extends Error {}

class Charge extends Task.with({ input: z.object({ amount: z.number() }) }) {
  work(): string {
    if (this.input.amount > 100) this.fail("too much", { code: "limit" });
    if (this.input.amount < 0) throw new CardError("declined");
    if (this.input.amount === 0) this.skip("nothing to charge");
    return "ch_1";
  }
}

describe("executeBang", () => {
  test("gives the result of a success and of a skip", async () => {
    expect(await Charge.executeBang({ amount: 5 })).toMatchObject({ status: "success", output: "ch_1" });
    expect(await Charge.executeBang({ amount: 0 })).toMatchObject({ status: "skipped" });
  });

  test("rejects with a fault when work threw; its cause is the error as it was thrown", async () => {
    const fault = await rejectionOf(Charge.executeBang({ amount: -1 }));

    expect(fault).toBeInstanceOf(Fault);
    expect(fault).toMatchObject({ name: "Fault", code: "failed", message: "Charge failed: declined" });
    expect(fault).toHaveProperty("cause", expect.any(CardError));
    expect(fault).toHaveProperty("result.status", "failed");
  });

  test("rejects with the same kind of error when work called fail; its code is the metadata's", async () => {
    const fault = await rejectionOf(Charge.executeBang({ amount: 500 }));

    expect(fault).toMatchObject({ name: "Fault", code: "limit", message: "Charge failed: too much" });
    expect(fault).toHaveProperty("cause", expect.any(FailError));
  });

  test("rejects with a fault for an input that does not fit", async () => {
    const fault = await rejectionOf(Charge.executeBang({ amount: "5" as never }));

    expect(fault).toMatchObject({ code: "invalid_input", result: { issues: [{ path: ["amount"] }] } });
  });

  test("rejects with a fault when it was called off", async () => {
    const fault = await rejectionOf(Charge.executeBang({ amount: 5 }, { signal: AbortSignal.abort() }));

    expect(fault).toMatchObject({ name: "Fault", code: "aborted" });
  });

  test("rejects with the plain error for a programmer's mistake", async () => {
    const mistake = await rejectionOf(Charge.executeBang({ amount: 5 }, { sginal: undefined } as never));

    expect(mistake).toMatchObject({ name: "DefinitionError" });
    expect(isFault(mistake)).toBe(false);
  });

  test("keeps a code that is no text out of the fault", async () => {
    const fault = await rejectionOf(taskOf((task) => task.fail("odd", { code: 5 })).executeBang());

    expect(fault).toHaveProperty("code", "failed");
  });
});

describe("isFault", () => {
  class PremiumCharge extends Charge {}
  class Refund extends Charge {}

  test("tells faults from everything else", async () => {
    const fault = await rejectionOf(Charge.executeBang({ amount: -1 }));

    expect(isFault(fault)).toBe(true);
    for (const other of [new Error("no"), undefined, null, "fault", {}, { name: "Fault", code: "failed" }, new FailError("no")]) {
      expect(isFault(other)).toBe(false);
    }
  });

  test("asks for a task: the fault's own, or one that it extends", async () => {
    const fault = await rejectionOf(PremiumCharge.executeBang({ amount: -1 }));

    expect(isFault(fault, PremiumCharge)).toBe(true);
    expect(isFault(fault, Charge)).toBe(true);
    expect(isFault(fault, Refund)).toBe(false);
    expect(isFault(await rejectionOf(Charge.executeBang({ amount: -1 })), PremiumCharge)).toBe(false);
  });

  test("does not show the task class to those who log the fault", async () => {
    const fault = await rejectionOf(Charge.executeBang({ amount: -1 }));

    expect(Object.keys(fault as object)).not.toContain("type");
    expect(isTaskwrightError(fault)).toBe(true);
    expect(fault).toBeInstanceOf(TaskwrightError);
  });

  test("knows a class that people derive from Fault from Fault itself", async () => {
    class Special extends Fault {}
    const fault = await rejectionOf(Charge.executeBang({ amount: -1 }));

    expect(fault).not.toBeInstanceOf(Special);
    const result = (fault as Fault).result;
    expect(new Special(result, Charge)).toBeInstanceOf(Special);
    expect(isFault(new Special(result, Charge), Charge)).toBe(true);
  });
});

describe("through three levels of executeBang", () => {
  class Bottom extends Task.with() {
    work(): never {
      this.metadata["host"] = "cards";
      throw new CardError("declined");
    }
  }
  class Middle extends Task.with() {
    async work(): Promise<void> {
      this.metadata["level"] = "middle";
      await Bottom.executeBang();
    }
  }
  class Top extends Task.with() {
    async work(): Promise<void> {
      await Middle.executeBang();
    }
  }

  test("the error, the origin and the notes come up whole", async () => {
    const result = await Top.execute();

    expect(result).toMatchObject({
      status: "failed",
      task: "Top",
      reason: "declined",
      origin: { task: "Bottom" },
      metadata: { host: "cards", level: "middle" },
    });
    expect(result).toHaveProperty("error", expect.any(CardError));
  });

  test("the fault at the top has the first error as its cause, not a chain of faults", async () => {
    const fault = await rejectionOf(Top.executeBang());

    expect(isFault(fault, Top)).toBe(true);
    expect(fault).toHaveProperty("cause", expect.any(CardError));
    expect(fault).toHaveProperty("message", "Top failed: declined");
  });

  test("propagate says the same as executeBang", async () => {
    class Propagating extends Task.with() {
      async work(): Promise<void> {
        this.propagate(await Middle.execute());
      }
    }

    expect(await Propagating.execute()).toMatchObject({
      reason: "declined",
      origin: { task: "Bottom" },
      metadata: { host: "cards", level: "middle" },
    });
  });

  test("a fault that is caught and wrapped by hand is an error of its own, with the fault as cause", async () => {
    const Wrapping = taskOf(async () => {
      try {
        await Bottom.executeBang();
      } catch (cause) {
        throw new Error("could not charge", { cause });
      }
    });

    const result = await Wrapping.execute();

    expect(result).toMatchObject({ reason: "could not charge", origin: { task: "Sample" } });
    expect(isFault((result as unknown as { error: Error }).error.cause, Bottom)).toBe(true);
  });
});
