import { afterEach, describe, expect, test } from "vitest";
import { match, resetConfiguration, retryOn, settings, Task, type Result } from "taskwright";
import { z } from "zod";
import { rejectionOf, taskOf } from "../support/builders.js";

afterEach(() => {
  resetConfiguration();
});

/** Everything plain in the result that is not frozen. */
function thawed(value: unknown, path = "result"): string[] {
  if (typeof value !== "object" || value === null) return [];
  if (!Array.isArray(value) && Object.getPrototypeOf(value) !== Object.prototype) return [];
  const own = Object.isFrozen(value) ? [] : [path];
  return [...own, ...Object.entries(value).flatMap(([key, item]) => thawed(item, `${path}.${key}`))];
}

const noted = { list: [{ deep: true }], nested: { deeper: {} } };

describe("a result is frozen", () => {
  test("of a success: all but the output, which belongs to the task", async () => {
    class Sample extends Task.with() {
      work(): { amounts: number[] } {
        Object.assign(this.metadata, noted);
        this.context["shared"] = 1;
        return { amounts: [1] };
      }
    }
    settings({ tags: ["billing"] })(Sample);

    const { output, ...facts } = (await Sample.execute()) as Result & { output: object };

    expect(thawed(Object.freeze(facts))).toEqual([]);
    expect(Object.isFrozen(output)).toBe(false);
  });

  test("of a skip and of a failure, with metadata, issues and origin", async () => {
    class Sample extends Task.with({ input: z.object({ items: z.array(z.object({ sku: z.string() })) }) }) {
      work(): void {
        this.skip("closed", noted);
      }
    }

    const skipped = await Sample.execute({ items: [] });
    const failed = await Sample.execute({ items: [{ sku: 1 as never }] });

    expect(thawed(skipped)).toEqual([]);
    expect(thawed(failed)).toEqual([]);
    expect(failed).toMatchObject({ issues: [{ path: ["items", 0, "sku"] }] });
  });

  test("and what was noted stays as thawed as it was", async () => {
    const notes = { list: [1] };

    await taskOf((task) => task.skip("closed", notes)).execute();

    expect(Object.isFrozen(notes)).toBe(false);
    expect(Object.isFrozen(notes.list)).toBe(false);
  });

  test("and its metadata keeps errors, dates and instances as they are", async () => {
    const error = new Error("kept");
    const at = new Date(0);

    const result = await taskOf((task) => task.skip("closed", { error, at, when: [at] })).execute();

    expect(result.metadata["error"]).toBe(error);
    expect(result.metadata["at"]).toBe(at);
    expect(Object.isFrozen(error)).toBe(false);
  });

  test("and its context is that of the moment: later changes by other runs do not show", async () => {
    const results: Result[] = [];
    await taskOf(async (task) => {
      task.context["step"] = 1;
      results.push(await taskOf(() => 1).execute());
      task.context["step"] = 2;
    }).execute();

    expect(results[0]?.context).toEqual({ step: 1 });
  });
});

describe("a result is plain data", () => {
  test("of a success it has exactly these fields", async () => {
    const result = await taskOf(() => 7).execute();

    expect(result).toEqual({
      status: "success",
      ok: true,
      ko: false,
      state: "complete",
      reason: undefined,
      output: 7,
      replayed: false,
      metadata: {},
      task: "Sample",
      runId: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
      chainId: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
      parentId: undefined,
      index: 0,
      depth: 0,
      correlationId: undefined,
      retries: 0,
      durationMs: expect.any(Number) as number,
      rolledBack: false,
      deprecated: false,
      tags: [],
      context: {},
    });
  });

  test("of a failure it has the error, the issues and the origin besides", async () => {
    const result = await taskOf((task) => task.fail("declined")).execute();

    expect(result).toMatchObject({
      status: "failed",
      reason: "declined",
      issues: [],
      retryable: true,
      origin: { task: "Sample", runId: result.runId },
      rollbackError: undefined,
    });
    expect(result).not.toHaveProperty("output");
  });

  test("it can be cloned and compared", async () => {
    const result = await taskOf(() => ({ at: new Date(0), amount: 5n })).execute();

    expect(structuredClone(result)).toEqual(result);
  });

  test("a failed one can be cloned, its error included", async () => {
    const result = await taskOf((task) => task.fail("declined", { code: "declined" }, { cause: new Error("funds") })).execute();

    const copy = structuredClone(result);

    expect(copy).toMatchObject({ status: "failed", reason: "declined", metadata: { code: "declined" } });
    expect(copy).toHaveProperty("error.message", "declined");
  });
});

describe("retries and rollback in the result", () => {
  test("retries counts the attempts after the first", async () => {
    const Sample = taskOf((task) => {
      if (task.attempt < 3) throw new Error("network");
    });
    retryOn(Error, { limit: 5, delay: 0 })(Sample);

    expect(await Sample.execute()).toMatchObject({ status: "success", retries: 2 });
  });

  test("a rollback that throws shows its error, and the failure that called for it stays", async () => {
    const broken = new Error("cannot undo");
    class Sample extends Task.with() {
      work(): never {
        throw new Error("declined");
      }
      override rollback(): Promise<never> {
        return Promise.reject(broken);
      }
    }

    const result = await Sample.execute();

    expect(result).toMatchObject({ status: "failed", reason: "declined", rolledBack: false });
    expect(result).toHaveProperty("rollbackError", broken);
  });

  test("a rollback written as a field would come too late into being to be relied on, so it is refused", async () => {
    class Sample extends Task.with() {
      work(): number {
        return 1;
      }
      override rollback = (): void => undefined;
    }

    expect(await rejectionOf(Sample.execute())).toMatchObject({
      name: "DefinitionError",
      message: "Sample: rollback is a field. Write it as a method: async rollback() { … }.",
    });
  });
});

describe("match", () => {
  const handlers = {
    success: (result: { output: unknown }) => `got ${String(result.output)}`,
    skipped: (result: { reason: string | undefined }) => `skipped: ${result.reason}`,
    failed: (result: { error: Error }) => `failed: ${result.error.message}`,
  };

  test("answers each status with its handler", async () => {
    expect(match(await taskOf(() => 7).execute(), handlers)).toBe("got 7");
    expect(match(await taskOf((task) => task.skip("closed")).execute(), handlers)).toBe("skipped: closed");
    expect(match(await taskOf((task) => task.fail("declined")).execute(), handlers)).toBe("failed: declined");
  });
});
