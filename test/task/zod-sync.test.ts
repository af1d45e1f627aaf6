import { describe, expect, test } from "vitest";
import { z } from "zod";
import * as zm from "zod/mini";
import { isAlwaysSync } from "../../src/task/zod-sync.js";

interface Tree {
  readonly name: string;
  readonly children: readonly Tree[];
}
const tree: z.ZodType<Tree> = z.object({
  name: z.string(),
  get children() {
    return z.array(tree);
  },
});

describe("a schema that never needs to be awaited", () => {
  test.each<[string, unknown]>([
    ["an object of plain fields", z.object({ a: z.string(), b: z.number().int().positive(), c: z.boolean() })],
    [
      "built-in checks",
      z.object({ a: z.string().min(1).max(9).regex(/a/), b: z.number().multipleOf(2), c: z.array(z.string()).length(2) }),
    ],
    ["formats", z.object({ a: z.email(), b: z.uuid(), c: z.url(), d: z.iso.datetime() })],
    ["coercions", z.object({ a: z.coerce.number(), b: z.coerce.date(), c: z.coerce.bigint() })],
    [
      "optional, nullable, defaulted",
      z.object({ a: z.string().optional(), b: z.string().nullable(), c: z.string().default("c"), d: z.string().readonly() }),
    ],
    ["unions", z.union([z.object({ a: z.literal(1) }), z.object({ a: z.enum(["x"]) })])],
    ["discriminated unions", z.discriminatedUnion("k", [z.object({ k: z.literal("a") }), z.object({ k: z.literal("b") })])],
    [
      "collections",
      z.object({ a: z.map(z.string(), z.number()), b: z.set(z.string()), c: z.tuple([z.string()]), d: z.record(z.string(), z.number()) }),
    ],
    ["a schema that contains itself", tree],
    ["zod's small sister", zm.object({ a: zm.optional(zm.string()) })],
  ])("%s", (_, schema) => {
    expect(isAlwaysSync(schema)).toBe(true);
  });
});

describe("a schema that may need to be awaited, as far as can be told", () => {
  const check = (): boolean => true;

  test.each<[string, unknown]>([
    ["a refinement", z.object({ a: z.string().refine(check) })],
    ["a refinement of the whole", z.object({ a: z.string() }).refine(check)],
    [
      "a refinement deep inside",
      z.object({ a: z.array(z.union([z.number(), z.map(z.string(), z.object({ b: z.string().refine(check) }))])) }),
    ],
    ["one behind optional and default", z.object({ a: z.string().refine(check).optional(), b: z.string().default("b") })],
    ["one among the rest of a tuple", z.tuple([z.string()], z.string().refine(check))],
    ["one for what else an object holds", z.object({}).catchall(z.string().refine(check))],
    ["one for the keys of a record", z.record(z.string().refine(check), z.number())],
    ["one in an intersection", z.object({ a: z.string() }).and(z.object({ b: z.string().refine(check) }))],
    ["a superRefine", z.object({ a: z.string().superRefine(() => undefined) })],
    ["a check of one's own", z.object({ a: z.string().check(() => undefined) })],
    ["a transform", z.object({ a: z.string().transform(check) })],
    ["a pipe", z.object({ a: z.string().pipe(z.string()) })],
    ["a preprocessing", z.object({ a: z.preprocess(check, z.string()) })],
    ["a codec", z.object({ a: z.codec(z.string(), z.date(), { decode: (text) => new Date(text), encode: (date) => date.toISOString() }) })],
    ["a custom schema", z.object({ a: z.custom(check) })],
    ["an instance", z.object({ a: z.instanceof(Date) })],
    ["a lazy schema", z.object({ a: z.lazy(() => z.string()) })],
    ["a promise", z.object({ a: z.promise(z.string()) })],
    ["a fallback", z.object({ a: z.string().catch("a") })],
    ["fields without a prototype", z.object(Object.assign(Object.create(null) as object, { a: z.string().refine(check) }))],
    ["no schema at all", {}],
    ["nothing", undefined],
  ])("%s", (_, schema) => {
    expect(isAlwaysSync(schema)).toBe(false);
  });
});

test("asking calls none of the user's functions", () => {
  let calls = 0;
  const made = (): string => {
    calls += 1;
    return "made";
  };

  isAlwaysSync(z.object({ a: z.string().default(made), b: z.string().prefault(made), c: z.string().catch(made) }));

  expect(calls).toBe(0);
});
