import { afterEach, describe, expect, test } from "vitest";
import { resetConfiguration, Task } from "taskwright";
import { keyNameOf } from "../../src/task/name.js";
import { recordEvents, rejectionOf, thrownBy } from "../support/builders.js";

afterEach(() => {
  resetConfiguration();
});

const anonymous = () =>
  class extends Task.with() {
    work(): void {}
  };

class Charge extends Task.with() {
  work(): void {}
}

describe("the task's name", () => {
  test("is that of the class", async () => {
    expect(Charge.taskName).toBe("Charge");
    expect((await Charge.execute()).task).toBe("Charge");
  });

  test("of a subclass is its own", () => {
    class PremiumCharge extends Charge {}

    expect(PremiumCharge.taskName).toBe("PremiumCharge");
  });

  test("may be given in with, and is then that of this one class", () => {
    class Billing extends Task.with({ name: "billing/charge" }) {
      work(): void {}
    }
    class Premium extends Billing {}

    expect(Billing.taskName).toBe("billing/charge");
    expect(Premium.taskName).toBe("Premium");
  });

  test("given in with to an application's base class is not that of the tasks made from it", () => {
    abstract class Base extends Task {}
    class One extends Base.with({ name: "one" }) {
      work(): void {}
    }
    class Two extends Base.with() {
      work(): void {}
    }

    expect([One.taskName, Two.taskName]).toEqual(["one", "Two"]);
  });

  test("may be given as static taskName, whether the compiler defines the field or assigns it", async () => {
    class Defined extends Task.with() {
      static override taskName = "billing.defined";
      work(): void {}
    }
    class Assigned extends Task.with() {
      work(): void {}
    }
    Assigned.taskName = "billing.assigned";
    class Heir extends Assigned {}

    expect([Defined.taskName, Assigned.taskName]).toEqual(["billing.defined", "billing.assigned"]);
    expect([Defined, Assigned, Heir].map(keyNameOf)).toEqual(["billing.defined", "billing.assigned", "billing.assigned"]);
    // Inherited as any static is, and in results as on the class.
    expect([Heir.taskName, (await Heir.execute()).task]).toEqual(["billing.assigned", "billing.assigned"]);
    expect(Charge.taskName).toBe("Charge");
  });

  test("may be given as a static getter", async () => {
    class Getting extends Task.with() {
      static override get taskName(): string {
        return "billing.getting";
      }
      work(): void {}
    }
    const events = recordEvents("task_started");

    expect((await Getting.execute()).task).toBe("billing.getting");
    expect(events[0]?.task).toBe("billing.getting");
    expect(keyNameOf(Getting)).toBe("billing.getting");
  });

  test("given as static taskName wins over the one in with", () => {
    class Both extends Task.with({ name: "in with" }) {
      static override taskName = "static";
      work(): void {}
    }

    expect(Both.taskName).toBe("static");
  });

  test("of an anonymous class says so, and the task runs", async () => {
    const result = await anonymous().execute();

    expect(result).toMatchObject({ status: "success", task: "(anonymous task)" });
  });

  test("is read when it is asked for: one that a bundler sets later is seen", async () => {
    const Late = anonymous();
    Object.defineProperty(Late, "name", { value: "NamedLater" });

    expect((await Late.execute()).task).toBe("NamedLater");
  });

  test("is there in work as this.taskName", async () => {
    class Telling extends Task.with({ name: "billing/telling" }) {
      work(): string {
        return this.taskName;
      }
    }

    expect(await Telling.execute()).toMatchObject({ output: "billing/telling" });
  });

  test.each<[string, unknown]>([
    ["an empty text", ""],
    ["blanks", "  "],
    ["a number", 5],
    ["undefined", undefined],
  ])("that is given as %s is refused", async (_, name) => {
    class Misnamed extends Task.with() {
      work(): void {}
    }
    Object.defineProperty(Misnamed, "taskName", { value: name });

    expect(await rejectionOf(Misnamed.execute())).toMatchObject({
      name: "DefinitionError",
      message: expect.stringContaining("static taskName must be a text that is not blank") as string,
    });
  });
});

describe("the name in keys", () => {
  const cure = 'Name the task: Task.with({ name: "ChargeCustomer", … }) or static taskName = "ChargeCustomer".';
  const called = (name: string) => {
    const type = anonymous();
    Object.defineProperty(type, "name", { value: name });
    return type;
  };

  test("is the task's name, where it can be trusted", () => {
    expect(keyNameOf(Charge)).toBe("Charge");
    expect(keyNameOf(called("Run"))).toBe("Run");
  });

  test.each<[string, object, string]>([
    ["an anonymous class", anonymous(), "This task is a class without a name, and its keys need one."],
    ["a name of one letter", called("t"), 'The class name "t" looks like a minifier\'s'],
    ["a name of two letters", called("ab"), 'The class name "ab" looks like a minifier\'s'],
    ["a name with a colon", called("billing:Charge"), 'The task name "billing:Charge" has a ":" or a control character'],
    ["a name with a line break", called("Charge\n"), 'The task name "Charge\\n" has a ":" or a control character'],
    ["a name with a null character", called("Char\u0000ge"), 'has a ":" or a control character'],
    [
      "an explicit name with a colon",
      class extends Task.with({ name: "billing:charge" }) {
        work(): void {}
      },
      'has a ":" or a control character',
    ],
  ])("refuses %s, and tells the cure", (_, type, problem) => {
    const error = thrownBy(() => keyNameOf(type));

    expect(error).toMatchObject({ name: "DefinitionError" });
    expect((error as Error).message).toContain(problem);
    expect((error as Error).message).toContain(cure);
  });

  test("takes a short name that was given on purpose", () => {
    class Short extends Task.with({ name: "a" }) {
      work(): void {}
    }

    expect(keyNameOf(Short)).toBe("a");
  });

  test("does not take an inherited given name for that of the subclass", () => {
    class Given extends Task.with({ name: "given" }) {
      work(): void {}
    }
    const Minified = { t: class extends Given {} }.t;

    expect(Minified.taskName).toBe("t");
    expect(thrownBy(() => keyNameOf(Minified))).toMatchObject({ name: "DefinitionError" });
  });
});
