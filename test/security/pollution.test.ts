import { afterEach, describe, expect, test } from "vitest";
import { configure, idempotentBy, MemoryStore, resetConfiguration, settings, Task } from "taskwright";
import { z } from "zod";
import { memoryLogger, succeedWith, taskOf } from "../support/builders.js";

afterEach(() => {
  resetConfiguration();
  // Whatever a test did: a polluted prototype fails it.
  if (Reflect.get({}, "polluted") !== undefined || Object.keys(Object.prototype).length > 0)
    throw new Error("Object.prototype is polluted");
});

/** As it comes from outside: an own property of that name, which an assignment would turn into a prototype. */
const hostile = (): Record<string, unknown> =>
  JSON.parse('{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},"fine":1}') as Record<string, unknown>; // JSON of ours

describe("names that reach for the prototype", () => {
  test("in the context of a call", async () => {
    let seen: unknown;
    const Sample = taskOf((task) => (seen = Reflect.get(task.context, "polluted")));
    const result = await Sample.execute({}, { context: hostile() });

    expect(seen).toBeUndefined();
    expect(Object.getPrototypeOf(result.context)).not.toHaveProperty("polluted");
    expect(result.context).toHaveProperty("fine", 1);
  });

  test.each<[string, (task: Task) => unknown]>([
    ["skip", (task) => task.skip("no", hostile())],
    ["fail", (task) => task.fail("no", hostile())],
    ["success", (task) => succeedWith(task, "done", hostile())],
    ["metadata", (task) => void Object.assign(task.metadata, hostile())],
  ])("in the metadata that %s is given", async (_name, work) => {
    const result = await taskOf(work).execute();

    expect(result.metadata).toHaveProperty("fine", 1);
    expect(Reflect.get(result.metadata, "polluted")).toBeUndefined();
  });

  test("in the input of a task that takes any field", async () => {
    class Loose extends Task.with({ input: z.looseObject({ fine: z.number() }) }) {
      work(): unknown {
        return [Reflect.get(this.input, "polluted"), this.input.fine];
      }
    }

    expect(await Loose.execute(hostile() as { fine: number })).toMatchObject({ output: [undefined, 1] }); // JSON of ours
  });

  test("in the fields that a log line is to show", async () => {
    const { logger, lines } = memoryLogger();
    class Loose extends Task.with({ input: z.looseObject({ fine: z.number() }) }) {
      work(): void {}
    }
    settings({ logger, logFields: { input: ["__proto__", "constructor", "fine", "toString"] } })(Loose);
    await Loose.execute(hostile() as { fine: number }); // as above

    expect(lines).toHaveLength(1);
    expect(Reflect.get(lines[0]?.fields ?? {}, "polluted")).toBeUndefined();
  });

  test("as the field that makes a key", async () => {
    class Loose extends Task.with({ input: z.looseObject({ fine: z.number() }) }) {
      work(): void {}
    }
    for (const field of ["__proto__", "constructor", "toString", "hasOwnProperty"]) {
      const type = class Keyed extends Loose {};
      Object.defineProperty(type, "taskName", { value: `Keyed_${field}` });
      idempotentBy((task: Loose) => (Object.hasOwn(task.input, field) ? "own" : undefined))(type);
      expect((await type.execute({ fine: 1 })).status).toBe("success");
    }
  });

  test("in a stored output that somebody has written into the store", async () => {
    const store = new MemoryStore();
    configure((config) => {
      config.store = store;
    });
    class Quote extends Task.with({ input: z.object({ id: z.string() }), output: z.looseObject({}) }) {
      work(): Record<string, unknown> {
        return {};
      }
    }
    idempotentBy("id", { onDuplicate: "replay" })(Quote);
    const forged = [
      '[{"__proto__":1},{"polluted":2},true]',
      '[{"constructor":1},{"prototype":2},{"polluted":3},true]',
      '[["null","__proto__",1],{"polluted":2},true]',
      '["Object","__proto__"]',
      "[[-1]]",
      '[["Array",4294967295]]',
      "not at all",
    ];
    for (const output of forged) {
      await store.set("cmdx:idem:Quote:q1", `completed ${JSON.stringify({ run: "r", output })}`, { ttlMs: 60_000 });
      const result = await Quote.execute({ id: "q1" });
      const replayed: object = result.status === "success" ? result.output : {};
      expect(["success", "skipped"], output).toContain(result.status); // replayed, or not to be read back: never a crash
      expect(Reflect.get(replayed, "polluted"), output).toBeUndefined();
    }
  });
});
