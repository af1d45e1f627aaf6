import fc from "fast-check";
import { expect, test } from "vitest";
import { idempotentBy, literal, lockWith, retryOn, Task, timeout, type IdempotencyOptions } from "taskwright";

/** One thing that is declared on a class, and what a simple model makes of the same. */
interface Step {
  readonly ttl?: number;
  readonly namespace?: string;
  readonly key?: string;
  readonly off?: boolean;
}
interface Model {
  readonly off: boolean;
  readonly ttlMs: number;
  readonly namespace: string;
  readonly key: string | undefined;
}

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ off: fc.constant(true) }),
  fc.record(
    { ttl: fc.integer({ min: 1, max: 9_999 }), namespace: fc.constantFrom("a", "b", "c"), key: fc.constantFrom("k1", "k2") },
    { requiredKeys: [] },
  ),
);
/** Classes that extend each other, the root first, each with what is declared on it; and where a class is looked at before the next. */
const hierarchy = fc.array(fc.array(step, { maxLength: 3 }), { minLength: 1, maxLength: 6 });

function declare(type: ReturnType<typeof rootTask>, { ttl, namespace, key, off }: Step): void {
  const options: IdempotencyOptions = { ...(ttl !== undefined && { ttl }), ...(namespace !== undefined && { namespace }) };
  if (off === true) idempotentBy(false)(type);
  else if (key !== undefined) idempotentBy(literal(key), options)(type);
  else idempotentBy(options)(type);
}

function modelled(model: Model, { ttl, namespace, key, off }: Step): Model {
  if (off === true) return { ...model, off: true };
  return {
    off: model.off && key === undefined,
    ttlMs: ttl === undefined ? model.ttlMs : ttl * 1_000,
    namespace: namespace ?? model.namespace,
    key: key ?? model.key,
  };
}

function rootTask() {
  return class Root extends Task.with() {
    work(): void {}
  };
}

/** What the class shows, in the model's words. */
function shown(type: ReturnType<typeof rootTask>): Omit<Model, "off"> | undefined {
  const effective = type.idempotency;
  if (effective === undefined) return undefined;
  const { ttlMs, namespace, resolver } = effective;
  return { ttlMs, namespace, key: resolver?.kind === "literal" ? resolver.text : undefined };
}

test("options merge along any line of classes, and a parent is what it was", () => {
  fc.assert(
    fc.property(hierarchy, (levels) => {
      let type = rootTask();
      let model: Model | undefined;
      const before: (readonly [ReturnType<typeof rootTask>, Omit<Model, "off"> | undefined])[] = [];
      for (const steps of levels) {
        for (const declared of steps) {
          declare(type, declared);
          model = modelled(model ?? { off: false, ttlMs: 300_000, namespace: "cmdx:idem", key: undefined }, declared);
        }
        const { off = true, ...rest } = model ?? {};
        expect(shown(type)).toEqual(off ? undefined : { key: undefined, ...rest });
        before.push([type, shown(type)]);
        type = class Child extends type {};
      }
      for (const [known, effective] of before) expect(shown(known)).toEqual(effective);
    }),
    { numRuns: 500, seed: 20_261_130 },
  );
});

test("what is declared late on a parent is seen by its children, as if it had been there all along", () => {
  fc.assert(
    fc.property(hierarchy, fc.array(step, { minLength: 1, maxLength: 3 }), (levels, late) => {
      const [early, lateRoot] = [rootTask(), rootTask()];
      let [a, b] = [early, lateRoot];
      for (const declared of late) declare(a, declared);
      for (const steps of levels) {
        a = class Child extends a {};
        b = class Child extends b {};
        for (const declared of steps) {
          declare(a, declared);
          declare(b, declared);
        }
      }
      for (const declared of late) declare(lateRoot, declared);
      expect(shown(b)).toEqual(shown(a));
    }),
    { numRuns: 300, seed: 20_261_130 },
  );
});

test("policies do not see each other's options", () => {
  fc.assert(
    fc.property(fc.shuffledSubarray([0, 1, 2, 3], { minLength: 1 }), (order) => {
      const Alone = rootTask();
      const Together = rootTask();
      const decorators = [
        idempotentBy(literal("k"), { ttl: 7 }),
        lockWith(literal("l"), { ttl: 9 }),
        retryOn(Error, { limit: 2 }),
        timeout(3),
      ];
      for (const decorate of decorators) decorate(Together);
      for (const at of order) decorators[at]?.(Alone);
      const policies = Object.entries(Alone.schema.policies);
      expect(policies).toHaveLength(order.length);
      for (const [name, policy] of policies) expect(Together.schema.policies).toHaveProperty(name, policy);
    }),
    { numRuns: 64, seed: 20_261_130 },
  );
});
