import { afterEach, describe, expect, test } from "vitest";
import { aroundExecution, beforeExecution, beforeValidation, resetConfiguration, Task, use, type Next, type Outcome } from "taskwright";
import { z } from "zod";
import { taskOf } from "../support/builders.js";

afterEach(() => {
  resetConfiguration();
});

const output = z.object({ id: z.string(), at: z.coerce.date().optional() });
const wrong = { id: 5 as never };

describe("the output of a success", () => {
  test("is the output side of the schema: coercions and defaults are done, unknown keys are gone", async () => {
    class Charge extends Task.with({ output: z.object({ id: z.string(), at: z.coerce.date(), tries: z.number().default(1) }) }) {
      work(): { id: string; at: string; secret: string } {
        return { id: "ch_1", at: "2026-01-01T00:00:00Z", secret: "hunter2" };
      }
    }

    expect(await Charge.execute()).toMatchObject({ status: "success" });
    expect(await Charge.execute()).toHaveProperty("output", { id: "ch_1", at: new Date("2026-01-01T00:00:00Z"), tries: 1 });
  });

  test("is whatever work returns when there is no schema", async () => {
    expect(await taskOf(() => undefined).execute()).toHaveProperty("output", undefined);
    const given = { nested: new Map() };
    expect(await taskOf(() => given).execute()).toHaveProperty("output", given);
  });

  test.each<[string, unknown]>([
    ["undefined", undefined],
    ["null", null],
    ["a text", "ch_1"],
    ["an object that lacks a field", {}],
  ])("%s that does not fit fails the run, with the issues", async (_, returned) => {
    class Charge extends Task.with({ output }) {
      work(): { id: string } {
        return returned as { id: string };
      }
    }

    const result = await Charge.execute();

    expect(result).toMatchObject({
      status: "failed",
      metadata: { code: "invalid_output" },
      retryable: true,
      error: { name: "InvalidOutputError", code: "invalid_output" },
    });
    expect(result).toHaveProperty("issues.length", 1);
  });

  test("is verified once, also by a schema with asynchronous checks", async () => {
    let checks = 0;
    const schema = z.object({
      id: z.string().refine(async () => {
        checks += 1;
        return true;
      }),
    });
    class Charge extends Task.with({ output: schema }) {
      work(): { id: string } {
        return { id: "ch_1" };
      }
    }

    await Charge.execute();

    expect(checks).toBe(1);
  });

  test("whose verification throws or rejects fails the run", async () => {
    const broken = (): never => {
      throw new Error("broken check");
    };
    for (const check of [broken, async () => broken()]) {
      class Charge extends Task.with({ output: z.object({ id: z.string().refine(check) }) }) {
        work(): { id: string } {
          return { id: "ch_1" };
        }
      }

      expect(await Charge.execute()).toMatchObject({ status: "failed", reason: "broken check" });
    }
  });
});

/** Everywhere where a run may be answered with a success. */
describe("an output is verified wherever the success comes from", () => {
  test("this.success() in work", async () => {
    class Charge extends Task.with({ output }) {
      work(): { id: string } {
        return this.success(wrong);
      }
    }

    expect(await Charge.execute()).toMatchObject({ status: "failed", metadata: { code: "invalid_output" } });
  });

  test("this.success() in a callback before the run", async () => {
    class BeforeExecution extends Task.with({ output }) {
      work(): { id: string } {
        return { id: "ch_1" };
      }
      @beforeExecution() early(): void {
        this.success(wrong);
      }
    }
    class BeforeValidation extends Task.with({ output }) {
      work(): { id: string } {
        return { id: "ch_1" };
      }
      @beforeValidation() early(): void {
        this.success(wrong);
      }
    }

    expect(await BeforeExecution.execute()).toMatchObject({ status: "failed", metadata: { code: "invalid_output" } });
    expect(await BeforeValidation.execute()).toMatchObject({ status: "failed", metadata: { code: "invalid_output" } });
  });

  const early: Outcome = { status: "success", output: wrong };

  test("this.success() in a callback around the run, and an outcome that it answers with", async () => {
    class Halting extends Task.with({ output }) {
      work(): { id: string } {
        return { id: "ch_1" };
      }
      @aroundExecution() early(_next: Next): void {
        this.success(wrong);
      }
    }
    class Answering extends Task.with({ output }) {
      work(): { id: string } {
        return { id: "ch_1" };
      }
      @aroundExecution() early(_next: Next): Outcome {
        return early;
      }
    }

    expect(await Halting.execute()).toMatchObject({ status: "failed", metadata: { code: "invalid_output" } });
    expect(await Answering.execute()).toMatchObject({ status: "failed", metadata: { code: "invalid_output" } });
  });

  class Charge extends Task.with({ output }) {
    work(): { id: string } {
      return { id: "ch_1" };
    }
  }

  test("this.success() in a middleware, and an outcome that it answers with", async () => {
    class Halted extends Charge {}
    use((task: Charge) => task.success(wrong))(Halted);
    class Answered extends Charge {}
    use(() => early)(Answered);

    expect(await Halted.execute()).toMatchObject({ status: "failed", metadata: { code: "invalid_output" } });
    expect(await Answered.execute()).toMatchObject({ status: "failed", metadata: { code: "invalid_output" } });
  });

  test("and an outcome of its own that fits goes through the schema once", async () => {
    class Answered extends Charge {}
    use(() => ({ status: "success", output: { id: "cached", at: "2026-01-01T00:00:00Z" } }))(Answered);
    const seen: unknown[] = [];
    use(async (_task: Charge, next) => {
      seen.push(await next());
    })(Answered);

    const result = await Answered.execute();

    expect(result).toMatchObject({ status: "success", output: { id: "cached", at: new Date("2026-01-01T00:00:00Z") } });
    expect(seen).toMatchObject([{ status: "success", output: { id: "cached" } }]);
  });
});
