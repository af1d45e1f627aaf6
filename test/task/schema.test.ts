import * as v from "valibot";
import { afterEach, describe, expect, test } from "vitest";
import { resetConfiguration, Task, type ObjectSchema } from "taskwright";
import { z } from "zod";
import { parserOf, type Schema } from "../../src/task/schema.js";
import { settle } from "../support/manual-clock.js";

afterEach(() => {
  resetConfiguration();
});

/** A task that answers with its parsed input. */
function echo<S extends ObjectSchema>(input: S) {
  return class Echo extends Task.with({ input }) {
    work(): unknown {
      return this.input;
    }
  };
}

/** A Standard Schema of nobody's. */
const standard = (validate: (value: unknown) => unknown): ObjectSchema =>
  ({ "~standard": { version: 1, vendor: "nobody", validate } }) as unknown as ObjectSchema;

describe("the parsed input", () => {
  test("has coercions and defaults done, and unknown keys left out", async () => {
    const Echo = echo(z.object({ amount: z.coerce.number(), currency: z.string().default("EUR"), at: z.coerce.date().optional() }));

    const result = await Echo.execute({ amount: "12", extra: true } as { amount: string });

    expect(result).toHaveProperty("output", { amount: 12, currency: "EUR" });
  });

  test("of a union is that of the branch that fits", async () => {
    const Echo = echo(
      z.discriminatedUnion("kind", [z.object({ kind: z.literal("card"), number: z.string() }), z.object({ kind: z.literal("cash") })]),
    );

    expect(await Echo.execute({ kind: "cash" })).toHaveProperty("output", { kind: "cash" });
    expect(await Echo.execute({ kind: "card", number: "4242" })).toHaveProperty("output", { kind: "card", number: "4242" });
    expect(await Echo.execute({ kind: "cheque" } as never)).toMatchObject({ status: "failed", metadata: { code: "invalid_input" } });
  });

  test("of nothing is empty where all fields are optional, and a failure where one is not", async () => {
    expect(await echo(z.object({ limit: z.number().default(10), after: z.string().optional() })).execute()).toHaveProperty("output", {
      limit: 10,
    });
    const Strict = echo(z.object({ id: z.string() })) as unknown as { execute(): Promise<unknown> };
    expect(await Strict.execute()).toMatchObject({ status: "failed", issues: [{ path: ["id"] }] });
  });

  test.each([
    ["null", null],
    ["a text", "id"],
    ["an array", []],
    ["a number", 5],
  ])("that is %s instead of an object is a failure", async (_, given) => {
    const result = await echo(z.object({ id: z.string().optional() })).execute(given as never);

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
    const Echo = echo(z.object({ id: z.string() }).catch(kept));

    await Echo.execute({ id: 1 } as never);

    expect(Object.isFrozen(kept)).toBe(false);
  });

  test("may be an instance, which is left as it is", async () => {
    class Money {
      cents = 5;
    }
    const money = new Money();

    const result = await echo(z.instanceof(Money)).execute(money);

    expect(result).toHaveProperty("output", money);
    expect(Object.isFrozen(money)).toBe(false);
  });

  test("takes a key __proto__ as a key", async () => {
    const given = JSON.parse('{"id":"a","__proto__":{"admin":true}}') as { id: string };

    const result = await echo(z.looseObject({ id: z.string() })).execute(given);

    expect(result.status).toBe("success");
    expect((result as unknown as { output: { admin?: boolean } }).output.admin).toBeUndefined();
  });
});

describe("what is wrong with an input", () => {
  test("is told with paths, in the reason, the issues and the error", async () => {
    const Echo = echo(z.object({ amount: z.number().positive(), items: z.array(z.object({ sku: z.string() })) }));

    const result = await Echo.execute({ amount: -1, items: [{ sku: "a" }, { sku: 1 as never }] });

    expect(result).toMatchObject({
      status: "failed",
      error: { name: "InvalidInputError", code: "invalid_input", issues: [{ path: ["amount"] }, { path: ["items", 1, "sku"] }] },
      issues: [{ path: ["amount"] }, { path: ["items", 1, "sku"] }],
    });
    expect(result.reason).toMatch(/^Echo was given an input that does not fit its schema: amount: .*; items\[1\]\.sku: .*/);
  });

  test("in the whole is told without a path", async () => {
    const Echo = echo(z.object({ a: z.number(), b: z.number() }).refine(({ a, b }) => a < b, "a must be less than b"));

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
    const Echo = echo(
      z.object({
        id: z.string().refine(() => {
          throw new Error("broken check");
        }),
      }),
    );

    expect(await Echo.execute({ id: "a" })).toMatchObject({ status: "failed", reason: "broken check", metadata: {} });
  });
});

describe("a schema without asynchronous parts", () => {
  test.each<[string, Schema]>([
    ["an object", z.object({ a: z.string() })],
    ["a refined object", z.object({ a: z.string() }).refine(() => true)],
    ["a transform", z.object({ a: z.string() }).transform((value) => value)],
    ["a union", z.union([z.object({ a: z.string() }), z.object({ b: z.string() })])],
    ["a lazy schema", z.lazy(() => z.object({ a: z.string() }))],
    ["a pipe", z.object({ a: z.string() }).pipe(z.object({ a: z.string() }))],
    ["valibot's", v.object({ a: v.string() })],
  ])("%s is parsed at once", (_, schema) => {
    const parse = parserOf(schema);

    for (let i = 0; i < 3; i += 1) {
      expect(parse({ a: "x" })).toEqual({ value: { a: "x" } });
      expect(parse({ a: 1 })).toHaveProperty("issues.length");
    }
  });

  test("parses each value that fits once", () => {
    let checks = 0;
    const parse = parserOf(
      z.object({
        a: z.string().refine(() => {
          checks += 1;
          return true;
        }),
      }),
    );

    for (let i = 0; i < 3; i += 1) void parse({ a: "x" });

    expect(checks).toBe(3);
  });
});

describe("a schema with asynchronous parts", () => {
  const counted = (answer: (value: string) => Promise<boolean>) => {
    const calls: string[] = [];
    const check = (value: string): Promise<boolean> => {
      calls.push(value);
      return answer(value);
    };
    return { calls, check };
  };

  test("is awaited, and each value that fits is checked once", async () => {
    const { calls, check } = counted(async () => true);
    const Echo = echo(z.object({ email: z.string().refine(check) }));

    for (const email of ["a", "b", "c"]) expect((await Echo.execute({ email })).status).toBe("success");

    expect(calls).toEqual(["a", "b", "c"]);
  });

  test("tells the issues of a value that does not fit, checked once when it is known to be asynchronous", async () => {
    const { calls, check } = counted(async (value) => value !== "taken");
    const Echo = echo(z.object({ email: z.string().refine(check, "is taken") }));

    await Echo.execute({ email: "free" });
    const result = await Echo.execute({ email: "taken" });

    expect(result).toMatchObject({ status: "failed", issues: [{ path: ["email"], message: "is taken" }] });
    expect(calls).toEqual(["free", "taken"]);
  });

  test("tells the issues also of the very first value", async () => {
    const Echo = echo(z.object({ email: z.string().refine(async () => false, "is taken") }));

    expect(await Echo.execute({ email: "taken" })).toMatchObject({ status: "failed", issues: [{ message: "is taken" }] });
  });

  test("that reject fail the run, and nothing is left unhandled", async () => {
    const Echo = echo(z.object({ email: z.string().refine(() => Promise.reject(new Error("no database"))) }));

    for (let i = 0; i < 3; i += 1) {
      expect(await Echo.execute({ email: "a" })).toMatchObject({ status: "failed", reason: "no database" });
    }
    await settle();
  });

  test.each<[string, (check: (value: string) => Promise<boolean>) => ObjectSchema]>([
    ["an optional field", (check) => z.object({ email: z.string().refine(check).optional() })],
    [
      "a branch of a union",
      (check) => z.union([z.object({ email: z.string().refine(check) }), z.object({ email: z.undefined().optional() })]),
    ],
    [
      "the items of a list",
      (check) =>
        z
          .looseObject({})
          .transform((value) => value)
          .pipe(z.object({ email: z.string().refine(check).optional() })),
    ],
    ["a field behind lazy", (check) => z.object({ email: z.lazy(() => z.string().refine(check)).optional() })],
    ["an asynchronous transform", (check) => z.object({ email: z.string().transform(check).optional() })],
    ["a preprocessed field", (check) => z.object({ email: z.preprocess((value) => value, z.string().refine(check).optional()) })],
    [
      "a superRefine",
      (check) =>
        z.object({
          email: z
            .string()
            .superRefine(async (value) => void (await check(value)))
            .optional(),
        }),
    ],
    ["a custom schema", (check) => z.object({ email: z.custom<string>((value) => check(String(value))).optional() })],
    [
      "an object whose fields have no prototype",
      (check) => z.object(Object.assign(Object.create(null) as object, { email: z.string().refine(check).optional() })),
    ],
  ])("in %s only: a first value without it does not make the later ones be checked twice", async (_, make) => {
    const { calls, check } = counted(async () => true);
    const Echo = echo(make(check)) as unknown as { execute(input: object): Promise<{ status: string }> };

    expect((await Echo.execute({})).status).toBe("success");
    expect((await Echo.execute({ email: "a" })).status).toBe("success");
    expect((await Echo.execute({ email: "b" })).status).toBe("success");

    expect(calls).toEqual(["a", "b"]);
  });

  test("in an optional field only, which reject: the run fails and nothing is left unhandled", async () => {
    const Echo = echo(
      z.object({
        email: z
          .string()
          .refine(() => Promise.reject(new Error("no database")))
          .optional(),
      }),
    );

    expect((await Echo.execute({})).status).toBe("success");
    expect(await Echo.execute({ email: "a" })).toMatchObject({ status: "failed", reason: "no database" });
    await settle();
  });
});

describe("defaults that are made by a function", () => {
  test("are made once for each run that needs one", async () => {
    let made = 0;
    const Echo = echo(z.object({ id: z.string().default(() => `id-${(made += 1)}`) }));

    await Echo.execute({});
    await Echo.execute({ id: "given" });

    expect(await Echo.execute({})).toHaveProperty("output", { id: "id-2" });
    expect(made).toBe(2);
  });

  test("that throw fail the run, and nothing else", async () => {
    const broken = (): string => {
      throw new Error("no sequence");
    };
    const Echo = echo(z.object({ id: z.string().default(broken) }));

    expect(await Echo.execute({ id: "given" })).toMatchObject({ status: "success" });
    expect(await Echo.execute({})).toMatchObject({ status: "failed", reason: "no sequence" });
  });
});

describe("schemas of other libraries", () => {
  test("valibot: parsed, transformed, and told with plain paths", async () => {
    const schema = v.object({
      items: v.array(v.object({ sku: v.pipe(v.string(), v.trim(), v.minLength(1)) })),
      note: v.optional(v.string(), "none"),
    });

    expect(await echo(schema).execute({ items: [{ sku: " a " }] })).toHaveProperty("output", { items: [{ sku: "a" }], note: "none" });
    expect(await echo(schema).execute({ items: [{ sku: "" }] })).toMatchObject({
      status: "failed",
      issues: [{ path: ["items", 0, "sku"] }],
    });
  });

  test("valibot: asynchronous", async () => {
    const schema = v.objectAsync({
      email: v.pipeAsync(
        v.string(),
        v.checkAsync(async (value) => value !== "taken", "is taken"),
      ),
    });

    expect(await echo(schema).execute({ email: "free" })).toMatchObject({ status: "success" });
    expect(await echo(schema).execute({ email: "taken" })).toMatchObject({ issues: [{ path: ["email"], message: "is taken" }] });
  });

  test("an answer that says issues: undefined is a success", async () => {
    expect(await echo(standard((value) => ({ value, issues: undefined }))).execute({ a: 1 })).toHaveProperty("output", { a: 1 });
  });

  test("an answer that is a thenable is awaited", async () => {
    const answer = { value: { a: 1 } };
    // oxlint-disable-next-line unicorn/no-thenable -- a thenable is what is tested
    const thenable = { then: (resolve: (value: unknown) => void) => resolve(answer) };

    expect(await echo(standard(() => thenable)).execute({})).toHaveProperty("output", { a: 1 });
  });

  test("a validator that throws fails the run", async () => {
    const broken = standard(() => {
      throw new Error("broken validator");
    });

    expect(await echo(broken).execute({})).toMatchObject({ status: "failed", reason: "broken validator" });
  });

  test("issues without a path, and path segments with a key, are plain", async () => {
    const issues = [{ message: "odd" }, { message: "wrong", path: [{ key: "a" }, 0, Symbol.for("s")] }];

    expect(await echo(standard(() => ({ issues }))).execute({})).toMatchObject({
      issues: [
        { message: "odd", path: [] },
        { message: "wrong", path: ["a", 0, Symbol.for("s")] },
      ],
    });
  });
});
