import { afterEach, describe, expect, test } from "vitest";
import { idempotentBy, literal, lockWith, resetConfiguration, Task, type LockOptions } from "taskwright";
import { z } from "zod";
import { mistakeIn, rejectionOf, thrownBy } from "../support/builders.js";

afterEach(() => {
  resetConfiguration();
});

const wrong = (options: object): LockOptions => options; // what compilers refuse, and programs without one may give

/** A task with an input, and the lock that its schema shows. */
function lockOf(...declared: readonly ((type: ReturnType<typeof walletTask>) => void)[]): unknown {
  const Withdraw = walletTask();
  for (const declare of declared) declare(Withdraw);
  return Reflect.get(Withdraw.schema.policies, "lock");
}

function walletTask() {
  return class Withdraw extends Task.with({ input: z.object({ walletId: z.string() }) }) {
    work(): string {
      return "done";
    }
  };
}

const DEFAULTS = { ttlMs: 30_000, waitMs: 0, maxHoldMs: 3_600_000, namespace: "cmdx:lock", onMissingKey: "run", onStoreError: "fail" };

describe("the options of a lock", () => {
  test("have these defaults", () => {
    expect(lockOf(lockWith("walletId"))).toEqual({ ...DEFAULTS, key: "walletId" });
  });

  test.each<[LockOptions, object]>([
    [{ ttl: 5 }, { ttlMs: 5_000 }],
    [{ ttl: "2h" }, { ttlMs: 7_200_000, maxHoldMs: 7_200_000 }],
    [{ wait: "250ms" }, { waitMs: 250 }],
    [{ wait: 0 }, { waitMs: 0 }],
    [{ maxHold: 60 }, { maxHoldMs: 60_000 }],
    [{ namespace: "app:lock" }, { namespace: "app:lock" }],
    [{ scope: "wallet" }, { scope: "wallet" }],
    [
      { onMissingKey: "fail", onStoreError: "run" },
      { onMissingKey: "fail", onStoreError: "run" },
    ],
  ])("%j is %j", (options, expected) => {
    expect(lockOf(lockWith("walletId", options))).toEqual({ ...DEFAULTS, key: "walletId", ...expected });
  });

  test.each<[object, string]>([
    [{ ttl: 0 }, "@lockWith(): ttl must be a time greater than zero, got 0."],
    [{ wait: -1 }, "@lockWith(): wait must be a time of zero or more, got -1."],
    [{ maxHold: "soon" }, '@lockWith(): maxHold must be a time greater than zero, got "soon".'],
    [{ ttl: 60, maxHold: 30 }, "@lockWith(): maxHold (30000 ms) is shorter than ttl (60000 ms). Lengthen maxHold."],
    [{ namespace: " " }, '@lockWith(): namespace must be a text that is not blank, got " ".'],
    [{ scope: "" }, '@lockWith(): scope must be a text that is not blank, got "".'],
    [{ scope: "a:b" }, '@lockWith(): scope has a ":" or a control character, which keys cannot hold, got "a:b".'],
    [{ onMissingKey: "skip" }, '@lockWith(): onMissingKey must be one of "run", "fail", got "skip".'],
    [{ onStoreError: true }, '@lockWith(): onStoreError must be one of "fail", "run", got true.'],
    [{ if: "yes" }, '@lockWith(): if must be a function, got "yes".'],
    [{ lease: 5 }, '@lockWith() has no option "lease". Allowed: "ttl", "wait",'],
  ])("%j is refused", (options, message) => {
    expect(mistakeIn(thrownBy(() => lockWith("walletId", wrong(options))))).toContain(message);
  });

  test.each([undefined, null, 5, "", [], [""], { literal: " " }, true])("the resolver %j is refused", (resolver) => {
    expect(mistakeIn(thrownBy(() => lockWith(resolver as unknown as string)))).toMatch(/^(@lockWith\(\)|literal\(\)) takes /);
  });
});

describe("inheritance", () => {
  test("options alone change the inherited ones, and a resolver replaces the inherited one", () => {
    expect(lockOf(lockWith("walletId", { wait: 5, scope: "wallet" }), lockWith({ ttl: 60 }), lockWith(literal("all")))).toEqual({
      ...DEFAULTS,
      waitMs: 5_000,
      ttlMs: 60_000,
      scope: "wallet",
      key: "literal: all",
    });
  });

  test("null gives a class locks of its own again", () => {
    expect(lockOf(lockWith("walletId", { scope: "wallet" }), lockWith({ scope: null }))).toEqual({ ...DEFAULTS, key: "walletId" });
  });

  test("false turns it off, options leave it off, and a resolver turns it on again with the options of before", () => {
    expect(lockOf(lockWith("walletId", { wait: 5 }), lockWith(false))).toBeUndefined();
    expect(lockOf(lockWith("walletId", { wait: 5 }), lockWith(false), lockWith({ ttl: 60 }))).toBeUndefined();
    expect(lockOf(lockWith("walletId", { wait: 5 }), lockWith(false), lockWith("walletId"))).toMatchObject({ waitMs: 5_000 });
  });

  test("options on several classes that do not go together are told at the first run", async () => {
    const Withdraw = walletTask();
    lockWith("walletId", { maxHold: 60 })(Withdraw);
    lockWith({ ttl: "2m" })(Withdraw);

    expect(mistakeIn(await rejectionOf(Withdraw.execute({ walletId: "w1" })))).toContain(
      "maxHold (60000 ms) is shorter than ttl (120000 ms)",
    );
  });

  test("options without a resolver anywhere are told at the first run", async () => {
    const Withdraw = walletTask();
    lockWith({ wait: 5 })(Withdraw);

    expect(mistakeIn(await rejectionOf(Withdraw.execute({ walletId: "w1" })))).toMatch(
      /^Withdraw: @lockWith\(\) has options but no resolver/,
    );
  });

  test("a field that the input does not have is told at the first run", async () => {
    const Withdraw = walletTask();
    lockWith("accountId" as "walletId")(Withdraw);

    expect(mistakeIn(await rejectionOf(Withdraw.execute({ walletId: "w1" })))).toContain('@lockWith() names the field "accountId"');
  });
});

describe("keys that would meet", () => {
  test.each([
    ["in one namespace", "billing", "billing"],
    ["nested in each other", "billing", "billing:Withdraw"],
  ])("with a claim's, %s, are refused", async (_name, ofLock, ofClaim) => {
    const Withdraw = walletTask();
    lockWith("walletId", { namespace: ofLock })(Withdraw);
    idempotentBy("walletId", { namespace: ofClaim })(Withdraw);

    expect(mistakeIn(await rejectionOf(Withdraw.execute({ walletId: "w1" })))).toMatch(
      /^@(lockWith|idempotentBy)\(\) and @(lockWith|idempotentBy)\(\) both keep keys under billing:Withdraw:/,
    );
  });

  test("of two classes of one name are refused, unless both have the scope", async () => {
    const [One, Other] = [walletTask(), walletTask()];
    lockWith("walletId")(One);
    lockWith("walletId")(Other);
    await One.execute({ walletId: "w1" });
    const [Shared, AlsoShared] = [walletTask(), walletTask()];
    for (const type of [Shared, AlsoShared]) lockWith("walletId", { scope: "wallet" })(type);

    expect(mistakeIn(await rejectionOf(Other.execute({ walletId: "w1" })))).toContain(
      "Two tasks with @lockWith() keep their keys under cmdx:lock:Withdraw:…",
    );
    expect((await Shared.execute({ walletId: "w1" })).status).toBe("success");
    expect((await AlsoShared.execute({ walletId: "w1" })).status).toBe("success");
  });
});
