import { runInNewContext } from "node:vm";
import { afterEach, describe, expect, test } from "vitest";
import { configure, isTaskwrightError, resetConfiguration, Task, ThrownValueError } from "taskwright";
import { memoryLogger, taskOf } from "../support/builders.js";

afterEach(() => {
  resetConfiguration();
});

/** The result of a task whose `work` throws the value, with everything looked at that looks at errors. */
async function resultOfThrowing(value: unknown) {
  const { logger, lines } = memoryLogger();
  configure((config) => {
    config.logger = logger;
  });
  const result = await taskOf(() => {
    throw value;
  }).execute();
  if (result.status !== "failed") throw new Error("it did not fail");
  return { result, lines, json: JSON.stringify(result) };
}

describe("an error that was thrown is the result's error, as it is", () => {
  class CardError extends Error {
    readonly code = "card";
  }

  test.each<[string, Error, string]>([
    ["a plain error", new Error("declined"), "declined"],
    ["an error of a class of its own", new CardError("declined"), "declined"],
    ["a frozen error", Object.freeze(new Error("declined")), "declined"],
    ["an error without a message", Object.assign(new TypeError("gone"), { message: "" }), "TypeError"],
    ["an AggregateError", new AggregateError([new Error("a"), new Error("b")], "both"), "both"],
    ["a DOMException", new DOMException("not here", "NotFoundError"), "not here"],
    ["an error whose message is no text", Object.assign(new Error("gone"), { message: 5 as never }), "Error"],
    ["an error whose name and message are no texts", Object.assign(new Error("gone"), { message: {} as never, name: 1 as never }), "Error"],
  ])("%s", async (_, error, reason) => {
    const { result } = await resultOfThrowing(error);

    expect(result.error).toBe(error);
    expect(result).toMatchObject({ reason, retryable: true, issues: [], metadata: {} });
  });

  test("an error of another realm", async () => {
    const error = runInNewContext("new RangeError('from afar')") as Error;

    const { result } = await resultOfThrowing(error);

    expect(error).not.toBeInstanceOf(Error);
    expect(result.error).toBe(error);
    expect(result.reason).toBe("from afar");
  });

  test("an error whose message cannot be read", async () => {
    const error = Object.defineProperty(new Error("gone"), "message", {
      get() {
        throw new Error("no");
      },
    });

    const { result, json, lines } = await resultOfThrowing(error);

    expect(result.error).toBe(error);
    expect(result.reason).toBe("an error whose message cannot be read");
    expect(JSON.parse(json)).toMatchObject({ error: { message: "an error whose message cannot be read" } });
    expect(lines).toHaveLength(1);
  });

  test("an error that is its own cause", async () => {
    const error = new Error("ouroboros");
    error.cause = error;

    const { result, json } = await resultOfThrowing(error);

    expect(result.error).toBe(error);
    expect(JSON.parse(json)).toMatchObject({ error: { message: "ouroboros", cause: "[circular]" } });
  });
});

describe("a thrown value that is no error is the cause of one that stands in for it", () => {
  test.each<[string, unknown, string]>([
    ["a text", "declined", "declined"],
    ["an empty text", "", "ThrownValueError"],
    ["undefined", undefined, "undefined was thrown, which is no Error"],
    ["null", null, "null was thrown, which is no Error"],
    ["a number", 404, "404 was thrown, which is no Error"],
    ["NaN", Number.NaN, "NaN was thrown, which is no Error"],
    ["a bigint", 5n, "5n was thrown, which is no Error"],
    ["a boolean", false, "false was thrown, which is no Error"],
    ["a symbol", Symbol.for("s"), "Symbol(s) was thrown, which is no Error"],
    ["a function", function declined() {}, "the function declined was thrown, which is no Error"],
    ["an array", ["declined"], "an array was thrown, which is no Error"],
    ["an object", { password: "hunter2" }, "an object was thrown, which is no Error"],
    ["an object that looks like an error", { name: "Error", message: "declined" }, "an object was thrown, which is no Error"],
    ["an object without a prototype", Object.create(null), "an object was thrown, which is no Error"],
    ["a promise", Promise.resolve(), "an object was thrown, which is no Error"],
  ])("%s", async (_, value, reason) => {
    const { result, lines } = await resultOfThrowing(value);

    expect(result.reason).toBe(reason);
    expect(result.error).toBeInstanceOf(ThrownValueError);
    expect(isTaskwrightError(result.error)).toBe(true);
    expect(result.error.cause).toBe(value);
    expect(lines.map(({ message }) => message)).toEqual([`Sample failed: ${reason}`]);
  });

  test("and its contents are not shown in the reason", async () => {
    const { result } = await resultOfThrowing({ password: "hunter2" });

    expect(result.reason).not.toContain("hunter2");
  });
});

test("a rejection is treated like a throw", async () => {
  const error = new Error("declined");
  class Sample extends Task.with() {
    work(): Promise<never> {
      return Promise.reject(error);
    }
  }

  expect(await Sample.execute()).toHaveProperty("error", error);
});

test("a thenable that rejects is treated like a throw", async () => {
  const error = new Error("declined");
  class Sample extends Task.with() {
    work(): PromiseLike<never> {
      // oxlint-disable-next-line unicorn/no-thenable -- a thenable is what is tested
      return { then: (_fulfilled, rejected) => Promise.reject(error).then(undefined, rejected) };
    }
  }

  expect(await Sample.execute()).toHaveProperty("error", error);
});
