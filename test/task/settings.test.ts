import { afterEach, describe, expect, test } from "vitest";
import { configure, resetConfiguration, settings, Task } from "taskwright";
import { memoryLogger, taskOf } from "../support/builders.js";

afterEach(() => {
  resetConfiguration();
});

describe("tags", () => {
  test("add up from the configuration over the parent to the class, each once", async () => {
    configure((config) => {
      config.tags = ["app", "eu"];
    });
    @settings({ tags: ["billing", "eu"] })
    class Parent extends Task.with() {
      work(): void {}
    }
    @settings({ tags: ["cards", "billing"] })
    class Child extends Parent {}

    expect((await Child.execute()).tags).toEqual(["app", "eu", "billing", "cards"]);
    expect((await Parent.execute()).tags).toEqual(["app", "eu", "billing"]);
  });

  test("declared twice on one class add up", async () => {
    const Sample = taskOf(() => 1);
    settings({ tags: ["a"] })(Sample);
    settings({ tags: ["b"] })(Sample);

    expect((await Sample.execute()).tags).toEqual(["a", "b"]);
  });

  test("are frozen in the result, and the array that was given is left alone", async () => {
    const tags = ["billing"];
    const Sample = taskOf(() => 1);
    settings({ tags })(Sample);

    const result = await Sample.execute();

    expect(Object.isFrozen(result.tags)).toBe(true);
    expect(Object.isFrozen(tags)).toBe(false);
  });
});

describe("the logger", () => {
  test("is the class's, else the parent's, else the configured one; false keeps a task silent", async () => {
    const configured = memoryLogger();
    const own = memoryLogger();
    configure((config) => {
      config.logger = configured.logger;
    });
    class Plain extends Task.with() {
      work(): void {}
    }
    @settings({ logger: own.logger })
    class Own extends Plain {}
    class Heir extends Own {}
    @settings({ logger: false })
    class Silent extends Own {}

    for (const type of [Plain, Own, Heir, Silent]) await type.execute();

    expect(configured.lines.map(({ message }) => message)).toEqual(["Plain success"]);
    expect(own.lines.map(({ message }) => message)).toEqual(["Own success", "Heir success"]);
  });

  test("is there in work as this.logger, also when nobody reads it", async () => {
    const { logger, lines } = memoryLogger();
    const Sample = taskOf((task) => {
      task.logger.info({ step: 1 }, "charged");
      task.logger.warn({}, "slow");
      task.logger.error({}, "odd");
    });

    expect((await Sample.execute()).status).toBe("success");
    configure((config) => {
      config.logger = logger;
    });
    await Sample.execute();

    expect(lines.slice(0, 3).map(({ level, message }) => `${level} ${message}`)).toEqual(["info charged", "warn slow", "error odd"]);
  });
});

describe("log fields", () => {
  test("add up part by part from the configuration over the parent to the class", async () => {
    const { logger, lines } = memoryLogger();
    configure((config) => {
      config.logger = logger;
      config.logFields = { metadata: ["host"] };
    });
    @settings({ logFields: { context: ["requestId"] } })
    class Parent extends Task.with() {
      work(): { id: string; token: string } {
        this.metadata["host"] = "cards";
        return { id: "ch_1", token: "secret" };
      }
    }
    @settings({ logFields: { output: ["id"] } })
    class Child extends Parent {}

    await Child.execute({}, { context: { requestId: "r1", user: "secret" } });

    expect(lines[0]?.fields).toMatchObject({ metadata: { host: "cards" }, context: { requestId: "r1" }, output: { id: "ch_1" } });
    expect(JSON.stringify(lines)).not.toContain("secret");
  });
});

describe("inheritance is live", () => {
  test("a parent that is told something later tells its children, and a child never tells its parent", async () => {
    class Parent extends Task.with() {
      work(): void {}
    }
    class Child extends Parent {}
    await Child.execute();
    await Parent.execute();

    settings({ tags: ["child"] })(Child);
    settings({ tags: ["parent"] })(Parent);

    expect((await Child.execute()).tags).toEqual(["parent", "child"]);
    expect((await Parent.execute()).tags).toEqual(["parent"]);
  });

  test("through abstract bases and several bindings", async () => {
    @settings({ tags: ["application"] })
    abstract class ApplicationTask extends Task {}
    @settings({ tags: ["billing"] })
    abstract class BillingTask extends ApplicationTask {}
    class Charge extends BillingTask.with() {
      work(): void {}
    }

    expect((await Charge.execute()).tags).toEqual(["application", "billing"]);
  });
});
