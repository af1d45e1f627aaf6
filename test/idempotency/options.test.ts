import { describe, expect, test } from "vitest";
import { DefinitionError, idempotentBy, literal, Task, type IdempotencyOptions, type TaskClass } from "taskwright";
import { z } from "zod";
import { thrownBy } from "../support/builders.js";
import { inMemory } from "./world.js";

const optionNames = [
  "ttl",
  "lease",
  "maxHold",
  "namespace",
  "onDuplicate",
  "waitFor",
  "fingerprint",
  "onUnstorable",
  "maxOutputBytes",
  "onMissingKey",
  "onStoreError",
  "if",
  "unless",
];

function sampleWith(options: IdempotencyOptions) {
  class Sample extends Task.with({ input: z.object({ id: z.string() }), output: z.object({}) }) {
    work(): Record<string, never> {
      return {};
    }
  }
  idempotentBy("id", options)(Sample);
  return Sample;
}

function refusal(declare: () => unknown): string {
  const error = thrownBy(declare);
  expect(error).toBeInstanceOf(DefinitionError);
  return (error as DefinitionError).message;
}

/** Options that no compiler lets through. */
function untyped(options: Record<string, unknown>): IdempotencyOptions {
  return options;
}

inMemory((world) => {
  describe("the options", () => {
    test("have these defaults", () => {
      expect(sampleWith({}).idempotency).toEqual({
        resolver: { kind: "field", field: "id" },
        ttlMs: 300_000,
        leaseMs: 300_000,
        maxHoldMs: 3_600_000,
        namespace: "cmdx:idem",
        onDuplicate: { processing: "skip", completed: "skip" },
        waitForMs: 30_000,
        fingerprint: false,
        onUnstorable: "forget",
        maxOutputBytes: 65_536,
        onMissingKey: "run",
        onStoreError: "fail",
        if: undefined,
        unless: undefined,
      });
    });

    test.each<[IdempotencyOptions, object]>([
      [{ ttl: 600 }, { ttlMs: 600_000, leaseMs: 300_000, maxHoldMs: 3_600_000 }],
      [{ ttl: 60 }, { ttlMs: 60_000, leaseMs: 60_000, maxHoldMs: 3_600_000 }],
      [{ ttl: "24h" }, { ttlMs: 86_400_000, leaseMs: 300_000, maxHoldMs: 86_400_000 }],
      [{ ttl: "250ms" }, { ttlMs: 250, leaseMs: 250 }],
      [
        { ttl: "5m", lease: "30s" },
        { ttlMs: 300_000, leaseMs: 30_000 },
      ],
      [{ ttl: 0.2 }, { ttlMs: 200, leaseMs: 200 }],
      [
        { ttl: "7d", lease: 60, maxHold: "1h" },
        { ttlMs: 604_800_000, leaseMs: 60_000, maxHoldMs: 3_600_000 },
      ],
      [{ waitFor: "2s" }, { waitForMs: 2_000 }],
      [{ onDuplicate: "fail" }, { onDuplicate: { processing: "fail", completed: "fail" } }],
      [{ onDuplicate: "replay" }, { onDuplicate: { processing: "wait", completed: "replay" } }],
      [{ onDuplicate: { processing: "wait" } }, { onDuplicate: { processing: "wait", completed: "skip" } }],
      [{ onDuplicate: { completed: "fail" } }, { onDuplicate: { processing: "skip", completed: "fail" } }],
      [{ namespace: "billing" }, { namespace: "billing" }],
    ])("%j mean %j", (options, effective) => {
      expect(sampleWith(options).idempotency).toMatchObject(effective);
    });

    test("are frozen all the way down, so that nobody changes those of another class", () => {
      const { idempotency } = sampleWith({});

      expect(Object.isFrozen(idempotency)).toBe(true);
      expect(Object.isFrozen(idempotency?.onDuplicate)).toBe(true);
      expect(Object.isFrozen(idempotency?.resolver)).toBe(true);
    });

    test("that are given as undefined count as not given, gates included", async () => {
      class Parent extends Task.with({ input: z.object({ id: z.string() }) }) {
        work(): void {}
      }
      idempotentBy("id", { if: () => false, ttl: 60 })(Parent);
      class Child extends Parent {}
      idempotentBy({ if: undefined, ...untyped({ ttl: undefined }) })(Child);

      await Child.execute({ id: "1" });

      expect(Child.idempotency).toMatchObject({ ttlMs: 60_000 });
      expect(world.store.calls).toEqual([]);
    });

    test("reach the key and the store", async () => {
      await sampleWith({ namespace: "billing:charges", ttl: 60 }).execute({ id: "7" });

      expect(world.store.calls.map(({ key, options }) => ({ key, options }))).toEqual([
        { key: "billing:charges:Sample:7", options: { ttlMs: 60_000, nx: true, owner: expect.any(String) } },
        { key: "billing:charges:Sample:7", options: { ttlMs: 60_000, xx: true, owner: expect.any(String) } },
      ]);
    });
  });

  describe("a wrong option is refused when it is declared", () => {
    const times = ["ttl", "lease", "maxHold", "waitFor"];
    const notTimes = [0, -1, Number.NaN, Number.POSITIVE_INFINITY, "0s", "300", "5 minutes", "-5s", null, true, {}, 1e16];
    test.each(times.flatMap((name) => notTimes.map((value) => [name, value])))("%s: %s", (name, value) => {
      const message = refusal(() => idempotentBy("id", untyped({ [String(name)]: value })));

      expect(message).toContain(`@idempotentBy(): ${String(name)} must be a time greater than zero, got `);
      expect(message).toContain('"250ms", "30s", "5m", "24h"');
    });

    test.each<[string, unknown, string]>([
      ["onDuplicate", "ignore", '@idempotentBy(): onDuplicate must be one of "skip", "fail", "replay", got "ignore".'],
      ["onDuplicate", "wait", '@idempotentBy(): onDuplicate must be one of "skip", "fail", "replay", got "wait".'],
      ["onUnstorable", "drop", '@idempotentBy(): onUnstorable must be one of "forget", "fail", got "drop".'],
      ["onMissingKey", "skip", '@idempotentBy(): onMissingKey must be one of "run", "fail", got "skip".'],
      ["onStoreError", "skip", '@idempotentBy(): onStoreError must be one of "fail", "run", got "skip".'],
      ["maxOutputBytes", 0, "@idempotentBy(): maxOutputBytes must be a whole number of 1 or more, got 0."],
      ["maxOutputBytes", "64", '@idempotentBy(): maxOutputBytes must be a whole number of 1 or more, got "64".'],
      ["namespace", "", '@idempotentBy(): namespace must be a text that is not blank, got "".'],
      ["namespace", " ", '@idempotentBy(): namespace must be a text that is not blank, got " ".'],
      ["namespace", 7, "@idempotentBy(): namespace must be a text that is not blank, got 7."],
      ["fingerprint", "sha1", '@idempotentBy(): fingerprint must be a function, got "sha1".'],
      ["if", "always", '@idempotentBy(): if must be a function, got "always".'],
      ["unless", 0, "@idempotentBy(): unless must be a function, got 0."],
    ])("%s: %j, with the values that are allowed", (name, value, message) => {
      expect(refusal(() => idempotentBy("id", untyped({ [name]: value })))).toBe(message);
      expect(refusal(() => idempotentBy(untyped({ [name]: value })))).toBe(message);
    });

    test.each<[object, string]>([
      [{ processing: "replay" }, '@idempotentBy(): onDuplicate.processing must be one of "skip", "fail", "wait", got "replay".'],
      [{ completed: "wait" }, '@idempotentBy(): onDuplicate.completed must be one of "skip", "fail", "replay", got "wait".'],
      [
        { running: "skip" },
        '@idempotentBy(): onDuplicate has no option "running". Allowed: "processing", "completed". Check the spelling.',
      ],
    ])("onDuplicate: %j", (rules, message) => {
      expect(refusal(() => idempotentBy("id", untyped({ onDuplicate: rules })))).toBe(message);
    });

    test.each([null, 5, true, []])("onDuplicate: %j", (rules) => {
      const message = refusal(() => idempotentBy("id", untyped({ onDuplicate: rules })));

      expect(message).toContain("@idempotentBy(): onDuplicate");
      expect(message).toContain("got ");
    });

    test("an option that does not exist, with those that do", () => {
      const message = refusal(() => idempotentBy("id", untyped({ ttll: 5 })));

      expect(message).toContain('@idempotentBy() has no option "ttll".');
      for (const name of optionNames) expect(message).toContain(JSON.stringify(name));
    });

    test.each([[undefined], [null], [true], [5], [""], [[]], [["id", ""]], [["id", 5]], [Symbol("id")], [new Date(0)]])(
      "a resolver that is none: %s",
      (resolver) => {
        const declare = idempotentBy as (resolver: unknown) => unknown;

        expect(refusal(() => declare(resolver))).toContain("@idempotentBy() takes the name of an input field");
      },
    );

    test("options in the place of the resolver together with options behind it", () => {
      const declare = idempotentBy as (resolver: unknown, options: unknown) => unknown;

      expect(refusal(() => declare({ ttl: 5 }, { namespace: "billing" }))).toContain("@idempotentBy()");
      expect(refusal(() => declare(false, { ttl: 5 }))).toContain("@idempotentBy()");
    });

    test.each(["", "  "])("a literal that is blank: %j", (text) => {
      expect(refusal(() => literal(text))).toContain("literal() takes a text that is not blank");
      expect(refusal(() => idempotentBy({ literal: text }))).toContain("not blank");
    });

    test("a lease that is longer than the ttl beside it", () => {
      expect(refusal(() => idempotentBy("id", { ttl: 10, lease: 20 }))).toContain("lease (20000 ms) is longer than ttl (10000 ms)");
    });

    test("a maxHold that is shorter than the lease beside it", () => {
      expect(refusal(() => idempotentBy("id", { ttl: 60, lease: 20, maxHold: 10 }))).toContain(
        "maxHold (10000 ms) is shorter than lease (20000 ms)",
      );
    });
  });

  describe("options that do not go together with the class are refused at its first run", () => {
    test("a lease that came from the parent and is longer than the child's ttl", async () => {
      class Parent extends Task.with({ input: z.object({ id: z.string() }) }) {
        work(): void {}
      }
      idempotentBy("id", { ttl: 60, lease: 30 })(Parent);
      class Child extends Parent {}
      idempotentBy({ ttl: 20 })(Child);

      await expect(Child.execute({ id: "1" })).rejects.toThrow("lease (30000 ms) is longer than ttl (20000 ms)");
      expect(await Parent.execute({ id: "1" })).toHaveProperty("status", "success");
    });

    test("replay without an output schema", async () => {
      class Sample extends Task.with({ input: z.object({ id: z.string() }) }) {
        work(): void {}
      }
      idempotentBy("id", { onDuplicate: "replay" })(Sample);

      await expect(Sample.execute({ id: "1" })).rejects.toThrow('Sample: onDuplicate "replay" needs an output schema');
    });

    test("options without a resolver anywhere", async () => {
      class Sample extends Task.with({ input: z.object({ id: z.string() }) }) {
        work(): void {}
      }
      idempotentBy({ ttl: 5 })(Sample);

      await expect(Sample.execute({ id: "1" })).rejects.toThrow("has options but no resolver");
    });
  });

  describe("the decorator", () => {
    test("is a plain function for those without decorators", async () => {
      class Sample extends Task.with({ input: z.object({ id: z.string() }) }) {
        work(): void {}
      }
      expect(idempotentBy("id")(Sample)).toBeUndefined();

      await Sample.execute({ id: "1" });
      expect(await Sample.execute({ id: "1" })).toHaveProperty("status", "skipped");
    });

    test("stands above the class in this project's protocol", async () => {
      @idempotentBy("id", { ttl: 60 })
      class Sample extends Task.with({ input: z.object({ id: z.string() }) }) {
        work(): void {}
      }

      await Sample.execute({ id: "1" });
      expect(await Sample.execute({ id: "1" })).toHaveProperty("status", "skipped");
      expect(Sample.idempotency).toMatchObject({ ttlMs: 60_000 });
    });

    test.each<[string, unknown]>([
      ["a function", () => undefined],
      ["a class that is no task", class Plain {}],
      ["an object", {}],
      ["nothing", undefined],
    ])("is refused on %s", (_name, target) => {
      expect(refusal(() => (idempotentBy(literal("k")) as (target: TaskClass) => void)(target as TaskClass))).toContain(
        "@idempotentBy() stands on a task class",
      );
    });

    test("shows in the schema of the task what holds, as plain data", () => {
      const { policies } = sampleWith({ ttl: 60, fingerprint: true }).schema;

      expect(policies["idempotency"]).toMatchObject({ key: "id", ttlMs: 60_000, fingerprint: true });
      expect(JSON.parse(JSON.stringify(policies))).toEqual(policies);
    });
  });
});
