import { describe, expect, test } from "vitest";
import { configure, DefinitionError, idempotentBy, literal, MemoryStore, resetConfiguration, Task } from "taskwright";
import { rejectionOf } from "../support/builders.js";
import { inMemory } from "./world.js";

const CURE = 'Task.with({ name: "ChargeCustomer", … }) or static taskName = "ChargeCustomer"';

/** An idempotent task whose class has this name. */
function named(name: string) {
  const Sample = class extends Task.with() {
    work(): void {}
  };
  Object.defineProperty(Sample, "name", { value: name });
  idempotentBy(literal("k"))(Sample);
  return Sample;
}

/** An idempotent task that says its name itself. */
function saying(name: string) {
  class Sample extends Task.with() {
    static override taskName = name;
    work(): void {}
  }
  idempotentBy(literal("k"))(Sample);
  return Sample;
}

async function refusalOf(type: { execute(): Promise<unknown> }): Promise<string> {
  const error = await rejectionOf(type.execute());
  expect(error).toBeInstanceOf(DefinitionError);
  return (error as DefinitionError).message;
}

inMemory((world) => {
  describe("the name of an idempotent task", () => {
    test("is the class's", async () => {
      await named("ChargeCustomer").execute();

      expect(world.store.calls[0]?.key).toBe("cmdx:idem:ChargeCustomer:k");
    });

    test("is the one that with() was given", async () => {
      class Sample extends Task.with({ name: "ChargeCard" }) {
        work(): void {}
      }
      idempotentBy(literal("k"))(Sample);

      await Sample.execute();

      expect(world.store.calls[0]?.key).toBe("cmdx:idem:ChargeCard:k");
    });

    test("is its static taskName, which comes before that of with()", async () => {
      class Sample extends Task.with({ name: "ChargeCard" }) {
        static override taskName = "ChargeInvoice";
        work(): void {}
      }
      idempotentBy(literal("k"))(Sample);

      await Sample.execute();

      expect(world.store.calls[0]?.key).toBe("cmdx:idem:ChargeInvoice:k");
    });

    test("is read at the first run, and not while the class is decorated", async () => {
      const Sample = class extends Task.with() {
        work(): void {}
      };
      idempotentBy(literal("k"))(Sample);
      Object.defineProperty(Sample, "name", { value: "NamedLate" });

      await Sample.execute();

      expect(world.store.calls[0]?.key).toBe("cmdx:idem:NamedLate:k");
    });

    test("of a subclass is its own, so that its keys do not meet those of its parent", async () => {
      class Parent extends Task.with() {
        work(): void {}
      }
      idempotentBy(literal("k"))(Parent);
      class Child extends Parent {}

      await Parent.execute();
      const child = await Child.execute();

      expect(child.status).toBe("success");
      expect(world.store.calls.map(({ key }) => key)).toContain("cmdx:idem:Child:k");
    });
  });

  describe("a name that no key can be made of is refused, with the cure", () => {
    test("none at all", async () => {
      const message = await refusalOf(named(""));

      expect(message).toContain("a class without a name");
      expect(message).toContain(CURE);
    });

    test.each(["t", "ab"])("%s, which a minifier has left", async (name) => {
      const message = await refusalOf(named(name));

      expect(message).toContain(JSON.stringify(name));
      expect(message).toContain("minifier");
      expect(message).toContain(CURE);
    });

    test.each(["a:b", "line\nbreak", "bell\u0007", "del\u007F"])("%j, which keys cannot hold", async (name) => {
      const message = await refusalOf(saying(name));

      expect(message).toContain(JSON.stringify(name));
      expect(message).toContain(CURE);
    });

    test("but two letters that somebody has written on purpose are a name", async () => {
      await saying("db").execute();

      expect(world.store.calls[0]?.key).toBe("cmdx:idem:db:k");
    });
  });

  describe("two classes with one name", () => {
    test("are refused at the first run of the second, with the cure", async () => {
      await named("ChargeCustomer").execute();

      const message = await refusalOf(named("ChargeCustomer"));

      expect(message).toContain('"ChargeCustomer"');
      expect(message).toContain("Task.with({ name:");
    });

    test("are refused also when the second says the name itself", async () => {
      await named("ChargeCustomer").execute();

      expect(await refusalOf(saying("ChargeCustomer"))).toContain("ChargeCustomer");
    });

    test("get along when one of them is not idempotent", async () => {
      await named("ChargeCustomer").execute();
      const Off = named("ChargeCustomer");
      idempotentBy(false)(Off);

      expect(await Off.execute()).toHaveProperty("status", "success");
    });

    test("get along after a reset, since tests define their classes anew", async () => {
      await named("ChargeCustomer").execute();
      resetConfiguration();
      configure((config) => {
        config.store = new MemoryStore();
      });

      expect(await named("ChargeCustomer").execute()).toHaveProperty("status", "success");
    });

    test("do not stand in the way of the first, which runs on", async () => {
      const First = named("ChargeCustomer");
      await First.execute();
      await refusalOf(named("ChargeCustomer"));

      expect(await First.execute()).toMatchObject({ metadata: { code: "duplicate" } });
    });
  });
});
