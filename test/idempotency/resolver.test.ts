import { describe, expect, test } from "vitest";
import { DefinitionError, idempotentBy, keyFor, literal, Task, type Segment, type TaskClass } from "taskwright";
import { z } from "zod";
import { ofName, recordEvents } from "../support/builders.js";
import { inMemory, type World } from "./world.js";

const INPUT = { tenantId: "acme", requestId: "r1" };

/** A class named Sample, new each time, with what the body puts on it. */
function sample(decorate: (type: ReturnType<typeof plainSample>) => void) {
  const Sample = plainSample();
  decorate(Sample);
  return Sample;
}

function plainSample() {
  return class Sample extends Task.with({
    input: z.object({ tenantId: z.string(), requestId: z.string(), count: z.coerce.number().default(1) }),
  }) {
    static works = 0;
    prefix = "from-the-task";

    work(): void {
      Sample.works += 1;
    }
  };
}

/** A resolver that gives this value. */
function giving(value: unknown) {
  return sample(idempotentBy(() => value as Segment)); // also what no compiler lets through
}

/** The key under which the store was asked; undefined when it was not. */
function askedFor(world: World): string | undefined {
  return world.store.calls[0]?.key;
}

inMemory((world) => {
  describe("the segment of the key comes from", () => {
    const forms: [form: string, make: () => ReturnType<typeof plainSample>, key: string][] = [
      ["a field of the parsed input", () => sample(idempotentBy("requestId")), "cmdx:idem:Sample:r1"],
      ["several fields, as parts", () => sample(idempotentBy(["tenantId", "requestId"])), "cmdx:idem:Sample:acme:r1"],
      ["one field in an array", () => sample(idempotentBy(["requestId"])), "cmdx:idem:Sample:r1"],
      ["a field that a coercion or a default has filled", () => sample(idempotentBy("count")), "cmdx:idem:Sample:1"],
      ["a text that is taken as it stands", () => sample(idempotentBy(literal("nightly-report"))), "cmdx:idem:Sample:nightly-report"],
      ["a text that has colons and percent signs of its own", () => sample(idempotentBy(literal("50%:a"))), "cmdx:idem:Sample:50%:a"],
      ["an arrow function without arguments", () => giving("fixed"), "cmdx:idem:Sample:fixed"],
      [
        "an arrow function of the task",
        () => sample((type) => idempotentBy((task: InstanceType<typeof type>) => `${task.input.tenantId}-${task.input.requestId}`)(type)),
        "cmdx:idem:Sample:acme-r1",
      ],
      [
        "a function with the task as this, without arguments",
        () =>
          sample((type) =>
            idempotentBy(function key(this: InstanceType<typeof type>) {
              return this.prefix;
            })(type),
          ),
        "cmdx:idem:Sample:from-the-task",
      ],
      [
        "a function with the task as this and as argument",
        () =>
          sample((type) =>
            idempotentBy(function key(this: InstanceType<typeof type>, task: InstanceType<typeof type>) {
              return String(this === task);
            })(type),
          ),
        "cmdx:idem:Sample:true",
      ],
      ["an async function", () => sample(idempotentBy(async () => Promise.resolve("later"))), "cmdx:idem:Sample:later"],
      ["a function that gives parts", () => giving(["a", 7, 9n]), "cmdx:idem:Sample:a:7:9"],
      ["an async function that gives parts", () => giving(Promise.resolve(["a", "b"])), "cmdx:idem:Sample:a:b"],
      ["a number", () => giving(42), "cmdx:idem:Sample:42"],
      ["zero", () => giving(0), "cmdx:idem:Sample:0"],
      ["a bigint", () => giving(2n ** 64n), "cmdx:idem:Sample:18446744073709551616"],
      ["an object with call, without arguments", () => sample(idempotentBy({ call: () => "called" })), "cmdx:idem:Sample:called"],
      [
        "an object with call, of the task",
        () => sample((type) => idempotentBy({ call: (task: InstanceType<typeof type>) => task.input.requestId })(type)),
        "cmdx:idem:Sample:r1",
      ],
      ["an instance of a class with call", () => sample(idempotentBy(new RequestKey("by-"))), "cmdx:idem:Sample:by-r1"],
      [
        "a thenable that is no native promise",
        () => giving({ then: (resolve: (value: string) => void) => resolve("soon") }),
        "cmdx:idem:Sample:soon",
      ],
      ["a text with spaces around, as it stands", () => giving(" r1 "), "cmdx:idem:Sample: r1 "],
    ];

    test.each(forms)("%s", async (_form, make, key) => {
      const Sample = make();

      const result = await Sample.execute(INPUT);

      expect(result.status).toBe("success");
      expect(askedFor(world)).toBe(key);
    });

    test.each(forms)("%s: keyFor gives the same key, and touches neither store nor work", async (_form, make, key) => {
      const Sample = make();

      expect(await keyFor(Sample, INPUT)).toBe(key);
      expect(world.store.calls).toEqual([]);
      expect(Reflect.get(Sample, "works")).toBe(0);
    });
  });

  describe("several parts", () => {
    test.each<[Segment, string]>([
      [["a:b", "c"], "a%3Ab:c"],
      [["a", "b:c"], "a:b%3Ac"],
      [["a%3Ab", "c"], "a%253Ab:c"],
      [["a:b"], "a%3Ab"],
      [["a", "b", "c"], "a:b:c"],
    ])("%j become %s, which no other parts give", async (parts, segment) => {
      await giving(parts).execute(INPUT);

      expect(askedFor(world)).toBe(`cmdx:idem:Sample:${segment}`);
    });
  });

  describe("a blank segment", () => {
    test.each<[string, unknown]>([
      ["null", null],
      ["undefined", undefined],
      ["an empty text", ""],
      ["spaces", "  \t\n"],
      ["an empty array", []],
      ["an array with null", ["a", null]],
      ["an array with undefined", [undefined, "b"]],
      ["an array with an empty text", ["a", ""]],
      ["an array with spaces", ["a", " "]],
      ["a promise of null", Promise.resolve(null)],
    ])("(%s) steps aside: work runs each time, and the store is not touched", async (_name, value) => {
      const events = recordEvents();
      const Sample = giving(value);

      await Sample.execute(INPUT);
      const result = await Sample.execute(INPUT);

      expect(result.status).toBe("success");
      expect(Sample.works).toBe(2);
      expect(world.store.calls).toEqual([]);
      expect(events.filter(({ name }) => name.startsWith("idempotency_")).map(({ name, payload }) => [name, payload])).toEqual([
        ["idempotency_bypassed", { why: "missing_key" }],
        ["idempotency_bypassed", { why: "missing_key" }],
      ]);
    });

    test("has no key for keyFor either", async () => {
      expect(await keyFor(giving(null), INPUT)).toBeUndefined();
    });

    test("is refused where onMissingKey is fail, without a call of the store and without an event", async () => {
      const events = recordEvents();
      const Sample = sample(idempotentBy(() => undefined, { onMissingKey: "fail" }));

      const result = await Sample.execute(INPUT);

      expect(result).toMatchObject({ status: "failed", retryable: false, rolledBack: false, metadata: { code: "missing_key" } });
      expect(Sample.works).toBe(0);
      expect(world.store.calls).toEqual([]);
      expect(events.filter(({ name }) => name.startsWith("idempotency_"))).toEqual([]);
    });
  });

  describe("a value that cannot tell one request from another", () => {
    test.each<[string, unknown, string]>([
      ["an object", { id: 1 }, "an object"],
      ["a date", new Date(0), "an object"],
      ["NaN", Number.NaN, "NaN"],
      ["Infinity", Number.POSITIVE_INFINITY, "Infinity"],
      ["a symbol", Symbol("key"), "Symbol(key)"],
      ["a boolean", true, "true"],
      ["a function", () => "x", "a function"],
      ["half a surrogate pair", "a\uD800", "surrogate"],
      ["an object as a part", ["a", {}], "an object"],
      ["an array as a part", ["a", ["b"]], "an array"],
      ["NaN as a part", ["a", Number.NaN], "NaN"],
      ["half a surrogate pair as a part", ["a", "\uDC00"], "surrogate"],
    ])("(%s) fails the run before the store is asked", async (_name, value, told) => {
      const Sample = giving(value);

      const result = await Sample.execute(INPUT);

      expect(result).toMatchObject({ status: "failed", error: expect.any(DefinitionError), rolledBack: false, retryable: false });
      expect(result.reason).toContain(told);
      expect(Sample.works).toBe(0);
      expect(world.store.calls).toEqual([]);
    });
  });

  describe("a resolver", () => {
    test("that throws fails the run with its error, and nothing is claimed", async () => {
      const error = new Error("no key today");
      const Sample = sample(
        idempotentBy(() => {
          throw error;
        }),
      );

      const result = await Sample.execute(INPUT);

      expect(result).toHaveProperty("error", error);
      expect(Sample.works).toBe(0);
      expect(world.store.calls).toEqual([]);
    });

    test("that rejects fails the run with its error", async () => {
      const error = new Error("no key today");
      const Sample = sample(idempotentBy(() => Promise.reject(error)));

      expect(await Sample.execute(INPUT)).toHaveProperty("error", error);
    });

    test("that halts decides the run, and nothing is claimed", async () => {
      const Sample = sample(idempotentBy((task: Task) => task.skip("not today")));

      const result = await Sample.execute(INPUT);

      expect(result).toMatchObject({ status: "skipped", reason: "not today" });
      expect(Sample.works).toBe(0);
      expect(world.store.calls).toEqual([]);
    });

    test("that halts and swallows it decides the run all the same: work does not run", async () => {
      const Sample = sample(
        idempotentBy((task: Task) => {
          try {
            return task.skip("not today");
          } catch {
            return "r1";
          }
        }),
      );

      const result = await Sample.execute(INPUT);

      expect(result).toMatchObject({ status: "skipped", reason: "not today" });
      expect(Sample.works).toBe(0);
    });

    test("is asked once, for all attempts and whatever changes meanwhile", async () => {
      let asked = 0;
      const Sample = sample(
        idempotentBy(() => {
          asked += 1;
          return `k${asked}`;
        }),
      );

      await Sample.execute(INPUT);

      expect(asked).toBe(1);
      expect(world.store.calls.map(({ key }) => key)).toEqual(["cmdx:idem:Sample:k1", "cmdx:idem:Sample:k1"]);
    });

    test("reads the array of fields as it was when it was declared", async () => {
      const fields: ("tenantId" | "requestId")[] = ["tenantId"];
      const Sample = sample(idempotentBy(fields));
      fields.push("requestId");

      await Sample.execute(INPUT);

      expect(askedFor(world)).toBe("cmdx:idem:Sample:acme");
    });
  });

  describe("the key that the caller brings", () => {
    test("takes the place of the segment", async () => {
      const Sample = sample(idempotentBy("requestId"));

      await Sample.execute(INPUT, { idempotencyKey: "from-the-header" });

      expect(askedFor(world)).toBe("cmdx:idem:Sample:from-the-header");
      expect(await keyFor(Sample, INPUT, { idempotencyKey: "from-the-header" })).toBe("cmdx:idem:Sample:from-the-header");
    });

    test("takes the place of a resolver that would throw or give nothing", async () => {
      const Sample = sample(
        idempotentBy(() => {
          throw new Error("no key today");
        }),
      );

      expect(await Sample.execute(INPUT, { idempotencyKey: "k" })).toHaveProperty("status", "success");
    });

    test("is blank like any other", async () => {
      const events = recordEvents("idempotency_bypassed");
      const Sample = sample(idempotentBy("requestId"));

      await Sample.execute(INPUT, { idempotencyKey: " " });

      expect(ofName(events, "idempotency_bypassed").map(({ payload }) => payload)).toEqual([{ why: "missing_key" }]);
      expect(world.store.calls).toEqual([]);
    });

    test("does not open a gate", async () => {
      const Sample = sample(idempotentBy("requestId", { if: () => false }));

      await Sample.execute(INPUT, { idempotencyKey: "k" });

      expect(world.store.calls).toEqual([]);
    });

    test("must be a text", async () => {
      const Sample = sample(idempotentBy("requestId"));

      await expect(Sample.execute(INPUT, { idempotencyKey: 5 as unknown as string })).rejects.toThrow(
        "Sample.execute(): idempotencyKey must be a text, got 5.",
      );
    });
  });

  describe("a field that the input does not have", () => {
    test.each([
      ["by itself", "reqestId" as "requestId"],
      ["among others", ["tenantId", "reqestId"] as unknown as ["tenantId"]],
    ])("is refused at the first run, %s, with the fields that there are and the cure", async (_name, fields) => {
      const Sample = sample(idempotentBy(fields));

      await expect(Sample.execute(INPUT)).rejects.toThrow(
        'Sample: @idempotentBy() names the field "reqestId", which its input does not have. ' +
          'Fields: tenantId, requestId, count. For a fixed key write literal("reqestId").',
      );
      expect(Sample.works).toBe(0);
    });

    test("does not compile", () => {
      // @ts-expect-error the input has no such field
      const wrong = (): void => idempotentBy("reqestId")(plainSample());
      // @ts-expect-error one of the fields is not there
      const oneWrong = (): void => idempotentBy(["tenantId", "reqestId"])(plainSample());

      expect([wrong, oneWrong]).toHaveLength(2);
    });

    test("is refused also where the task takes no input at all", async () => {
      class Nightly extends Task.with() {
        work(): void {}
      }
      (idempotentBy("date") as unknown as (type: TaskClass) => void)(Nightly);

      await expect(Nightly.execute()).rejects.toThrow(DefinitionError);
    });

    test("is read also where the parsed input is an instance of a class that computes it", async () => {
      class Payment {
        readonly #id: string;

        constructor(id: string) {
          this.#id = id;
        }

        get paymentId(): string {
          return this.#id;
        }
      }
      class Charge extends Task.with({ input: z.object({ id: z.string() }).transform(({ id }) => new Payment(id)) }) {
        work(): void {}
      }
      idempotentBy("paymentId")(Charge);

      await Charge.execute({ id: "p1" });

      expect(askedFor(world)).toBe("cmdx:idem:Charge:p1");
    });

    test("is not taken from what every object inherits", async () => {
      class Loose extends Task.with({ input: z.looseObject({ id: z.string().optional() }) }) {
        work(): void {}
      }
      (idempotentBy("toString") as unknown as (type: TaskClass) => void)(Loose);

      await Promise.allSettled([Loose.execute({})]);

      expect(world.store.calls).toEqual([]);
    });
  });

  describe("keyFor", () => {
    test("rejects with what is wrong with the input", async () => {
      const Sample = sample(idempotentBy("requestId"));

      await expect(keyFor(Sample, { ...INPUT, count: "many" })).rejects.toMatchObject({ code: "invalid_input" });
    });

    test("rejects for a task that is not idempotent", async () => {
      await expect(keyFor(plainSample(), INPUT)).rejects.toThrow("Sample is not idempotent");
    });

    test("gives none where a gate is closed", async () => {
      expect(await keyFor(sample(idempotentBy("requestId", { unless: () => true })), INPUT)).toBeUndefined();
    });

    test("inside a run leaves the chain as it is: index and context", async () => {
      const Sample = sample(idempotentBy("requestId"));
      const Inner = class Inner extends Task.with() {
        work(): void {}
      };
      class Outer extends Task.with() {
        async work(): Promise<number> {
          await keyFor(Sample, INPUT, { context: { left: "behind" } });
          return (await Inner.execute()).index;
        }
      }

      const result = await Outer.execute();

      expect(result).toMatchObject({ status: "success", output: 1, context: {} });
    });
  });
});

class RequestKey {
  readonly #prefix: string;

  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  call(task: Task & { readonly input: { readonly requestId: string } }): string {
    return this.#prefix + task.input.requestId;
  }
}
