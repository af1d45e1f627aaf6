import { afterEach, describe, expect, test } from "vitest";
import { configure, FailError, resetConfiguration, retryOn, Task } from "taskwright";
import { z } from "zod";
import { swallow, taskOf, thrownBy } from "../support/builders.js";

afterEach(() => {
  resetConfiguration();
});

describe("what each halt makes of the run", () => {
  test("success carries the output and the metadata", async () => {
    const Sample = taskOf((task) => {
      (task as Task & { success(output: object, metadata: object): never }).success({ id: 1 }, { how: "early" });
    });

    const result = await Sample.execute();

    expect(result).toMatchObject({
      status: "success",
      state: "complete",
      output: { id: 1 },
      metadata: { how: "early" },
      reason: undefined,
    });
  });

  test("success without an output", async () => {
    class Ping extends Task.with() {
      work(): unknown {
        return this.success();
      }
    }

    expect(await Ping.execute()).toMatchObject({ status: "success", output: undefined });
  });

  test("skip carries reason and metadata, and is ok and ko", async () => {
    const result = await taskOf((task) => task.skip("paid already", { paymentId: "p1" })).execute();

    expect(result).toMatchObject({
      status: "skipped",
      state: "interrupted",
      ok: true,
      ko: true,
      reason: "paid already",
      metadata: { paymentId: "p1" },
    });
  });

  test("skip without a reason", async () => {
    const result = await taskOf((task) => task.skip()).execute();

    expect(result).toMatchObject({ status: "skipped", reason: undefined, metadata: {} });
  });

  test("fail carries reason, metadata and cause", async () => {
    const cause = new Error("insufficient funds");

    const result = await taskOf((task) => task.fail("declined", { code: "declined" }, { cause, retryable: false })).execute();

    expect(result).toMatchObject({
      status: "failed",
      state: "interrupted",
      ok: false,
      ko: true,
      reason: "declined",
      metadata: { code: "declined" },
      retryable: false,
      error: { name: "FailError", message: "declined", cause },
    });
  });

  test("fail without a reason names the task", async () => {
    const result = await taskOf((task) => task.fail()).execute();

    expect(result).toMatchObject({ status: "failed", reason: "Sample failed without a reason", retryable: true });
    expect(result).toHaveProperty("error", expect.any(FailError));
  });

  test("a cause that is null is kept", async () => {
    const result = await taskOf((task) => task.fail("odd", {}, { cause: null })).execute();

    expect(result).toHaveProperty("error.cause", null);
  });

  test("propagate fails with the failure of the other run, its error, notes and origin kept", async () => {
    const error = new Error("network");
    class Inner extends Task.with() {
      work(): void {
        this.metadata["host"] = "cards";
        throw error;
      }
    }
    const outer = taskOf(async (task: Task) => {
      task.propagate(await Inner.execute());
      return "not reached";
    });

    const result = await outer.execute();

    expect(result).toMatchObject({
      status: "failed",
      reason: "network",
      metadata: { host: "cards" },
      origin: { task: "Inner", runId: expect.any(String) as string },
    });
    expect(result).toHaveProperty("error", error);
  });

  test.each([
    ["a success", taskOf(() => 1)],
    ["a skip", taskOf((task) => task.skip())],
  ])("propagate of %s does nothing", async (_, Inner) => {
    const result = await taskOf(async (task: Task) => {
      task.propagate(await Inner.execute());
      return "went on";
    }).execute();

    expect(result).toMatchObject({ status: "success", output: "went on" });
  });
});

describe("a halt that is swallowed", () => {
  test.each([
    ["skip", (task: Task) => task.skip("closed"), { status: "skipped", reason: "closed" }],
    ["fail", (task: Task) => task.fail("closed"), { status: "failed", reason: "closed" }],
  ])("by a try/catch around %s still decides", async (_, halt, expected) => {
    const result = await taskOf((task) => {
      swallow(() => halt(task));
      return "went on";
    }).execute();

    expect(result).toMatchObject(expected);
  });

  test("decides also when the work throws something else afterwards", async () => {
    const result = await taskOf((task) => {
      swallow(() => task.skip("closed"));
      throw new Error("later");
    }).execute();

    expect(result).toMatchObject({ status: "skipped", reason: "closed" });
  });

  test("and followed by another halt: the first one counts", async () => {
    const result = await taskOf((task) => {
      swallow(() => task.skip("first"));
      task.fail("second");
    }).execute();

    expect(result).toMatchObject({ status: "skipped", reason: "first" });
  });

  test("by a finally that returns still decides", async () => {
    const result = await taskOf((task) => {
      try {
        task.fail("closed");
      } finally {
        // oxlint-disable-next-line no-unsafe-finally -- this is what is tested
        return "went on";
      }
    }).execute();

    expect(result).toMatchObject({ status: "failed", reason: "closed" });
  });

  test("by Promise.allSettled still decides", async () => {
    const result = await taskOf(async (task) => {
      await Promise.allSettled([(async () => task.skip("one of them"))()]);
      return "went on";
    }).execute();

    expect(result).toMatchObject({ status: "skipped", reason: "one of them" });
  });

  test("is followed by no retry, whatever is thrown after it", async () => {
    let attempts = 0;
    const Sample = taskOf((task) => {
      attempts += 1;
      swallow(() => task.fail("closed"));
      throw new Error("network");
    });
    retryOn(Error, { limit: 3, delay: 0 })(Sample);

    const result = await Sample.execute();

    expect(attempts).toBe(1);
    expect(result).toMatchObject({ status: "failed", reason: "closed", retries: 0 });
  });

  test("of success is verified against the output schema", async () => {
    class Charge extends Task.with({ output: z.object({ id: z.string() }) }) {
      work(): { id: string } {
        swallow(() => this.success({ id: 5 as never }));
        return { id: "right" };
      }
    }

    expect(await Charge.execute()).toMatchObject({ status: "failed", metadata: { code: "invalid_output" } });
  });

  test("says what it is to those who log what they catch", async () => {
    let caught: unknown;
    await taskOf((task) => {
      caught = thrownBy(() => task.skip());
    }).execute();

    expect(String(caught)).toBe("Halt (skipped): leaves work early; let it pass through your catch");
    expect(caught).not.toBeInstanceOf(Error);
  });
});

test("in parallel branches the first halt decides, and the others are let pass", async () => {
  configure((config) => {
    config.telemetry.subscribe("observer_error", ({ payload }) => {
      throw payload.error;
    });
  });

  const result = await taskOf(async (task) => {
    const branch = async (name: string) => task.fail(name);
    await Promise.all([branch("first"), branch("second")]);
  }).execute();

  expect(result).toMatchObject({ status: "failed", reason: "first" });
});
