import { afterEach, describe, expect, test } from "vitest";
import { configure, resetConfiguration, Task } from "taskwright";
import { memoryLogger, ofName, recordEvents, taskOf, warningsOf } from "../support/builders.js";
import { settle } from "../support/manual-clock.js";

afterEach(() => {
  resetConfiguration();
});

const subscribe = (listener: (name: string) => unknown): (() => void) => {
  let unsubscribe = (): void => undefined;
  configure((config) => {
    unsubscribe = config.telemetry.subscribe("task_started", ({ name }) => listener(name));
  });
  return unsubscribe;
};
const run = () => taskOf(() => "done").execute();

describe("subscribing", () => {
  test("gives the way to stop, which may be called again without harm", async () => {
    const heard: string[] = [];
    const unsubscribe = subscribe(() => heard.push("a"));
    subscribe(() => heard.push("b"));

    await run();
    unsubscribe();
    unsubscribe();
    await run();

    expect(heard).toEqual(["a", "b", "b"]);
  });

  test("the same listener twice hears twice, and each subscription ends by itself", async () => {
    let heard = 0;
    const listener = (): void => {
      heard += 1;
    };
    const ends: (() => void)[] = [];
    configure((config) => {
      ends.push(config.telemetry.subscribe("task_started", listener), config.telemetry.subscribe("task_started", listener));
    });

    await run();
    ends[0]?.();
    ends[0]?.();
    await run();
    ends[1]?.();
    await run();

    expect(heard).toBe(3);
  });

  test("and unsubscribing inside a listener holds from the next event on", async () => {
    const heard: string[] = [];
    let endOther = (): void => undefined;
    const endSelf = subscribe(() => {
      heard.push("first");
      endSelf();
      endOther();
      subscribe(() => heard.push("newcomer"));
    });
    endOther = subscribe(() => heard.push("other"));

    await run();
    expect(heard).toEqual(["first", "other"]);
    await run();

    expect(heard).toEqual(["first", "other", "newcomer"]);
  });
});

describe("a listener", () => {
  test("is not waited for", async () => {
    subscribe(() => new Promise(() => undefined));

    expect(await run()).toMatchObject({ status: "success" });
  });

  test("that throws keeps no other from hearing, and is announced with its error", async () => {
    const events = recordEvents("observer_error");
    const heard: string[] = [];
    subscribe(() => {
      throw new Error("broken");
    });
    subscribe(() => heard.push("other"));

    expect(await run()).toMatchObject({ status: "success", output: "done" });
    expect(heard).toEqual(["other"]);
    expect(ofName(events, "observer_error").map(({ payload }) => [payload.observer, payload.error.message])).toEqual([
      ["a listener of task_started", "broken"],
    ]);
  });

  test("that rejects is announced when it does, also long after the run", async () => {
    const events = recordEvents("observer_error");
    let reject: ((reason: unknown) => void) | undefined;
    subscribe(
      () =>
        new Promise((_, fail) => {
          reject = fail;
        }),
    );
    const result = await run();

    reject?.("late");
    await settle();

    expect(ofName(events, "observer_error").map(({ runId, payload }) => [runId, payload.error.message])).toEqual([[result.runId, "late"]]);
  });

  test("that answers with a thenable that throws is announced", async () => {
    const events = recordEvents("observer_error");
    subscribe(() => ({
      // oxlint-disable-next-line unicorn/no-thenable -- a thenable is what is tested
      then() {
        throw new Error("broken thenable");
      },
    }));

    await run();
    await settle();

    expect(ofName(events, "observer_error")[0]?.payload.error.message).toBe("broken thenable");
  });

  test("of observer_error that throws is not announced again, without end; it goes to the logger", async () => {
    const { logger, lines } = memoryLogger();
    configure((config) => {
      config.logger = logger;
      config.telemetry.subscribe("observer_error", () => {
        throw new Error("broken, too");
      });
    });
    subscribe(() => {
      throw new Error("broken");
    });

    expect((await run()).status).toBe("success");
    expect(lines.filter(({ level }) => level === "error").map(({ fields }) => fields["observer"])).toEqual([
      "a listener of observer_error",
      "a listener of task_started",
    ]);
  });

  test("of observer_error that rejects, without a logger, harms nobody", async () => {
    configure((config) => {
      config.telemetry.subscribe("observer_error", () => Promise.reject(new Error("broken, too")));
    });
    subscribe(() => {
      throw new Error("broken");
    });

    await warningsOf(async () => {
      expect((await run()).status).toBe("success");
      await settle();
    });
  });

  test("may run tasks itself; they belong to the chain of the run that it hears of", async () => {
    const Inner = taskOf(() => "inner");
    let inner: Promise<{ chainId: string }> | undefined;
    configure((config) => {
      config.telemetry.subscribe("task_executed", () => {
        inner ??= Inner.execute();
      });
    });

    const outer = await run();

    expect((await inner)?.chainId).toBe(outer.chainId);
  });
});

describe("listeners of a class", () => {
  class Parent extends Task.with() {
    work(): void {}
  }
  class Child extends Parent {}
  class Other extends Task.with() {
    work(): void {}
  }

  test("hear the runs of the class and of its subclasses, and of no other; the configuration's hear all, first", async () => {
    const heard: string[] = [];
    const ends = [
      Parent.telemetry.subscribe("task_started", ({ task }) => heard.push(`parent: ${task}`)),
      Child.telemetry.subscribe("task_started", ({ task }) => heard.push(`child: ${task}`)),
    ];
    configure((config) => {
      config.telemetry.subscribe("task_started", ({ task }) => heard.push(`all: ${task}`));
    });

    for (const type of [Child, Parent, Other]) await type.execute();
    for (const end of ends) end();
    await Child.execute();

    expect(heard).toEqual(["all: Child", "parent: Child", "child: Child", "all: Parent", "parent: Parent", "all: Other", "all: Child"]);
  });

  test("are heard also by a class that has run before anybody listened", async () => {
    class Late extends Task.with() {
      work(): void {}
    }
    class Heir extends Late {}
    await Heir.execute();
    const heard: string[] = [];
    Late.telemetry.subscribe("task_executed", ({ task }) => heard.push(task));

    await Heir.execute();

    expect(heard).toEqual(["Heir"]);
  });

  test("are found under one object, however often it is asked for", () => {
    expect(Parent.telemetry).toBe(Parent.telemetry);
    expect(Parent.telemetry).not.toBe(Child.telemetry);
  });
});
