import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { configure, idempotentBy, MemoryStore, resetConfiguration, Task } from "taskwright";
import { z } from "zod";

afterEach(() => {
  resetConfiguration();
});

/** Values with the schema that they fit, of every kind that can be stored. */
interface Sample {
  readonly schema: z.ZodType;
  readonly value: unknown;
}

const sample = (schema: z.ZodType, values: fc.Arbitrary<unknown>): fc.Arbitrary<Sample> => values.map((value) => ({ schema, value }));
const anyNumber = fc.oneof(fc.double(), fc.constantFrom(Number.NaN, -0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY));
const date = fc.date({ noInvalidDate: true });
const isoDate = z.codec(z.iso.datetime(), z.date(), { decode: (text) => new Date(text), encode: (value) => value.toISOString() });

const { value: anySample } = fc.letrec<{ value: Sample; leaf: Sample; nested: Sample }>((tie) => ({
  value: fc.oneof({ maxDepth: 3, depthSize: "small" }, tie("leaf"), tie("nested")),
  leaf: fc.oneof(
    sample(z.string(), fc.string({ unit: "binary" })),
    sample(z.any(), anyNumber),
    sample(z.boolean(), fc.boolean()),
    sample(z.null(), fc.constant(null)),
    sample(z.undefined(), fc.constant(undefined)),
    sample(z.bigint(), fc.bigInt()),
    sample(z.date(), date),
    sample(
      z.instanceof(URL),
      fc.webUrl({ withQueryParameters: true }).map((url) => new URL(url)),
    ),
    sample(z.instanceof(Uint8Array), fc.uint8Array()),
    sample(z.instanceof(Float64Array), fc.float64Array({ noNaN: true })),
    sample(z.instanceof(BigInt64Array), fc.bigInt64Array()),
    sample(
      z.map(z.string(), z.date()),
      fc.uniqueArray(fc.tuple(fc.string(), date), { selector: ([key]) => key }).map((entries) => new Map(entries)),
    ),
    sample(
      z.set(z.bigint()),
      fc.array(fc.bigInt()).map((values) => new Set(values)),
    ),
  ),
  nested: fc.oneof(
    fc.array(tie("value"), { maxLength: 4 }).map((items) => ({
      schema: z.tuple(items.map(({ schema }) => schema) as [z.ZodType]), // of any length, which the type does not have
      value: items.map(({ value }) => value),
    })),
    fc
      .dictionary(
        fc.string().filter((key) => key !== "__proto__"),
        tie("value"),
        { maxKeys: 4, noNullPrototype: true },
      )
      .map((fields) => ({
        schema: z.object(Object.fromEntries(Object.entries(fields).map(([key, { schema }]) => [key, schema]))),
        value: Object.fromEntries(Object.entries(fields).map(([key, { value }]) => [key, value])),
      })),
  ),
}));

/** Runs a task twice with one key, and gives both outputs. */
async function twice(schema: z.ZodType, returned: unknown): Promise<readonly [first: unknown, replayed: unknown, statuses: string]> {
  resetConfiguration();
  const store = new MemoryStore();
  configure((config) => {
    config.store = store;
  });
  class Quote extends Task.with({ output: z.object({ value: schema }) }) {
    work(): { value: unknown } {
      return { value: returned };
    }
  }
  idempotentBy(() => "q1", { onDuplicate: "replay", maxOutputBytes: 10_000_000 })(Quote);
  const [first, second] = [await Quote.execute(), await Quote.execute()];
  const outputOf = (result: typeof first): unknown => (result.status === "success" ? result.output.value : result);
  return [outputOf(first), outputOf(second), `${first.status} ${second.status} ${second.status === "success" ? second.replayed : ""}`];
}

describe("whatever an output is made of", () => {
  test("its replay is the same, all the way down", async () => {
    await fc.assert(
      fc.asyncProperty(anySample ?? fc.constant({ schema: z.any(), value: 1 }), async ({ schema, value }) => {
        const [first, replayed, statuses] = await twice(schema, value);
        expect(statuses).toBe("success success true");
        expect(replayed).toStrictEqual(first);
      }),
      { numRuns: 300, seed: 20_261_130 },
    );
  });

  test("a codec's two sides are kept apart: the replay is the output side again", async () => {
    await fc.assert(
      fc.asyncProperty(fc.date({ min: new Date(0), max: new Date(4e12), noInvalidDate: true }), async (at) => {
        const [first, replayed] = await twice(isoDate, at.toISOString());
        expect(first).toStrictEqual(at);
        expect(replayed).toStrictEqual(at);
      }),
      { numRuns: 50, seed: 20_261_130 },
    );
  });
});
