import { afterEach, describe, expect, test } from "vitest";
import { configure, resetConfiguration, Task, type Configuration } from "taskwright";
import { ManualClock } from "../support/manual-clock.js";
import { memoryLogger, recordEvents, taskOf, thrownBy } from "../support/builders.js";

afterEach(() => {
  resetConfiguration();
});

describe("a configuration that comes late is seen by classes that have run", () => {
  test("every option, callback, middleware and listener of it", async () => {
    class Sample extends Task.with() {
      work(): void {}
    }
    class Child extends Sample {}
    await Sample.execute();
    await Child.execute();

    const { logger, lines } = memoryLogger();
    const seen: string[] = [];
    configure((config) => {
      config.logger = logger;
      config.tags = ["late"];
      config.correlationId = () => "request-1";
      config.clock = new ManualClock(0);
      config.construct = (type) => {
        seen.push("construct");
        return new type();
      };
      config.use(async (_task: Task, next) => {
        seen.push("middleware");
        await next();
      });
      config.callback("on_success", () => seen.push("callback"));
      config.telemetry.subscribe("task_executed", () => seen.push("listener"));
    });

    for (const type of [Sample, Child]) {
      seen.length = 0;
      const result = await type.execute();

      expect(result).toMatchObject({ tags: ["late"], correlationId: "request-1", durationMs: 0 });
      expect(seen).toEqual(["construct", "middleware", "callback", "listener"]);
    }
    expect(lines).toHaveLength(2);
  });

  test("and several calls of configure add up", async () => {
    configure((config) => {
      config.tags = ["first"];
    });
    configure((config) => {
      config.correlationId = () => "second";
    });

    expect(await taskOf(() => 1).execute()).toMatchObject({ tags: ["first"], correlationId: "second" });
  });

  test("and what was set before configure threw holds for classes that have run and for new ones alike", async () => {
    const Old = taskOf(() => 1);
    await Old.execute();

    const error = thrownBy(() =>
      configure((config) => {
        config.tags = ["half"];
        throw new Error("broken");
      }),
    );

    expect(error).toMatchObject({ message: "broken" });
    expect((await Old.execute()).tags).toEqual((await taskOf(() => 1).execute()).tags);
  });

  test("a run that is under way keeps what it began with", async () => {
    const Sample = taskOf((task) => {
      configure((config) => {
        config.tags = ["late"];
      });
      return task.runId;
    });

    expect((await Sample.execute()).tags).toEqual([]);
    expect((await Sample.execute()).tags).toEqual(["late"]);
  });
});

describe("resetConfiguration", () => {
  test("takes back everything, for classes that have run, too", async () => {
    const Sample = taskOf(() => 1);
    const { logger, lines } = memoryLogger();
    const events = recordEvents("task_executed");
    configure((config) => {
      config.logger = logger;
      config.tags = ["tagged"];
      config.use((task: Task) => task.skip("turned away"));
      config.callback("on_success", () => undefined);
    });
    await Sample.execute();

    resetConfiguration();

    expect(await Sample.execute()).toMatchObject({ status: "success", tags: [] });
    expect(lines).toHaveLength(1);
    expect(events).toHaveLength(1);
  });

  test("unsubscribing from what is gone does no harm", () => {
    let unsubscribe: (() => void) | undefined;
    configure((config) => {
      unsubscribe = config.telemetry.subscribe("task_started", () => undefined);
    });
    resetConfiguration();

    expect(unsubscribe).not.toThrow();
    expect(unsubscribe).not.toThrow();
  });
});

describe("a configuration that is wrong is refused where it is written", () => {
  const set = (key: string, value: unknown) => (): void =>
    configure((config) => {
      Reflect.set(config, key, value);
    });

  test.each<[string, unknown, string]>([
    ["loger", console, 'config.loger cannot be set. Options: "logger", "logFields", "tags"'],
    ["telemetry", {}, "config.telemetry cannot be set."],
    ["use", () => undefined, "config.use cannot be set."],
    ["__proto__", {}, "config.__proto__ cannot be set."],
    ["constructor", {}, "config.constructor cannot be set."],
    ["logger", {}, "config.logger must have the methods info, warn and error, as pino and console do, got an object."],
    ["logger", null, "config.logger must have the methods info, warn and error, as pino and console do, got null."],
    ["logger", { info() {}, warn() {} }, "config.logger must have the methods info, warn and error"],
    ["logFields", { inputs: ["a"] }, 'config.logFields has no option "inputs". Allowed: "input", "output", "context", "metadata".'],
    ["logFields", { input: "a" }, 'config.logFields: input must be an array of keys to show, got "a".'],
    ["logFields", { input: [1] }, "config.logFields: input must be an array of keys to show, got an array."],
    ["logFields", null, "config.logFields takes an object of options, got null."],
    ["tags", "billing", 'config.tags must be an array of texts, got "billing".'],
    ["tags", ["billing", " "], 'config.tags must be texts that are not blank, got " ".'],
    ["tags", [undefined], "config.tags must be texts that are not blank, got undefined."],
    ["correlationId", "request-1", 'config.correlationId must be a function, got "request-1".'],
    ["construct", undefined, "config.construct must be a function, got undefined."],
    ["clock", { now: 1, epoch: 2, timer: 3 }, "config.clock must have now, epoch and timer, got an object."],
    ["clock", Date, "config.clock must have now, epoch and timer, got the function Date."],
  ])("config.%s = %o", (key, value, message) => {
    const error = thrownBy(set(key, value));

    expect(error).toMatchObject({ name: "DefinitionError" });
    expect((error as Error).message).toContain(message);
  });

  test.each<[string, unknown]>([
    ["nothing", undefined],
    ["an object", { logger: console }],
  ])("configure with %s instead of a function", (_, change) => {
    expect(thrownBy(() => configure(change as () => void))).toMatchObject({
      name: "DefinitionError",
      message: expect.stringContaining("configure() must be a function") as string,
    });
  });

  test.each<[string, (config: Configuration) => unknown, string]>([
    [
      "a middleware",
      (config) => config.use(5 as never),
      "A middleware is a function (task, next) or an object with call(task, next), got 5.",
    ],
    ["no middleware", (config) => config.use(undefined as never), "got undefined."],
    ["null as a middleware", (config) => config.use(null as never), "got null."],
    ["an object that cannot be called", (config) => config.use({} as never), "got an object."],
    [
      "a gate that is none",
      (config) => config.use(() => undefined, { if: true as never }),
      "a middleware: if must be a function, got true.",
    ],
    [
      "a gate that is misspelt",
      (config) => config.use(() => undefined, { iff: () => true } as never),
      'a middleware has no option "iff". Allowed: "if", "unless". Check the spelling.',
    ],
    [
      "an unknown callback",
      (config) => config.callback("on_sucess" as never, () => undefined),
      'There is no callback "on_sucess". The callbacks are "before_execution", "before_validation"',
    ],
    [
      "a callback that is none",
      (config) => config.callback("on_success", "notify" as never),
      'the callback on_success must be a function, got "notify".',
    ],
    [
      "an unknown event",
      (config) => config.telemetry.subscribe("task_finished" as never, () => undefined),
      'There is no event "task_finished" to subscribe to. The events are "task_started"',
    ],
    [
      "a listener that is none",
      (config) => config.telemetry.subscribe("task_executed", undefined as never),
      "the listener of task_executed must be a function, got undefined.",
    ],
  ])("%s", (_, change, message) => {
    const error = thrownBy(() => configure(change));

    expect(error).toMatchObject({ name: "DefinitionError" });
    expect((error as Error).message).toContain(message);
  });
});
