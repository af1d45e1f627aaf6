import { afterEach, describe, expect, test } from "vitest";
import { resetConfiguration, Task, type ObjectSchema } from "taskwright";
import { z } from "zod";
import { echoTask } from "../support/builders.js";

afterEach(() => {
  resetConfiguration();
});

/** A Standard Schema of nobody's. */
const standard = (validate: (value: unknown) => unknown): ObjectSchema =>
  ({ "~standard": { version: 1, vendor: "nobody", validate } }) as unknown as ObjectSchema;

describe("the parsed input", () => {
  test("has coercions and defaults done, and unknown keys left out", async () => {
    const Echo = echoTask(z.object({ amount: z.coerce.number(), currency: z.string().default("EUR"), at: z.coerce.date().optional() }));

    const result = await Echo.execute({ amount: "12", extra: true } as { amount: string });

    expect(result).toHaveProperty("output", { amount: 12, currency: "EUR" });
  });

  test("of a union is that of the branch that fits", async () => {
    const Echo = echoTask(
      z.discriminatedUnion("kind", [z.object({ kind: z.literal("card"), number: z.string() }), z.object({ kind: z.literal("cash") })]),
    );

    expect(await Echo.execute({ kind: "cash" })).toHaveProperty("output", { kind: "cash" });
    expect(await Echo.execute({ kind: "card", number: "4242" })).toHaveProperty("output", { kind: "card", number: "4242" });
    expect(await Echo.execute({ kind: "cheque" } as never)).toMatchObject({ status: "failed", metadata: { code: "invalid_input" } });
  });

  test("of nothing is empty where all fields are optional, and a failure where one is not", async () => {
    expect(await echoTask(z.object({ limit: z.number().default(10), after: z.string().optional() })).execute()).toHaveProperty("output", {
      limit: 10,
    });
    const Strict = echoTask(z.object({ id: z.string() })) as unknown as { execute(): Promise<unknown> };
    expect(await Strict.execute()).toMatchObject({ status: "failed", issues: [{ path: ["id"] }] });
  });

  test.each([
    ["null", null],
    ["a text", "id"],
    ["an array", []],
    ["a number", 5],
  ])("that is %s instead of an object is a failure", async (_, given) => {
    const result = await echoTask(z.object({ id: z.string().optional() })).execute(given as never);

    expect(result).toMatchObject({ status: "failed", metadata: { code: "invalid_input" }, retryable: false, issues: [{ path: [] }] });
  });

  test("is read-only, and the caller's object stays as it was", async () => {
    const given = { id: "a", nested: { list: [1] } };
    class Greedy extends Task.with({ input: z.object({ id: z.string(), nested: z.object({ list: z.array(z.number()) }) }) }) {
      work(): unknown {
        return Reflect.set(this.input, "id", "changed");
      }
    }

    const result = await Greedy.execute(given);

    expect(result).toMatchObject({ output: false });
    expect(given).toEqual({ id: "a", nested: { list: [1] } });
    expect(Object.isFrozen(given)).toBe(false);
  });

  test("is read-only also when the schema hands back the caller's own object, which is not frozen", async () => {
    const given = { id: "a" };
    class Greedy extends Task.with({ input: standard((value) => ({ value })) }) {
      work(): unknown {
        return Object.isFrozen(this.input);
      }
    }

    const result = await Greedy.execute(given);

    expect(result).toMatchObject({ output: true });
    expect(Object.isFrozen(given)).toBe(false);
  });

  test("is read-only also when the schema hands back an object that it keeps, which is not frozen", async () => {
    const kept = { id: "fallback" };
    const Echo = echoTask(z.object({ id: z.string() }).catch(kept));

    await Echo.execute({ id: 1 } as never);

    expect(Object.isFrozen(kept)).toBe(false);
  });

  test("may be an instance, which is left as it is", async () => {
    class Money {
      cents = 5;
    }
    const money = new Money();

    const result = await echoTask(z.instanceof(Money)).execute(money);

    expect(result).toHaveProperty("output", money);
    expect(Object.isFrozen(money)).toBe(false);
  });

  test("takes a key __proto__ as a key", async () => {
    const given = JSON.parse('{"id":"a","__proto__":{"admin":true}}') as { id: string };

    const result = await echoTask(z.looseObject({ id: z.string() })).execute(given);

    expect(result.status).toBe("success");
    expect((result as unknown as { output: { admin?: boolean } }).output.admin).toBeUndefined();
  });
});

describe("what is wrong with an input", () => {
  test("is told with paths, in the reason, the issues and the error", async () => {
    const Echo = echoTask(z.object({ amount: z.number().positive(), items: z.array(z.object({ sku: z.string() })) }));

    const result = await Echo.execute({ amount: -1, items: [{ sku: "a" }, { sku: 1 as never }] });

    expect(result).toMatchObject({
      status: "failed",
      error: { name: "InvalidInputError", code: "invalid_input", issues: [{ path: ["amount"] }, { path: ["items", 1, "sku"] }] },
      issues: [{ path: ["amount"] }, { path: ["items", 1, "sku"] }],
    });
    expect(result.reason).toMatch(/^Echo was given an input that does not fit its schema: amount: .*; items\[1\]\.sku: .*/);
  });

  test("in the whole is told without a path", async () => {
    const Echo = echoTask(z.object({ a: z.number(), b: z.number() }).refine(({ a, b }) => a < b, "a must be less than b"));

    expect((await Echo.execute({ a: 2, b: 1 })).reason).toBe("Echo was given an input that does not fit its schema: a must be less than b");
  });

  test("does not enter work, roll back, or retry", async () => {
    const entered: string[] = [];
    class Sample extends Task.with({ input: z.object({ id: z.string() }) }) {
      work(): void {
        entered.push("work");
      }
      override rollback(): void {
        entered.push("rollback");
      }
    }

    expect(await Sample.execute({ id: 5 as never })).toMatchObject({ rolledBack: false, retries: 0 });
    expect(entered).toEqual([]);
  });

  test("of a task that takes nothing is anything at all", async () => {
    class Nothing extends Task.with() {
      work(): unknown {
        return this.input;
      }
    }

    expect(await Nothing.execute()).toHaveProperty("output", {});
    expect(await Nothing.execute({})).toHaveProperty("output", {});
    expect(await Nothing.execute({ id: 1 } as never)).toMatchObject({ status: "failed", metadata: { code: "invalid_input" } });
    expect(await Nothing.execute("text" as never)).toMatchObject({ status: "failed", metadata: { code: "invalid_input" } });
  });

  test("that a check throws instead of telling fails the run with what it threw", async () => {
    const Echo = echoTask(
      z.object({
        id: z.string().refine(() => {
          throw new Error("broken check");
        }),
      }),
    );

    expect(await Echo.execute({ id: "a" })).toMatchObject({ status: "failed", reason: "broken check", metadata: {} });
  });
});

describe("defaults that are made by a function", () => {
  test("are made once for each run that needs one", async () => {
    let made = 0;
    const Echo = echoTask(z.object({ id: z.string().default(() => `id-${(made += 1)}`) }));

    await Echo.execute({});
    await Echo.execute({ id: "given" });

    expect(await Echo.execute({})).toHaveProperty("output", { id: "id-2" });
    expect(made).toBe(2);
  });

  test("that throw fail the run, and nothing else", async () => {
    const broken = (): string => {
      throw new Error("no sequence");
    };
    const Echo = echoTask(z.object({ id: z.string().default(broken) }));

    expect(await Echo.execute({ id: "given" })).toMatchObject({ status: "success" });
    expect(await Echo.execute({})).toMatchObject({ status: "failed", reason: "no sequence" });
  });
});
