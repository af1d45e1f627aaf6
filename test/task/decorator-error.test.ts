import { afterEach, describe, expect, test } from "vitest";
import { callback, deprecated, onFailed, onSuccess, resetConfiguration, retryOn, settings, Task, use } from "taskwright";
import { mistakeIn, taskOf, thrownBy } from "../support/builders.js";

afterEach(() => {
  resetConfiguration();
});

class Charge extends Task.with() {
  work(): unknown {
    return 1;
  }
}
const decorate =
  (decorator: unknown, ...target: unknown[]) =>
  (): unknown =>
    Reflect.apply(decorator as () => void, undefined, target);

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
      '@retryOn() has no option "limits". Allowed: "limit", "delay", "maxDelay", "jitter", "overlap", "if", "unless". Check the spelling.',
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
    expect(mistakeIn(thrownBy(make))).toContain(message);
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

    expect(mistakeIn(thrownBy(decorate(decorator, NoTask)))).toContain(
      `${name} stands on a task class, but was put on the function NoTask. ${cure}`,
    );
    expect(mistakeIn(thrownBy(decorate(decorator, undefined)))).toContain(`was put on undefined. ${cure}`);
    expect(mistakeIn(thrownBy(decorate(decorator, {})))).toContain(`was put on an object. ${cure}`);
  });

  test.each(classDecorators)("%s on a member of a task, in both protocols", (name, decorator) => {
    const method = (): void => undefined;

    expect(mistakeIn(thrownBy(decorate(decorator, method, { kind: "method", name: "work" })))).toContain(
      `${name} stands on a task class, but was put on a method.`,
    );
    expect(mistakeIn(thrownBy(decorate(decorator, Charge.prototype, "work", { value: method })))).toContain("was put on the member work");
    expect(mistakeIn(thrownBy(decorate(decorator, Charge, "of", { value: method })))).toContain("was put on the member of");
  });

  test("a callback's decorator on something that is no method, in both protocols", () => {
    const metadata = {};
    for (const kind of ["class", "field", "getter", "setter", "accessor"]) {
      expect(mistakeIn(thrownBy(decorate(onSuccess(), undefined, { kind, name: "a", static: false, metadata })))).toContain(
        `@onSuccess() stands on a method of a task, but was put on a ${kind}. Move it above a method that is not static.`,
      );
    }
    expect(mistakeIn(thrownBy(decorate(onSuccess(), () => undefined, { kind: "method", name: "a", static: true, metadata })))).toContain(
      "was put on a static method",
    );
    expect(mistakeIn(thrownBy(decorate(onSuccess(), Charge)))).toContain("was put on the function Charge");
    expect(mistakeIn(thrownBy(decorate(onSuccess(), Charge.prototype, "a", undefined)))).toContain("stands on a method of a task");
    expect(mistakeIn(thrownBy(decorate(onSuccess(), Charge, "a", { value: () => undefined })))).toContain("was put on the function Charge");
  });

  test("a callback's decorator under a compiler that gives no metadata", () => {
    expect(mistakeIn(thrownBy(decorate(onSuccess(), () => undefined, { kind: "method", name: "a", static: false })))).toContain(
      "@onSuccess(): this compiler gives decorators no metadata. Use TypeScript 5.2 or later, or @callback() on the class.",
    );
  });

  test("an error in one decorator leaves the class as it was", async () => {
    const Sample = taskOf(() => 1);

    thrownBy(() => settings({ tags: ["a", " "] })(Sample));

    expect((await Sample.execute()).tags).toEqual([]);
  });
});
