import { afterEach, describe, expect, test } from "vitest";
import { callback, resetConfiguration, retryOn, Task } from "taskwright";
import { z } from "zod";
import { mistakeIn, rejectionOf, thrownBy } from "../support/builders.js";

afterEach(() => {
  resetConfiguration();
});

class Charge extends Task.with() {
  work(): unknown {
    return 1;
  }
}
/** What people get who do not use types. */
interface Untyped {
  readonly execute: (...args: unknown[]) => Promise<unknown>;
  readonly executeBang: (...args: unknown[]) => Promise<unknown>;
}
const untyped = Charge as unknown as Untyped;
const withAny = (contract: unknown) => (): unknown => Task.with(contract as object);

describe("a task that cannot be run", () => {
  test("for it has no work", async () => {
    const Bare = class Bare extends (Task.with() as unknown as new () => Task) {} as unknown as Untyped;

    for (const method of ["execute", "executeBang"] as const) {
      expect(mistakeIn(await rejectionOf(Bare[method]()))).toContain("Bare has no work. Give the class a method: async work() { … }.");
    }
  });

  test("for its work is no method", async () => {
    const Odd = class Odd extends (Task.with() as unknown as new () => Task) {} as unknown as Untyped;
    Object.defineProperty((Odd as unknown as { prototype: object }).prototype, "work", { value: 5 });

    expect(mistakeIn(await rejectionOf(Odd.execute()))).toContain("Odd has no work.");
  });

  test("for it extends Task without a contract", async () => {
    const Loose = class Loose extends (Task as unknown as new () => Task) {
      work(): void {}
    } as unknown as Untyped;

    expect(mistakeIn(await rejectionOf(Loose.execute()))).toContain(
      "Loose extends Task without a contract. Write: class Loose extends Task.with({ input: z.object({ … }) }).",
    );
  });

  test("for execute was taken off its class", async () => {
    expect(mistakeIn(await rejectionOf(Reflect.apply(untyped.execute, undefined, [])))).toContain(
      "execute was called apart from its class. Call it on the task: ChargeCustomer.execute(…).",
    );
    expect(mistakeIn(await rejectionOf(Reflect.apply(untyped.executeBang, undefined, [])))).toContain(
      "executeBang was called apart from its class.",
    );
  });

  test("rejects, and does not throw", () => {
    const Bare = class Bare extends (Task.with() as unknown as new () => Task) {} as unknown as Untyped;

    const answer = Bare.execute();

    expect(answer).toBeInstanceOf(Promise);
    return expect(answer).rejects.toThrow("Bare has no work");
  });

  test("and made by hand, tells how to run it", () => {
    const made = new Charge();
    for (const read of [
      () => made.input,
      () => made.runId,
      () => made.context,
      () => made.signal,
      () => made.attempt,
      () => made.metadata,
      () => made.logger,
    ]) {
      expect(mistakeIn(thrownBy(read))).toContain("This Charge is not running. Call Charge.execute(…) instead of making it by hand.");
    }
  });

  test("is asked for its input before that was parsed", async () => {
    class Early extends Task.with({ input: z.object({ id: z.string() }) }) {
      work(): void {}
    }
    callback<"before_validation", Early>("before_validation", (task) => task.input.id)(Early);

    const result = await Early.execute({ id: "a" });

    expect(result).toMatchObject({ status: "failed" });
    expect(result.reason).toBe("Early: this.input is read before the input was parsed, or when it did not fit.");
  });
});

describe("Task.with", () => {
  test.each<[string, unknown, string]>([
    [
      "an unknown option",
      { inputs: z.object({}) },
      'Task.with() has no option "inputs". Allowed: "input", "output", "name". Check the spelling.',
    ],
    ["no object", "charge", 'Task.with() takes an object of options, got "charge". Allowed: "input", "output", "name".'],
    ["null", null, "Task.with() takes an object of options, got null."],
    ["a schema instead of options", z.object({ id: z.string() }), "Task.with() has no option"],
    [
      "an input that is no schema",
      { input: { id: "string" } },
      "Task.with(): input must be a schema, such as z.object({ … }), got an object.",
    ],
    ["an input that is a class", { input: Date }, "Task.with(): input must be a schema, such as z.object({ … }), got the function Date."],
    ["an output that is null", { output: null }, "Task.with(): output must be a schema, such as z.object({ … }), got null."],
    [
      "a text as input",
      { input: z.string() },
      "Task.with(): input must be an object schema, got z.string(). Name the value: z.object({ value: z.string() }).",
    ],
    ["a number as output", { output: z.number() }, "Task.with(): output must be an object schema, got z.number()."],
    ["a list as input", { input: z.array(z.string()) }, "Task.with(): input must be an object schema, got z.array()."],
    ["an enum as input", { input: z.enum(["a"]) }, "Task.with(): input must be an object schema, got z.enum()."],
    ["a date as input", { input: z.date() }, "Task.with(): input must be an object schema, got z.date()."],
    ["a blank name", { name: " " }, 'Task.with(): name must be a text that is not blank, got " ".'],
    ["a name that is no text", { name: 5 }, "Task.with(): name must be a text that is not blank, got 5."],
  ])("with %s", (_, contract, message) => {
    expect(mistakeIn(thrownBy(withAny(contract)))).toContain(message);
  });

  test.each<[string, unknown, string]>([
    ["a text", "text", 'got one that gives "text"'],
    ["a list", ["a"], "got one that gives an array"],
    ["null", null, "got one that gives null"],
    ["nothing", undefined, "got one that gives undefined"],
  ])("with an input schema that turns out to give %s: execute rejects when the first value shows it", async (_, value, message) => {
    const Scalar = class Scalar extends (Task.with({ input: z.object({}).transform(() => value) as never }) as unknown as new () => Task) {
      work(): void {}
    } as unknown as Untyped;

    expect(mistakeIn(await rejectionOf(Scalar.execute({})))).toContain(`Task.with(): input must be an object schema, ${message}`);
    expect(mistakeIn(await rejectionOf(Scalar.executeBang({})))).toContain(message);
  });
});

describe("the options of a call", () => {
  test.each<[string, unknown, string]>([
    ["an unknown option", { sginal: undefined }, 'Charge.execute() has no option "sginal". Allowed: "signal", "idempotencyKey", "context"'],
    ["no object", "now", 'Charge.execute() takes an object of options, got "now".'],
    ["a list", [], "Charge.execute() takes an object of options, got an array."],
    ["a signal that is none", { signal: {} }, "Charge.execute(): signal must be an AbortSignal, got an object."],
    [
      "a controller instead of its signal",
      { signal: new AbortController() },
      "Charge.execute(): signal must be an AbortSignal, got an object.",
    ],
    ["null as a signal", { signal: null }, "Charge.execute(): signal must be an AbortSignal, got null."],
    ["a text as a signal", { signal: "abort" }, 'Charge.execute(): signal must be an AbortSignal, got "abort".'],
    ["a key that is no text", { idempotencyKey: 5 }, "Charge.execute(): idempotencyKey must be a text, got 5."],
    ["a context that is no object", { context: "ctx" }, 'Charge.execute(): context must be an object, got "ctx".'],
  ])("%s", async (_, options, message) => {
    expect(mistakeIn(await rejectionOf(untyped.execute({}, options)))).toContain(message);
    expect(mistakeIn(await rejectionOf(untyped.executeBang({}, options)))).toContain(message);
  });

  test.each<[string, unknown]>([
    ["undefined", undefined],
    ["empty", {}],
    ["undefined in each place", { signal: undefined, idempotencyKey: undefined, context: undefined }],
  ])("that are %s are fine", async (_, options) => {
    expect(await untyped.execute({}, options)).toMatchObject({ status: "success" });
  });
});

test("long texts and the contents of objects are not shown in a message", () => {
  const secret = { password: "hunter2" };

  const long = thrownBy(() => retryOn(Error, { jitter: "x".repeat(500) as never }));
  const hidden = thrownBy(() => retryOn(Error, { limit: secret as never }));

  expect((long as Error).message).toContain("got a text of 500 characters");
  expect((hidden as Error).message).not.toContain("hunter2");
});
