import { afterEach, describe, expect, test } from "vitest";
import { resetConfiguration, retryOn, Task } from "taskwright";
import { rejectionOf, taskOf } from "../support/builders.js";

afterEach(() => {
  resetConfiguration();
});

describe("the context", () => {
  test("is one bag for all runs of a chain", async () => {
    const Inner = taskOf((task) => {
      task.context["seen"] = task.context["given"];
    });

    const result = await taskOf(async (task) => {
      task.context["given"] = 1;
      await Inner.execute();
      return task.context["seen"];
    }).execute();

    expect(result).toMatchObject({ output: 1, context: { given: 1, seen: 1 } });
  });

  test("is not shared between chains, also when they run side by side", async () => {
    const Sample = taskOf((task) => {
      task.context["count"] = ((task.context["count"] as number | undefined) ?? 0) + 1;
    });

    const results = await Promise.all([Sample.execute(), Sample.execute()]);

    expect(results.map(({ context }) => context)).toEqual([{ count: 1 }, { count: 1 }]);
  });

  test("begins with what the caller gives, and the caller's object stays as it was", async () => {
    const given = { requestId: "r1" };

    const result = await taskOf((task) => {
      task.context["added"] = true;
    }).execute({}, { context: given });

    expect(result.context).toEqual({ requestId: "r1", added: true });
    expect(given).toEqual({ requestId: "r1" });
  });

  test("that a nested call gives is added to the bag", async () => {
    const result = await taskOf(async (task) => {
      task.context["kept"] = 1;
      await taskOf(() => 1).execute({}, { context: { added: 2 } });
    }).execute();

    expect(result.context).toEqual({ kept: 1, added: 2 });
  });

  test("takes a key __proto__ as a key", async () => {
    const context = JSON.parse('{"__proto__":{"admin":true}}') as object;

    const result = await taskOf((task) => (task.context as { admin?: boolean }).admin).execute({}, { context });

    expect(result).toMatchObject({ output: undefined });
    expect(Object.getPrototypeOf(result.context)).toBe(Object.prototype);
    expect(Object.keys(result.context)).toEqual(["__proto__"]);
    expect(({} as { admin?: boolean }).admin).toBeUndefined();
  });

  test("has nothing in it that nobody put there, whatever the key", async () => {
    const result = await taskOf((task) =>
      ["constructor", "toString", "hasOwnProperty", "__proto__"].map((key) => task.context[key]),
    ).execute();

    expect(result).toHaveProperty("output", [undefined, undefined, undefined, undefined]);
  });

  test("takes a key __proto__ that a task sets as a key", async () => {
    const result = await taskOf((task) => {
      task.context["__proto__"] = { admin: true };
      return task.context["admin"];
    }).execute();

    expect(result).toMatchObject({ output: undefined });
    expect(Object.keys(result.context)).toEqual(["__proto__"]);
  });

  test.each([
    ["a text", "context"],
    ["a number", 5],
    ["null", null],
  ])("that is %s is a programmer's mistake", async (_, context) => {
    const error = await rejectionOf(taskOf(() => 1).execute({}, { context: context as never }));

    expect(error).toMatchObject({ name: "DefinitionError" });
    expect(error).toHaveProperty("message", expect.stringMatching(/^Sample\.execute\(\): context must be an object, got /));
  });
});

describe("metadata", () => {
  test("takes a key __proto__ as a key, whether noted or given to a halt", async () => {
    const notes = JSON.parse('{"__proto__":{"admin":true},"constructor":1}') as object;

    const result = await taskOf((task) => task.skip("closed", notes)).execute();

    expect(Object.keys(result.metadata)).toEqual(["__proto__", "constructor"]);
    expect((result.metadata as { admin?: boolean }).admin).toBeUndefined();
  });

  test("of one attempt is there in the next", async () => {
    class Sample extends Task.with() {
      work(): void {
        this.metadata[`attempt ${this.attempt}`] = true;
        if (this.attempt === 1) throw new Error("network");
      }
    }
    retryOn(Error, { limit: 1, delay: 0 })(Sample);

    expect((await Sample.execute()).metadata).toEqual({ "attempt 1": true, "attempt 2": true });
  });
});
