import { afterEach, describe, expect, test } from "vitest";
import {
  callback,
  deprecated,
  isDefinitionError,
  isTaskwrightError,
  onFailed,
  onSuccess,
  resetConfiguration,
  retryOn,
  settings,
  Task,
  use,
} from "taskwright";
import { z } from "zod";
import { rejectionOf, taskOf, thrownBy } from "../support/builders.js";

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
const decorate =
  (decorator: unknown, ...target: unknown[]) =>
  (): unknown =>
    Reflect.apply(decorator as () => void, undefined, target);

/** The text of a programmer's mistake: it tells what is wrong, what was given, and what to do. */
function mistake(error: unknown): string {
  if (isDefinitionError(error) && isTaskwrightError(error) && error.code === "definition") return error.message;
  throw new Error("it is no DefinitionError", { cause: error });
}

describe("a task that cannot be run", () => {
  test("for it has no work", async () => {
    const Bare = class Bare extends (Task.with() as unknown as new () => Task) {} as unknown as Untyped;

    for (const method of ["execute", "executeBang"] as const) {
      expect(mistake(await rejectionOf(Bare[method]()))).toContain("Bare has no work. Give the class a method: async work() { … }.");
    }
  });

  test("for its work is no method", async () => {
    const Odd = class Odd extends (Task.with() as unknown as new () => Task) {} as unknown as Untyped;
    Object.defineProperty((Odd as unknown as { prototype: object }).prototype, "work", { value: 5 });

    expect(mistake(await rejectionOf(Odd.execute()))).toContain("Odd has no work.");
  });

  test("for it extends Task without a contract", async () => {
    const Loose = class Loose extends (Task as unknown as new () => Task) {
      work(): void {}
    } as unknown as Untyped;

    expect(mistake(await rejectionOf(Loose.execute()))).toContain(
      "Loose extends Task without a contract. Write: class Loose extends Task.with({ input: z.object({ … }) }).",
    );
  });

  test("for execute was taken off its class", async () => {
    expect(mistake(await rejectionOf(Reflect.apply(untyped.execute, undefined, [])))).toContain(
      "execute was called apart from its class. Call it on the task: ChargeCustomer.execute(…).",
    );
    expect(mistake(await rejectionOf(Reflect.apply(untyped.executeBang, undefined, [])))).toContain(
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
      expect(mistake(thrownBy(read))).toContain("This Charge is not running. Call Charge.execute(…) instead of making it by hand.");
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
    expect(mistake(thrownBy(withAny(contract)))).toContain(message);
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

    expect(mistake(await rejectionOf(Scalar.execute({})))).toContain(`Task.with(): input must be an object schema, ${message}`);
    expect(mistake(await rejectionOf(Scalar.executeBang({})))).toContain(message);
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
    expect(mistake(await rejectionOf(untyped.execute({}, options)))).toContain(message);
    expect(mistake(await rejectionOf(untyped.executeBang({}, options)))).toContain(message);
  });

  test.each<[string, unknown]>([
    ["undefined", undefined],
    ["empty", {}],
    ["undefined in each place", { signal: undefined, idempotencyKey: undefined, context: undefined }],
  ])("that are %s are fine", async (_, options) => {
    expect(await untyped.execute({}, options)).toMatchObject({ status: "success" });
  });
});

describe("decorators", () => {
  test.each<[string, () => unknown, string]>([
    [
      "@retryOn with a text",
      () => retryOn("TimeoutError" as never, {}),
      '@retryOn() takes error classes and predicates, then options, got "TimeoutError".',
    ],
    [
      "@retryOn with undefined, as a circular import gives",
      () => retryOn(undefined as never),
      "@retryOn() takes error classes and predicates, then options, got undefined.",
    ],
    [
      "@retryOn with options first",
      () => retryOn({ limit: 1 }, Error),
      "@retryOn() takes error classes and predicates, then options, got an object.",
    ],
    ["@retryOn with null", () => retryOn(null as never), "@retryOn() takes an object of options, got null."],
    [
      "@retryOn with an unknown option",
      () => retryOn(Error, { limits: 3 } as never),
      '@retryOn() has no option "limits". Allowed: "limit", "delay", "maxDelay", "jitter", "if", "unless". Check the spelling.',
    ],
    [
      "@retryOn with a limit that is no number",
      () => retryOn(Error, { limit: "3" as never }),
      '@retryOn(): limit must be a whole number of 0 or more, got "3".',
    ],
    [
      "@retryOn with a broken limit",
      () => retryOn(Error, { limit: 1.5 }),
      "@retryOn(): limit must be a whole number of 0 or more, got 1.5.",
    ],
    [
      "@retryOn with a negative limit",
      () => retryOn(Error, { limit: -1 }),
      "@retryOn(): limit must be a whole number of 0 or more, got -1.",
    ],
    [
      "@retryOn with an endless limit",
      () => retryOn(Error, { limit: Infinity }),
      "@retryOn(): limit must be a whole number of 0 or more, got Infinity.",
    ],
    [
      "@retryOn with a negative delay",
      () => retryOn(Error, { delay: -1 }),
      "@retryOn(): delay must be a time of zero or more, got -1. Give a number of seconds (0.2, 600) or text with a unit",
    ],
    [
      "@retryOn with a delay without a unit",
      () => retryOn(Error, { delay: "5" as never }),
      '@retryOn(): delay must be a time of zero or more, got "5".',
    ],
    [
      "@retryOn with a maxDelay that is none",
      () => retryOn(Error, { maxDelay: Number.NaN }),
      "@retryOn(): maxDelay must be a time of zero or more, got NaN.",
    ],
    [
      "@retryOn with an unknown jitter",
      () => retryOn(Error, { jitter: "expo" as never }),
      '@retryOn(): jitter must be a function or one of "exponential", "linear", "fibonacci", "full_random", "half_random", "bounded_random", "decorrelated_jitter", got "expo".',
    ],
    ["@retryOn with a gate that is none", () => retryOn(Error, { if: true as never }), "@retryOn(): if must be a function, got true."],
    ["@settings with an unknown option", () => settings({ tag: "a" } as never), '@settings() has no option "tag". Allowed: "tags"'],
    ["@settings with no options", () => settings(undefined as never), "@settings() takes an object of options, got undefined."],
    ["@settings with a tag that is blank", () => settings({ tags: [""] }), '@settings(): tags must be texts that are not blank, got "".'],
    [
      "@settings with a logger that is none",
      () => settings({ logger: true as never }),
      "@settings(): logger must have the methods info, warn and error, as pino and console do, got true.",
    ],
    [
      "@settings with fields that are no list",
      () => settings({ logFields: { input: true as never } }),
      "@settings(): logFields: input must be an array of keys to show, got true.",
    ],
    [
      "@deprecated without a message",
      () => deprecated(undefined as never),
      "@deprecated() takes a message that says what to use instead, or false, got undefined.",
    ],
    [
      "@deprecated with a blank message",
      () => deprecated(" "),
      '@deprecated() takes a message that says what to use instead, or false, got " ".',
    ],
    [
      "@deprecated with an unknown action",
      () => deprecated("use B", { action: "error" as never }),
      '@deprecated(): action must be one of "log", "warn", "fail", got "error".',
    ],
    [
      "@deprecated with an unknown option",
      () => deprecated("use B", { since: "1.0" } as never),
      '@deprecated() has no option "since". Allowed: "action", "if", "unless". Check the spelling.',
    ],
    [
      "@use with no middleware",
      () => use("logging" as never),
      'A middleware is a function (task, next) or an object with call(task, next), got "logging".',
    ],
    [
      "@use with a gate that is none",
      () => use(() => undefined, { unless: 1 as never }),
      "a middleware: unless must be a function, got 1.",
    ],
    [
      "@callback with an unknown name",
      () => callback("onSuccess" as never, () => undefined),
      'There is no callback "onSuccess". The callbacks are "before_execution"',
    ],
    [
      "@callback without a function",
      () => callback("on_success", undefined as never),
      "the callback on_success must be a function, got undefined.",
    ],
    [
      "@onSuccess with a gate that is none",
      () => onSuccess({ if: "always" as never }),
      '@onSuccess(): if must be a function, got "always".',
    ],
    [
      "@onFailed with an unknown option",
      () => onFailed({ when: () => true } as never),
      '@onFailed() has no option "when". Allowed: "if", "unless". Check the spelling.',
    ],
    ["@onFailed without its parentheses", () => onFailed((() => undefined) as never), "@onFailed() takes an object of options, got"],
  ])("%s", (_, make, message) => {
    expect(mistake(thrownBy(make))).toContain(message);
  });

  const classDecorators: [string, unknown][] = [
    ["@retryOn()", retryOn(Error)],
    ["@settings()", settings({})],
    ["@deprecated()", deprecated("use B")],
    ["@use()", use(() => undefined)],
    ['@callback("on_success")', callback("on_success", () => undefined)],
  ];

  test.each(classDecorators)("%s on something that is no task class", (name, decorator) => {
    class NoTask {
      readonly a = 1;
    }
    const cure = "Move it above a class that extends Task.";

    expect(mistake(thrownBy(decorate(decorator, NoTask)))).toContain(
      `${name} stands on a task class, but was put on the function NoTask. ${cure}`,
    );
    expect(mistake(thrownBy(decorate(decorator, undefined)))).toContain(`was put on undefined. ${cure}`);
    expect(mistake(thrownBy(decorate(decorator, {})))).toContain(`was put on an object. ${cure}`);
  });

  test.each(classDecorators)("%s on a member of a task, in both protocols", (name, decorator) => {
    const method = (): void => undefined;

    expect(mistake(thrownBy(decorate(decorator, method, { kind: "method", name: "work" })))).toContain(
      `${name} stands on a task class, but was put on a method.`,
    );
    expect(mistake(thrownBy(decorate(decorator, Charge.prototype, "work", { value: method })))).toContain("was put on the member work");
    expect(mistake(thrownBy(decorate(decorator, Charge, "of", { value: method })))).toContain("was put on the member of");
  });

  test("a callback's decorator on something that is no method, in both protocols", () => {
    const metadata = {};
    for (const kind of ["class", "field", "getter", "setter", "accessor"]) {
      expect(mistake(thrownBy(decorate(onSuccess(), undefined, { kind, name: "a", static: false, metadata })))).toContain(
        `@onSuccess() stands on a method of a task, but was put on a ${kind}. Move it above a method that is not static.`,
      );
    }
    expect(mistake(thrownBy(decorate(onSuccess(), () => undefined, { kind: "method", name: "a", static: true, metadata })))).toContain(
      "was put on a static method",
    );
    expect(mistake(thrownBy(decorate(onSuccess(), Charge)))).toContain("was put on the function Charge");
    expect(mistake(thrownBy(decorate(onSuccess(), Charge.prototype, "a", undefined)))).toContain("stands on a method of a task");
    expect(mistake(thrownBy(decorate(onSuccess(), Charge, "a", { value: () => undefined })))).toContain("was put on the function Charge");
  });

  test("a callback's decorator under a compiler that gives no metadata", () => {
    expect(mistake(thrownBy(decorate(onSuccess(), () => undefined, { kind: "method", name: "a", static: false })))).toContain(
      "@onSuccess(): this compiler gives decorators no metadata. Use TypeScript 5.2 or later, or @callback() on the class.",
    );
  });

  test("an error in one decorator leaves the class as it was", async () => {
    const Sample = taskOf(() => 1);

    thrownBy(() => settings({ tags: ["a", " "] })(Sample));

    expect((await Sample.execute()).tags).toEqual([]);
  });
});

test("long texts and the contents of objects are not shown in a message", () => {
  const secret = { password: "hunter2" };

  const long = thrownBy(() => retryOn(Error, { jitter: "x".repeat(500) as never }));
  const hidden = thrownBy(() => retryOn(Error, { limit: secret as never }));

  expect((long as Error).message).toContain("got a text of 500 characters");
  expect((hidden as Error).message).not.toContain("hunter2");
});
