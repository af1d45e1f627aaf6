import * as v from "valibot";
import { afterEach, describe, expect, test } from "vitest";
import { resetConfiguration, type ObjectSchema } from "taskwright";
import { echoTask } from "../support/builders.js";

afterEach(() => {
  resetConfiguration();
});

/** A Standard Schema of nobody's. */
const standard = (validate: (value: unknown) => unknown): ObjectSchema =>
  ({ "~standard": { version: 1, vendor: "nobody", validate } }) as unknown as ObjectSchema;

describe("schemas of other libraries", () => {
  test("valibot: parsed, transformed, and told with plain paths", async () => {
    const schema = v.object({
      items: v.array(v.object({ sku: v.pipe(v.string(), v.trim(), v.minLength(1)) })),
      note: v.optional(v.string(), "none"),
    });

    expect(await echoTask(schema).execute({ items: [{ sku: " a " }] })).toHaveProperty("output", { items: [{ sku: "a" }], note: "none" });
    expect(await echoTask(schema).execute({ items: [{ sku: "" }] })).toMatchObject({
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

    expect(await echoTask(schema).execute({ email: "free" })).toMatchObject({ status: "success" });
    expect(await echoTask(schema).execute({ email: "taken" })).toMatchObject({ issues: [{ path: ["email"], message: "is taken" }] });
  });

  test("an answer that says issues: undefined is a success", async () => {
    expect(await echoTask(standard((value) => ({ value, issues: undefined }))).execute({ a: 1 })).toHaveProperty("output", { a: 1 });
  });

  test("an answer that is a thenable is awaited", async () => {
    const answer = { value: { a: 1 } };
    // oxlint-disable-next-line unicorn/no-thenable -- a thenable is what is tested
    const thenable = { then: (resolve: (value: unknown) => void) => resolve(answer) };

    expect(await echoTask(standard(() => thenable)).execute({})).toHaveProperty("output", { a: 1 });
  });

  test("a validator that throws fails the run", async () => {
    const broken = standard(() => {
      throw new Error("broken validator");
    });

    expect(await echoTask(broken).execute({})).toMatchObject({ status: "failed", reason: "broken validator" });
  });

  test("issues without a path, and path segments with a key, are plain", async () => {
    const issues = [{ message: "odd" }, { message: "wrong", path: [{ key: "a" }, 0, Symbol.for("s")] }];

    expect(await echoTask(standard(() => ({ issues }))).execute({})).toMatchObject({
      issues: [
        { message: "odd", path: [] },
        { message: "wrong", path: ["a", 0, Symbol.for("s")] },
      ],
    });
  });
});
