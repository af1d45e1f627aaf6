import * as v from "valibot";
import { afterEach, describe, expect, test } from "vitest";
import { configure, deprecated, resetConfiguration, retryOn, settings, Task } from "taskwright";
import { z } from "zod";

afterEach(() => {
  resetConfiguration();
});

class CardError extends Error {}

@settings({ description: "Charges a card.", tags: ["billing"] })
@deprecated("use ChargeCard")
@retryOn(CardError, (error) => error.name === "Odd", { limit: 5, delay: "2s", maxDelay: "1m", jitter: "exponential" })
class Charge extends Task.with({
  input: z.object({ amount: z.coerce.number().int().positive(), at: z.date().optional() }).describe("An amount."),
  output: z.object({ id: z.string(), tries: z.number().default(1) }),
}) {
  work(): { id: string } {
    return { id: "ch_1" };
  }
}

describe("the schema of a task", () => {
  test("tells its name, what it is for, its tags and that it is deprecated", () => {
    expect(Charge.schema).toMatchObject({
      name: "Charge",
      description: "Charges a card.",
      tags: ["billing"],
      deprecated: "use ChargeCard",
    });
  });

  test("has JSON Schema of what callers give and of what the result carries", () => {
    const { input, output } = Charge.schema;

    expect(input).toMatchObject({ type: "object", properties: { amount: { type: "integer" }, at: {} } });
    expect(output).toMatchObject({ type: "object", required: ["id", "tries"], properties: { id: { type: "string" } } });
  });

  test("tells the policies with their effective options", () => {
    expect(Charge.schema.policies).toEqual({
      retry: { on: ["CardError", "a predicate"], limit: 5, delayMs: 2_000, maxDelayMs: 60_000, jitter: "exponential" },
    });
  });

  test("follows inheritance and the configuration, also later", () => {
    @retryOn(false)
    @settings({ tags: ["cards"] })
    class Child extends Charge {}
    configure((config) => {
      config.tags = ["app"];
    });

    expect(Child.schema).toMatchObject({ name: "Child", tags: ["app", "billing", "cards"], policies: {} });
  });

  test("of a task with nothing declared is as good as empty", () => {
    class Bare extends Task.with() {
      work(): void {}
    }

    expect(Bare.schema).toEqual({
      name: "Bare",
      description: undefined,
      tags: [],
      deprecated: undefined,
      input: undefined,
      output: undefined,
      policies: {},
    });
  });

  test("takes the description of the input where the task has none", () => {
    class Described extends Task.with({ input: z.object({}).describe("Nothing at all.") }) {
      work(): void {}
    }

    expect(Described.schema.description).toBe("Nothing at all.");
  });

  test("has no JSON Schema for a validator that cannot make it", () => {
    class Other extends Task.with({ input: v.object({ id: v.string() }) }) {
      work(): void {}
    }

    expect(Other.schema.input).toBeUndefined();
  });

  test("is plain data that JSON can hold", () => {
    expect(JSON.parse(JSON.stringify(Charge.schema))).toMatchObject({ name: "Charge" });
    expect(Object.isFrozen(Charge.schema)).toBe(true);
  });
});
