import * as v from "valibot";
import { afterEach, describe, expect, test } from "vitest";
import { resetConfiguration, type ObjectSchema } from "taskwright";
import { z } from "zod";
import { parserOf, type Schema } from "../../src/task/schema.js";
import { settle } from "../support/manual-clock.js";
import { echoTask } from "../support/builders.js";

afterEach(() => {
  resetConfiguration();
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
    const Echo = echoTask(z.object({ email: z.string().refine(check) }));

    for (const email of ["a", "b", "c"]) expect((await Echo.execute({ email })).status).toBe("success");

    expect(calls).toEqual(["a", "b", "c"]);
  });

  test("tells the issues of a value that does not fit, checked once when it is known to be asynchronous", async () => {
    const { calls, check } = counted(async (value) => value !== "taken");
    const Echo = echoTask(z.object({ email: z.string().refine(check, "is taken") }));

    await Echo.execute({ email: "free" });
    const result = await Echo.execute({ email: "taken" });

    expect(result).toMatchObject({ status: "failed", issues: [{ path: ["email"], message: "is taken" }] });
    expect(calls).toEqual(["free", "taken"]);
  });

  test("tells the issues also of the very first value", async () => {
    const Echo = echoTask(z.object({ email: z.string().refine(async () => false, "is taken") }));

    expect(await Echo.execute({ email: "taken" })).toMatchObject({ status: "failed", issues: [{ message: "is taken" }] });
  });

  test("that reject fail the run, and nothing is left unhandled", async () => {
    const Echo = echoTask(z.object({ email: z.string().refine(() => Promise.reject(new Error("no database"))) }));

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
    const Echo = echoTask(make(check)) as unknown as { execute(input: object): Promise<{ status: string }> };

    expect((await Echo.execute({})).status).toBe("success");
    expect((await Echo.execute({ email: "a" })).status).toBe("success");
    expect((await Echo.execute({ email: "b" })).status).toBe("success");

    expect(calls).toEqual(["a", "b"]);
  });

  test("in an optional field only, which reject: the run fails and nothing is left unhandled", async () => {
    const Echo = echoTask(
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
