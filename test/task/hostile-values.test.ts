import { afterEach, describe, expect, test } from "vitest";
import { configure, onSuccess, resetConfiguration, Task, use } from "taskwright";
import { memoryLogger, taskOf, warningsOf } from "../support/builders.js";
import { settle } from "../support/manual-clock.js";

afterEach(() => {
  resetConfiguration();
});

const unreadable = (target: object): void => {
  Object.defineProperty(target, "broken", {
    enumerable: true,
    get() {
      throw new Error("cannot be read");
    },
  });
};

const revoked = (): object => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
};

const trapped = (): object =>
  new Proxy(
    {},
    {
      get: () => {
        throw new Error("get");
      },
      getPrototypeOf: () => {
        throw new Error("getPrototypeOf");
      },
      ownKeys: () => {
        throw new Error("ownKeys");
      },
      has: () => {
        throw new Error("has");
      },
    },
  );

describe("whatever people note, the run answers", () => {
  test("metadata that cannot be read", async () => {
    const result = await taskOf((task) => unreadable(task.metadata)).execute();

    expect(result).toMatchObject({ status: "success", metadata: { broken: "[unreadable]" } });
  });

  test("metadata of a halt that cannot be read", async () => {
    const notes = { readable: 1 };
    unreadable(notes);

    const result = await taskOf((task) => task.skip("closed", notes)).execute();

    expect(result).toMatchObject({ status: "skipped", metadata: { readable: 1, broken: "[unreadable]" } });
  });

  test("context that cannot be read", async () => {
    const result = await taskOf((task) => unreadable(task.context)).execute();

    expect(result).toMatchObject({ status: "success", context: { broken: "[unreadable]" } });
  });

  test("context of the call that cannot be read", async () => {
    const context = { readable: 1 };
    unreadable(context);

    const result = await taskOf((task) => ({ ...task.context })).execute({}, { context });

    expect(result).toMatchObject({ status: "success", output: { readable: 1, broken: "[unreadable]" } });
  });

  test("metadata without end", async () => {
    const result = await taskOf((task) => {
      let deep: Record<string, unknown> = {};
      for (let i = 0; i < 100_000; i += 1) deep = { deep };
      task.metadata["deep"] = deep;
    }).execute();

    expect(result.status).toBe("success");
  });

  test.each([
    ["a revoked proxy", revoked],
    ["a proxy whose traps all throw", trapped],
  ])("%s in metadata and context", async (_, make) => {
    const result = await taskOf((task) => {
      task.metadata["a"] = make();
      task.context["a"] = make();
    }).execute();

    expect(result.status).toBe("success");
    expect(() => JSON.stringify(result)).not.toThrow();
  });
});

describe("whatever is thrown, the run answers", () => {
  const hostile: [string, () => unknown][] = [
    ["a revoked proxy", revoked],
    ["a proxy whose traps all throw", trapped],
    [
      "an error whose message and stack cannot be read",
      () => {
        const error = new Error("gone");
        for (const key of ["stack", "message", "name", "code", "cause"]) {
          Object.defineProperty(error, key, {
            get() {
              throw new Error(key);
            },
          });
        }
        return error;
      },
    ],
    ["an error whose stack is no text", () => Object.assign(new Error("odd"), { stack: Symbol("stack") as never })],
    ["a function whose name is no text", () => Object.defineProperty(() => undefined, "name", { value: Symbol("name") })],
  ];

  test.each(hostile)("in work: %s", async (_, make) => {
    const { logger, lines } = memoryLogger();
    configure((config) => {
      config.logger = logger;
    });

    const result = await taskOf(() => {
      throw make();
    }).execute();

    expect(result.status).toBe("failed");
    expect(typeof result.reason).toBe("string");
    expect(lines).toHaveLength(1);
    expect(() => JSON.stringify(result)).not.toThrow();
  });

  test.each(hostile)("in work that can be called off: %s", async (_, make) => {
    const { signal } = new AbortController();

    const running = taskOf(async () => {
      await settle();
      throw make();
    }).execute({}, { signal });

    expect(await running).toMatchObject({ status: "failed" });
  });

  test.each(hostile)("in a completion callback: %s", async (_, make) => {
    class Sample extends Task.with() {
      work(): string {
        return "done";
      }
      @onSuccess() broken(): void {
        throw make();
      }
    }

    await warningsOf(async () => {
      expect(await Sample.execute()).toMatchObject({ status: "success", output: "done" });
    });
  });

  test.each(hostile)("in a middleware, after next: %s", async (_, make) => {
    const Sample = taskOf(() => "done");
    use(async (_task: Task, next) => {
      await next();
      throw make();
    })(Sample);

    await warningsOf(async () => {
      expect(await Sample.execute()).toMatchObject({ status: "success", output: "done" });
    });
  });

  test.each(hostile)("in rollback: %s", async (_, make) => {
    class Sample extends Task.with() {
      work(): never {
        throw new Error("declined");
      }
      override rollback(): void {
        throw make();
      }
    }

    await warningsOf(async () => {
      expect(await Sample.execute()).toMatchObject({ status: "failed", reason: "declined", rolledBack: false });
    });
  });

  test.each(hostile)("in a listener: %s", async (_, make) => {
    configure((config) => {
      config.telemetry.subscribe("task_started", () => {
        throw make();
      });
      config.telemetry.subscribe("task_executed", () => Promise.reject(make()));
    });

    await warningsOf(async () => {
      expect((await taskOf(() => "done").execute()).status).toBe("success");
      await settle();
    });
  });

  test.each(hostile)("in the logger: %s", async (_, make) => {
    configure((config) => {
      config.logger = {
        info() {
          throw make();
        },
        warn() {},
        error() {},
      };
    });

    await warningsOf(async () => {
      expect((await taskOf(() => "done").execute()).status).toBe("success");
    });
  });

  test.each(hostile)("as the reason of an abort: %s", async (_, make) => {
    const result = await taskOf(() => "done").execute({}, { signal: AbortSignal.abort(make()) });

    expect(result).toMatchObject({ status: "failed", metadata: { code: "aborted" } });
  });

  test.each(hostile)("as the cause of a failure: %s", async (_, make) => {
    const result = await taskOf((task) => task.fail("declined", {}, { cause: make() })).execute();

    expect(result).toMatchObject({ status: "failed", reason: "declined" });
    expect(() => JSON.stringify(result)).not.toThrow();
  });
});
