import { describe, expect, test } from "vitest";
import { rateLimit, resetConfiguration, Task, type RateLimitOptions } from "taskwright";
import { z } from "zod";
import { mistakeIn, recordEvents, rejectionOf, thrownBy } from "../support/builders.js";
import { inMemory } from "../idempotency/world.js";

const input = z.object({ tenant: z.string().default("t") });

/** A class with a limit, and one below it. */
function family(options: RateLimitOptions = { limit: 1, per: 60 }) {
  class Charge extends Task.with({ input }) {
    work(): void {}
  }
  rateLimit(options)(Charge);
  class Refund extends Charge {}
  return { Charge, Refund };
}

inMemory((world) => {
  const counted = (): string[] => world.store.calls.map(({ key }) => key);

  describe("on a subclass", () => {
    test("the limit is inherited, and the counts are its own", async () => {
      const { Charge, Refund } = family();

      await Charge.execute({});

      expect(await Refund.execute({})).toMatchObject({ status: "success" });
      expect(counted()).toEqual(["cmdx:rate:Charge:*", "cmdx:rate:Refund:*"]);
    });

    test("options replace those that they name, and the parent keeps its own", () => {
      const { Charge, Refund } = family({ limit: 5, per: "1m", onStoreError: "run" });
      rateLimit({ limit: 2, by: "tenant" })(Refund);

      const common = { namespace: "cmdx:rate", onMissingKey: "run", onStoreError: "run", perMs: 60_000 };
      expect(Charge.schema.policies).toEqual({ rateLimit: { ...common, limit: 5, by: null } });
      expect(Refund.schema.policies).toEqual({ rateLimit: { ...common, limit: 2, by: "tenant" } });
    });

    test("false turns it off, and options turn it on again as it was", async () => {
      const { Charge, Refund } = family();
      rateLimit(false)(Refund);
      class Later extends Refund {}
      rateLimit({})(Later);

      for (let at = 0; at < 3; at += 1) expect(await Refund.execute({})).toMatchObject({ status: "success" });

      expect(counted()).toEqual([]);
      expect(Refund.schema.policies).toEqual({});
      expect(Later.schema.policies).toEqual(Charge.schema.policies);
    });

    test("null clears an inherited key, scope and gate", async () => {
      const { Charge, Refund } = family({ limit: 1, per: 60, by: () => "a", scope: "bank", if: () => false });
      rateLimit({ by: null, scope: null, if: null })(Refund);

      await Charge.execute({});
      await Refund.execute({});

      expect(counted()).toEqual(["cmdx:rate:Refund:*"]);
    });

    test("an inherited scope shares the counts with the parent", async () => {
      const { Charge, Refund } = family({ limit: 1, per: 60, scope: "bank" });

      await Charge.execute({});

      expect(await Refund.execute({})).toMatchObject({ metadata: { rateLimitKey: "cmdx:rate:bank:*" } });
    });

    test("limit and per may come from different classes of the line", async () => {
      const { Charge, Refund } = family({ per: 60 });
      rateLimit({ limit: 1 })(Refund);

      expect(await Refund.execute({})).toMatchObject({ status: "success" });
      expect(mistakeIn(await rejectionOf(Charge.execute({})))).toBe(
        'Charge: @rateLimit() needs limit, here or on a parent: @rateLimit({ limit: 100, per: "1m" }).',
      );
    });
  });

  describe("gates", () => {
    test("let runs pass uncounted", async () => {
      const events = recordEvents("rate_limit_bypassed");
      const { Charge } = family({ limit: 1, per: 60, unless: () => true });

      for (let at = 0; at < 3; at += 1) expect(await Charge.execute({})).toMatchObject({ status: "success" });

      expect(counted()).toEqual([]);
      expect(events.map(({ payload }) => payload)).toEqual([{ why: "gate" }, { why: "gate" }, { why: "gate" }]);
    });

    test("that throw fail the run, with nothing counted", async () => {
      const { Charge } = family({
        limit: 1,
        per: 60,
        if: () => {
          throw new Error("gate broken");
        },
      });

      expect(await Charge.execute({})).toMatchObject({ status: "failed", reason: "gate broken" });
      expect(counted()).toEqual([]);
    });
  });

  describe("two classes", () => {
    const named = (options: RateLimitOptions, name: string) => {
      class Named extends Task.with({ name }) {
        work(): void {}
      }
      rateLimit(options)(Named);
      return Named;
    };

    test("of one name are refused, since each would use up the other's runs", async () => {
      const [first, second] = [named({ limit: 1, per: 60 }, "Charge"), named({ limit: 1, per: 60 }, "Charge")];

      await first.execute();

      expect(mistakeIn(await rejectionOf(second.execute()))).toContain(
        "Two tasks with @rateLimit() count their runs under cmdx:rate:Charge:…, so each would use up the other's.",
      );
      resetConfiguration();
      expect(await second.execute()).toMatchObject({ status: "success" });
    });

    test("of one name are told apart by their namespaces", async () => {
      const [first, second] = [named({ limit: 1, per: 60 }, "Charge"), named({ limit: 1, per: 60, namespace: "other" }, "Charge")];

      await first.execute();

      expect(await second.execute()).toMatchObject({ status: "success" });
    });

    test("of one scope need windows of one length: the mistake names both", async () => {
      const [charge, refund] = [
        named({ limit: 1, per: 60, scope: "bank" }, "Charge"),
        named({ limit: 1, per: 61, scope: "bank" }, "Refund"),
      ];

      await charge.execute();

      expect(mistakeIn(await rejectionOf(refund.execute()))).toBe(
        "Refund and Charge share the counts cmdx:rate:bank:…, and their windows differ: per is 61000 ms and 60000 ms. Give both the same per, or another scope.",
      );
    });

    test("may take each other's place once the first has changed", async () => {
      const [charge, refund] = [
        named({ limit: 1, per: 60, scope: "bank" }, "Charge"),
        named({ limit: 1, per: 61, scope: "bank" }, "Refund"),
      ];
      await charge.execute();

      rateLimit({ per: 61 })(charge);

      expect(await refund.execute()).toMatchObject({ metadata: { code: "rate_limited" } });
    });
  });

  describe("a task without a name that lasts", () => {
    test("is refused, unless it has a scope", async () => {
      const nameless = (options: RateLimitOptions) => {
        const type = (() =>
          class extends Task.with() {
            work(): void {}
          })();
        rateLimit(options)(type);
        return type;
      };

      expect(mistakeIn(await rejectionOf(nameless({ limit: 1, per: 60 }).execute()))).toContain("a class without a name");
      expect(await nameless({ limit: 1, per: 60, scope: "reports" }).execute()).toMatchObject({ status: "success" });
    });
  });
});

describe("as a decorator", () => {
  test("stands above a class, in either protocol", async () => {
    @rateLimit({ limit: 1, per: "1s", by: "tenant" })
    class Charge extends Task.with({ input }) {
      work(): void {}
    }
    @rateLimit(false)
    class Free extends Charge {}

    expect(Charge.schema.policies).toMatchObject({ rateLimit: { limit: 1, perMs: 1_000, by: "tenant" } });
    expect(Free.schema.policies).toEqual({});
  });

  test("is refused on anything but a task class", () => {
    expect(mistakeIn(thrownBy(() => rateLimit({ limit: 1, per: 1 })(class {} as never)))).toContain("@rateLimit() stands on a task class");
  });

  test("refuses a misspelt field when the class is first used", async () => {
    const { Charge } = family();
    rateLimit({ by: "tenent" })(Charge as never);

    expect(mistakeIn(await rejectionOf(Charge.execute({})))).toContain(
      '@rateLimit() names the field "tenent", which its input does not have',
    );
  });

  test.each<[string, unknown, string]>([
    ["nothing", undefined, "@rateLimit() takes an object of options, got undefined"],
    ["a number", 5, "@rateLimit() takes an object of options, got 5"],
    ["an unknown option", { limit: 5, every: 1 }, '@rateLimit() has no option "every". Allowed: "limit", "per", "by"'],
    ["a limit of nothing", { limit: 0 }, "@rateLimit(): limit must be a whole number of 1 or more, got 0"],
    ["a limit without end", { limit: Number.POSITIVE_INFINITY }, "@rateLimit(): limit must be a whole number of 1 or more, got Infinity"],
    ["a window of nothing", { per: 0 }, "@rateLimit(): per must be a time greater than zero, got 0"],
    ["a window by a word", { per: "minute" }, '@rateLimit(): per must be a time greater than zero, got "minute"'],
    ["a key of nothing", { by: "" }, '@rateLimit(): by takes the name of an input field, an array of names, literal("…")'],
    ["a key that is a number", { by: 7 }, "@rateLimit(): by takes the name of an input field"],
    ["a blank namespace", { namespace: "" }, '@rateLimit(): namespace must be a text that is not blank, got ""'],
    ["a blank scope", { scope: " " }, '@rateLimit(): scope must be a text that is not blank, got " "'],
    [
      "a scope that would break keys",
      { scope: "a:b" },
      '@rateLimit(): scope has a ":" or a control character, which keys cannot hold, got "a:b"',
    ],
    ["another word for a missing key", { onMissingKey: "skip" }, '@rateLimit(): onMissingKey must be one of "run", "fail", got "skip"'],
    [
      "another word for a store that fails",
      { onStoreError: "open" },
      '@rateLimit(): onStoreError must be one of "fail", "run", got "open"',
    ],
    ["a gate that is no function", { unless: 1 }, "@rateLimit(): unless must be a function, got 1"],
  ])("refuses %s where it is declared", (_, options, message) => {
    expect(mistakeIn(thrownBy(() => rateLimit(options as RateLimitOptions)))).toContain(message);
  });
});
