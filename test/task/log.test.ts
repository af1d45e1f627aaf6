import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { configure, resetConfiguration, retryOn, settings, Task, type LogFields, type Logger, type ObjectSchema } from "taskwright";
import { z } from "zod";
import { memoryLogger, rejectionOf, taskOf, useManualClock, warningsOf, type LogLine } from "../support/builders.js";
import { settle } from "../support/manual-clock.js";

let lines: LogLine[] = [];

beforeEach(() => {
  const memory = memoryLogger();
  lines = memory.lines;
  configure((config) => {
    config.logger = memory.logger;
  });
});
afterEach(() => {
  resetConfiguration();
});

const logFields = (fields: LogFields): void =>
  configure((config) => {
    config.logFields = fields;
  });

describe("the line of a run", () => {
  test("is at level info for a success and a skip, at level error for a failure", async () => {
    await taskOf(() => 1).execute();
    await taskOf((task) => task.skip("closed")).execute();
    await taskOf((task) => task.skip()).execute();
    await taskOf((task) => task.fail("declined")).execute();

    expect(lines.map(({ level, message }) => `${level}: ${message}`)).toEqual([
      "info: Sample success",
      "info: Sample skipped: closed",
      "info: Sample skipped",
      "error: Sample failed: declined",
    ]);
  });

  test("of a plain success has exactly these fields", async () => {
    useManualClock();
    const result = await taskOf(() => ({ id: 1 })).execute();

    expect(lines[0]?.fields).toEqual({
      task: "Sample",
      status: "success",
      state: "complete",
      runId: result.runId,
      chainId: result.chainId,
      index: 0,
      depth: 0,
      retries: 0,
      durationMs: 0,
    });
  });

  test("of a failure has the error, its origin and whether it was rolled back, besides", async () => {
    configure((config) => {
      config.correlationId = () => "request-1";
    });
    const Inner = taskOf((task) => task.fail("declined", { code: "declined" }));
    class Outer extends Task.with() {
      async work(): Promise<void> {
        await Inner.executeBang();
      }
      override rollback(): void {}
    }
    settings({ tags: ["billing"] })(Outer);

    const result = await Outer.execute();

    const inner = lines[0]?.fields;
    expect(lines[1]?.fields).toMatchObject({
      task: "Outer",
      status: "failed",
      state: "interrupted",
      reason: "declined",
      code: "declined",
      correlationId: "request-1",
      tags: ["billing"],
      rolledBack: true,
      origin: { task: "Sample", runId: inner?.["runId"] },
      error: { name: "FailError", message: "declined" },
    });
    expect(inner).toMatchObject({ parentId: result.runId, depth: 1, index: 1 });
  });

  test("is written once, also for a run that was retried, and also when execute rejects", async () => {
    const Sample = taskOf(() => {
      throw new Error("network");
    });
    retryOn(Error, { limit: 2, delay: 0 })(Sample);
    await Sample.execute();
    class Scalar extends Task.with({ input: z.object({}).transform(() => "text") as unknown as ObjectSchema }) {
      work(): void {}
    }
    await rejectionOf(Scalar.execute({}));

    expect(lines.map(({ message }) => message)).toEqual(["Sample failed: network", expect.stringMatching(/^Scalar failed/)]);
  });

  test("can be written down as JSON", async () => {
    const cause: Record<string, unknown> = { big: 1n };
    cause["self"] = cause;
    logFields({ metadata: ["odd"] });
    await taskOf((task) => task.fail("declined", { odd: cause }, { cause })).execute();

    expect(() => JSON.stringify(lines)).not.toThrow();
  });
});

describe("secrets", () => {
  class Charge extends Task.with({
    input: z.object({ amount: z.number(), card: z.string() }),
    output: z.object({ id: z.string(), token: z.string() }),
  }) {
    work(): { id: string; token: string } {
      this.metadata["host"] = "cards";
      this.metadata["apiKey"] = "secret-key";
      return { id: "ch_1", token: "secret-token" };
    }
  }
  const run = () => Charge.execute({ amount: 1, card: "secret-card" }, { context: { requestId: "r1", user: "secret-user" } });

  test("are not in the line: no value of input, output, context or metadata is, unless it is listed", async () => {
    await run();

    expect(JSON.stringify(lines)).not.toMatch(/secret|amount|host|r1/);
  });

  test("listed fields are shown, and only they", async () => {
    logFields({ input: ["amount"], output: ["id"], context: ["requestId"], metadata: ["host"] });

    await run();

    expect(lines[0]?.fields).toMatchObject({
      input: { amount: 1 },
      output: { id: "ch_1" },
      context: { requestId: "r1" },
      metadata: { host: "cards" },
    });
    expect(JSON.stringify(lines)).not.toContain("secret");
  });

  test("a listed field that is not there is left out, also one that every object inherits", async () => {
    logFields({ input: ["missing", "constructor", "__proto__", "amount"] });

    await run();

    expect(lines[0]?.fields["input"]).toEqual({ amount: 1 });
  });

  test("are not in the line of an input that does not fit, whatever the validator quotes", async () => {
    const quoting = z.object({ card: z.string().refine(() => false, { error: ({ input }) => `not a card: ${String(input)}` }) });
    class Quoting extends Task.with({ input: quoting }) {
      work(): void {}
    }

    const result = await Quoting.execute({ card: "secret-card" });

    expect(result.reason).toContain("secret-card");
    expect(JSON.stringify(lines)).not.toContain("secret-card");
    expect(lines[0]).toMatchObject({
      level: "error",
      message: expect.stringContaining("card") as string,
      fields: { code: "invalid_input" },
    });
  });

  test("are not in the line of a value that was thrown and is no error", async () => {
    await taskOf(() => {
      throw { password: "secret" } as unknown as Error;
    }).execute();

    expect(lines[0]?.fields).toMatchObject({ reason: "an object was thrown, which is no Error" });
  });
});

describe("a logger that fails", () => {
  const logger = (log: () => unknown): Logger => ({ info: log, warn: log, error: log });

  test.each<[string, () => unknown]>([
    [
      "throws",
      () => {
        throw new Error("disk full");
      },
    ],
    ["rejects", () => Promise.reject(new Error("disk full"))],
    ["never settles", () => new Promise(() => undefined)],
  ])("and %s changes no outcome and keeps nobody waiting", async (_, log) => {
    configure((config) => {
      config.logger = logger(log);
    });

    await warningsOf(async () => {
      expect((await taskOf(() => 1).execute()).status).toBe("success");
      expect((await taskOf((task) => task.fail("declined")).execute()).reason).toBe("declined");
      await settle();
    });
  });
});

test("what fails in a callback is written to the logger with its place, at level error", async () => {
  configure((config) =>
    config.callback("on_success", function notify() {
      throw new Error("no mail today");
    }),
  );

  await taskOf(() => 1).execute();

  expect(lines[0]).toMatchObject({
    level: "error",
    message: "Sample: the on_success callback notify failed; the outcome is unchanged",
    fields: { task: "Sample", observer: "the on_success callback notify", error: { message: "no mail today" } },
  });
});

test("without a logger and without a listener, what fails in a callback is a warning of the process, once for each place", async () => {
  resetConfiguration();
  class Unwatched extends Task.with() {
    work(): void {}
  }
  configure((config) =>
    config.callback("on_success", function notifyNobody() {
      throw new Error("no mail today");
    }),
  );

  const warnings = await warningsOf(async () => {
    await Unwatched.execute();
    await Unwatched.execute();
  });

  expect(warnings.map(({ name, message }) => [name, message])).toEqual([
    [
      "TaskwrightWarning",
      expect.stringContaining("Unwatched: the on_success callback notifyNobody failed; the outcome is unchanged: Error: no mail today"),
    ],
  ]);
});
