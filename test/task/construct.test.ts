import { afterEach, describe, expect, test } from "vitest";
import { configure, isDefinitionError, resetConfiguration, Task } from "taskwright";
import { getEventListeners } from "node:events";
import { rejectionOf } from "../support/builders.js";

afterEach(() => {
  resetConfiguration();
});

const constructWith = (construct: (type: new () => Task) => unknown): void =>
  configure((config) => {
    config.construct = construct as never;
  });

class Sample extends Task.with() {
  work(): unknown {
    return 1;
  }
}

describe("config.construct", () => {
  test("lets a container make the instances, one for each run", async () => {
    class Mailer {
      sent = 0;
    }
    class Greet extends Task.with() {
      mailer: Mailer | undefined;
      work(): number | undefined {
        if (this.mailer !== undefined) this.mailer.sent += 1;
        return this.mailer?.sent;
      }
    }
    const mailer = new Mailer();
    constructWith((type) => Object.assign(new type(), { mailer }));

    await Greet.execute();

    expect(await Greet.execute()).toMatchObject({ output: 2 });
  });

  test("is asked for nested runs, too, with the class that is to run", async () => {
    const made: string[] = [];
    constructWith((type) => {
      made.push(type.name);
      return new type();
    });
    class Outer extends Task.with() {
      async work(): Promise<void> {
        await Sample.execute();
      }
    }

    await Outer.execute();

    expect(made).toEqual(["Outer", "Sample"]);
  });

  test("may give an instance of a subclass", async () => {
    class Double extends Sample {
      override work(): unknown {
        return "double";
      }
    }
    constructWith(() => new Double());

    expect(await Sample.execute()).toMatchObject({ output: "double", task: "Sample" });
  });

  test("that gives the same instance twice is refused", async () => {
    const only = new Sample();
    constructWith(() => only);
    await Sample.execute();

    const error = await rejectionOf(Sample.execute());

    expect(error).toMatchObject({
      name: "DefinitionError",
      message: "config.construct gave an instance of Sample that has run before. Make a new one for each run.",
    });
  });

  test("that gives the same instance twice is refused also while the first run is under way", async () => {
    const only = new Sample();
    constructWith(() => only);

    const [first, second] = await Promise.allSettled([Sample.execute(), Sample.execute()]);

    expect(first.status).toBe("fulfilled");
    expect(second).toMatchObject({ status: "rejected", reason: { name: "DefinitionError" } });
  });

  test.each<[string, () => unknown]>([
    ["nothing", () => undefined],
    ["null", () => null],
    ["a promise", () => Promise.resolve(new Sample())],
    ["a proxy of an instance", () => new Proxy(new Sample(), {})],
    ["a plain object", () => ({ work: () => 1 })],
    ["the class", () => Sample],
  ])("that gives %s is refused", async (_, construct) => {
    constructWith(construct);

    const error = await rejectionOf(Sample.execute());

    expect(isDefinitionError(error)).toBe(true);
    expect(error).toHaveProperty("message", expect.stringMatching(/^config\.construct gave .* instead of a new Sample/));
  });

  test.each<[string, unknown]>([
    ["an error", new Error("no database")],
    ["a text", "no database"],
  ])("that throws %s is a programmer's mistake, with what it threw as cause", async (_, thrown) => {
    constructWith(() => {
      throw thrown;
    });

    const error = await rejectionOf(Sample.execute());

    expect(error).toMatchObject({ name: "DefinitionError", message: expect.stringContaining("no database") as string });
    expect(error).toHaveProperty("message", expect.stringContaining("Sample"));
  });

  test("that refuses leaves no listener on the caller's signal", async () => {
    const { signal } = new AbortController();
    const only = new Sample();
    constructWith(() => only);
    await Sample.execute({}, { signal });

    for (let i = 0; i < 3; i += 1) await rejectionOf(Sample.execute({}, { signal }));

    expect(getEventListeners(signal, "abort")).toHaveLength(0);
  });
});

describe("a constructor", () => {
  test("that throws is told with the name of the task", async () => {
    class Broken extends Task.with() {
      readonly client = ((): never => {
        throw new Error("no database");
      })();
      work(): unknown {
        return 1;
      }
    }

    expect(await rejectionOf(Broken.execute())).toMatchObject({ name: "DefinitionError", cause: { message: "no database" } });
  });

  test("cannot read the input yet, and is told so", async () => {
    class Eager extends Task.with() {
      readonly early = this.input;
      work(): unknown {
        return 1;
      }
    }

    const error = await rejectionOf(Eager.execute());

    expect(error).toMatchObject({ name: "DefinitionError" });
    expect(error).toHaveProperty("message", expect.stringContaining("is not running"));
  });

  test("runs once for each run, so that fields are fresh", async () => {
    class Counting extends Task.with() {
      count = 0;
      work(): number {
        return (this.count += 1);
      }
    }

    await Counting.execute();

    expect(await Counting.execute()).toMatchObject({ output: 1 });
  });
});
