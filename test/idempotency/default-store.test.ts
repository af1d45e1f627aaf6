import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { configure, idempotentBy, literal, MemoryStore, resetConfiguration, settings, Task } from "taskwright";
import { memoryLogger, warningsOf } from "../support/builders.js";
import { ChaosStore, ManualClock } from "taskwright/testing";

function nightly() {
  class Nightly extends Task.with() {
    work(): void {}
  }
  idempotentBy(literal("k"))(Nightly);
  return Nightly;
}

beforeEach(() => resetConfiguration());
afterEach(() => {
  resetConfiguration();
  vi.unstubAllEnvs();
  vi.resetModules();
});

describe("without a configured store", () => {
  test("slots are kept in the memory of this process, for all tasks together", async () => {
    const Nightly = nightly();

    await Nightly.execute();

    expect(await Nightly.execute()).toMatchObject({ status: "skipped", metadata: { code: "duplicate" } });
  });

  test("a reset forgets them", async () => {
    await nightly().execute();
    resetConfiguration();

    expect(await nightly().execute()).toHaveProperty("status", "success");
  });

  test("the store goes by the configured clock", async () => {
    const clock = new ManualClock();
    configure((config) => {
      config.clock = clock;
    });
    const Nightly = nightly();
    idempotentBy({ ttl: 60 })(Nightly);
    await Nightly.execute();

    await clock.advance(59_999);
    expect(await Nightly.execute()).toHaveProperty("status", "skipped");
    await clock.advance(1);
    expect(await Nightly.execute()).toHaveProperty("status", "success");
  });

  /** The library anew, so that it has not warned yet. */
  async function fresh() {
    vi.resetModules();
    return import("taskwright");
  }

  async function runAnew(library: Awaited<ReturnType<typeof fresh>>, times = 1): Promise<void> {
    class Nightly extends library.Task.with() {
      work(): void {}
    }
    library.idempotentBy(library.literal("k"))(Nightly);
    for (let run = 0; run < times; run += 1) await Nightly.execute();
  }

  test("production is warned, once for the process", async () => {
    vi.stubEnv("NODE_ENV", "production");
    const library = await fresh();

    const warnings = await warningsOf(async () => {
      await runAnew(library, 3);
      library.resetConfiguration();
      await runAnew(library);
    });

    expect(warnings).toHaveLength(1);
    expect(warnings[0]?.message).toContain("memory of this process");
    expect(warnings[0]?.message).toContain("config.store");
  });

  test("production is warned through its logger where there is one", async () => {
    vi.stubEnv("NODE_ENV", "production");
    const library = await fresh();
    const { logger, lines } = memoryLogger();
    library.configure((config) => {
      config.logger = logger;
    });

    const warnings = await warningsOf(() => runAnew(library));

    expect(warnings).toEqual([]);
    expect(lines.filter(({ level }) => level === "warn")).toHaveLength(1);
  });

  test.each(["development", "test", ""])("NODE_ENV=%s is not warned", async (environment) => {
    vi.stubEnv("NODE_ENV", environment);
    const library = await fresh();

    expect(await warningsOf(() => runAnew(library))).toEqual([]);
  });

  test("production is not warned for tasks that need no store", async () => {
    vi.stubEnv("NODE_ENV", "production");
    const library = await fresh();
    class Plain extends library.Task.with() {
      work(): void {}
    }

    expect(await warningsOf(() => Plain.execute())).toEqual([]);
  });

  test("production is not warned once a store is configured, be it one of memory", async () => {
    vi.stubEnv("NODE_ENV", "production");
    const library = await fresh();
    library.configure((config) => {
      config.store = new library.MemoryStore();
    });

    expect(await warningsOf(() => runAnew(library))).toEqual([]);
  });
});

describe("a store of a task's own", () => {
  test("comes before the configured one, and subclasses have it too", async () => {
    const [own, common] = [new ChaosStore(new MemoryStore()), new ChaosStore(new MemoryStore())];
    configure((config) => {
      config.store = common;
    });
    class Nightly extends Task.with() {
      work(): void {}
    }
    idempotentBy(literal("k"))(Nightly);
    settings({ store: own })(Nightly);
    class Weekly extends Nightly {}

    await Nightly.execute();
    await Weekly.execute();

    expect(own.calls.map(({ key }) => key)).toEqual([
      "cmdx:idem:Nightly:k",
      "cmdx:idem:Nightly:k",
      "cmdx:idem:Weekly:k",
      "cmdx:idem:Weekly:k",
    ]);
    expect(common.calls).toEqual([]);
  });

  test("is checked where it is declared, with a word on clients that are no stores", () => {
    expect(() => settings({ store: { get() {}, set() {} } as unknown as MemoryStore })).toThrow("wrap it, new RedisStore(client)");
    expect(() =>
      configure((config) => {
        config.store = {} as unknown as MemoryStore;
      }),
    ).toThrow("config.store must be a store");
  });
});
