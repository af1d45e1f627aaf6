import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { circuitBreaker, circuitOf, configure, resetConfiguration, settings, Task, type CircuitBreakerOptions } from "taskwright";
import { mistakeIn, recordEvents, rejectionOf, thrownBy, useManualClock } from "../support/builders.js";
import { bank } from "./circuits.js";

beforeEach(() => {
  useManualClock();
});
afterEach(() => {
  resetConfiguration();
});

/** A class that always fails, and one below it. */
function family(options?: CircuitBreakerOptions) {
  class Payment extends Task.with() {
    work(): void {
      throw new Error("bank down");
    }
  }
  circuitBreaker(options)(Payment);
  class Refund extends Payment {}
  return { Payment, Refund };
}

describe("a circuit", () => {
  test("belongs to its class: another's runs do not open it", async () => {
    const [first, second] = [bank({ threshold: 1 }), bank({ threshold: 1 })];

    await first.fail(1);

    expect([first.state(), second.state()]).toEqual(["open", "closed"]);
  });

  test("is not its parent's", async () => {
    const { Payment, Refund } = family({ threshold: 1 });

    await Payment.execute();
    expect(circuitOf(Refund)).toEqual({ circuit: "Refund", state: "closed", retryAfterMs: 0 });
    await Refund.execute();

    expect(circuitOf(Refund)?.state).toBe("open");
  });

  test("is its parent's under an inherited scope, and its own again with null", async () => {
    const { Payment, Refund } = family({ threshold: 1, scope: "bank" });
    class Apart extends Payment {}
    circuitBreaker({ scope: null })(Apart);

    await Payment.execute();

    expect(circuitOf(Refund)).toEqual({ circuit: "bank", state: "open", retryAfterMs: 30_000 });
    expect(await Refund.execute()).toMatchObject({ metadata: { circuit: "bank" } });
    expect(circuitOf(Apart)?.state).toBe("closed");
  });

  test("counts the runs of all classes that share it", async () => {
    const [first, second] = [bank({ threshold: 4, scope: "bank" }), bank({ threshold: 4, scope: "bank" })];

    await first.fail(2);
    await second.fail(2);

    expect([first.state(), second.state()]).toEqual(["open", "open"]);
  });

  test("cannot be shared by classes of different options: the mistake names both", async () => {
    const { Payment } = family({ threshold: 4, scope: "bank" });
    class Charge extends Task.with() {
      work(): void {}
    }
    circuitBreaker({ threshold: 5, scope: "bank" })(Charge);

    await Payment.execute();
    expect(mistakeIn(await rejectionOf(Charge.execute()))).toBe(
      'Charge and Payment share the circuit "bank", and their @circuitBreaker() options differ. Give both the same threshold or sampling and the same coolOff, or another scope.',
    );
    expect(await Payment.execute()).toMatchObject({ reason: "bank down" });
    circuitBreaker({ threshold: 4 })(Charge);

    expect(await Charge.execute()).toMatchObject({ status: "success" });
  });

  test("may be shared by classes whose gates differ", async () => {
    const { Payment, Refund } = family({ threshold: 2, scope: "bank" });
    circuitBreaker({ if: () => false })(Refund);

    await Payment.execute();
    for (let at = 0; at < 5; at += 1) await Refund.execute();

    expect(circuitOf(Payment)?.state).toBe("closed");
  });

  test("follows all classes of its scope when their options change together", async () => {
    const { Payment, Refund } = family({ threshold: 4, scope: "bank" });
    await Payment.execute();
    await Refund.execute();

    circuitBreaker({ threshold: 1 })(Payment);
    await Refund.execute();

    expect([circuitOf(Payment)?.state, circuitOf(Refund)?.state]).toEqual(["open", "open"]);
  });

  test("outlives everything that is declared meanwhile, on its class and elsewhere", async () => {
    const { Bank, fail, run, state } = bank({ threshold: 3 });

    await fail(1);
    settings({ tags: ["bank"] })(Bank);
    await fail(1);
    configure((config) => {
      config.tags = ["all"];
    });
    await fail(1);

    expect(state()).toBe("open");
    bank();
    circuitBreaker({ unless: () => false })(Bank);
    expect(await run("fine")).toMatchObject({ metadata: { code: "circuit_open" } });
  });

  test("begins anew when its options change", async () => {
    const { Bank, fail, state } = bank({ threshold: 3 });
    await fail(3);

    circuitBreaker({ threshold: 2 })(Bank);
    expect(state()).toBe("closed");
    await fail(2);

    expect(state()).toBe("open");
  });

  test("begins anew with the configuration, so that one test does not open it for the next", async () => {
    const [alone, shared] = [bank({ threshold: 1 }), bank({ threshold: 1, scope: "bank" })];
    await alone.fail(1);
    await shared.fail(1);

    resetConfiguration();

    expect([alone.state(), shared.state()]).toEqual(["closed", "closed"]);
  });

  test("is none for a task without a breaker, or with one that is off", () => {
    class Plain extends Task.with() {
      work(): void {}
    }
    const { Refund } = family();
    circuitBreaker(false)(Refund);

    expect([circuitOf(Plain), circuitOf(Refund)]).toEqual([undefined, undefined]);
  });
});

describe("gates", () => {
  test("let runs pass by an open circuit, and keep their failures from it", async () => {
    let guarded = true;
    const events = recordEvents("circuit_bypassed");
    const { run, fail, state } = bank({ threshold: 2, if: () => guarded });

    guarded = false;
    await fail(5);
    expect(state()).toBe("closed");
    guarded = true;
    await fail(2);
    guarded = false;

    expect(await run("fine")).toMatchObject({ status: "success" });
    expect(events.map(({ payload }) => payload)).toEqual(Array.from({ length: 6 }, () => ({ why: "gate" })));
  });

  test("that throw fail the run, and neither run its work nor count", async () => {
    const { run, told, state } = bank({
      threshold: 1,
      unless: () => {
        throw new Error("gate broken");
      },
    });

    expect(await run("fine")).toMatchObject({ status: "failed", reason: "gate broken", retryable: true });
    expect(told.works).toBe(0);
    expect(state()).toBe("closed");
  });

  test("that halt decide the run", async () => {
    const { run, told } = bank({ if: (task) => task.skip("not today") });

    expect(await run("fine")).toMatchObject({ status: "skipped", reason: "not today" });
    expect(told.works).toBe(0);
  });

  test("are inherited, and cleared by null", async () => {
    const { Payment, Refund } = family({ threshold: 1, if: () => false });
    circuitBreaker({ if: null })(Refund);

    await Payment.execute();
    await Refund.execute();

    expect([circuitOf(Payment)?.state, circuitOf(Refund)?.state]).toEqual(["closed", "open"]);
  });
});

describe("on a subclass", () => {
  test("options replace those that they name, and the parent keeps its own", () => {
    const { Payment, Refund } = family({ threshold: 7, coolOff: "1m" });
    circuitBreaker({ coolOff: 5 })(Refund);

    expect(Payment.schema.policies).toEqual({ circuitBreaker: { threshold: 7, coolOffMs: 60_000 } });
    expect(Refund.schema.policies).toEqual({ circuitBreaker: { threshold: 7, coolOffMs: 5_000 } });
  });

  test("sampling takes the place of threshold, and the other way round", () => {
    const { Payment, Refund } = family({ sampling: { threshold: 0.5, duration: "30s" }, scope: "bank" });
    circuitBreaker({ threshold: 3, scope: null })(Refund);

    expect(Payment.schema.policies).toEqual({
      circuitBreaker: { sampling: { threshold: 0.5, durationMs: 30_000, minimumRps: 1 }, coolOffMs: 30_000, scope: "bank" },
    });
    expect(Refund.schema.policies).toEqual({ circuitBreaker: { threshold: 3, coolOffMs: 30_000 } });
  });

  test("false turns it off, and options turn it on again as it was", async () => {
    const { Payment, Refund } = family({ threshold: 2 });
    circuitBreaker(false)(Refund);
    class Later extends Refund {}
    circuitBreaker({})(Later);

    for (let at = 0; at < 5; at += 1) await Refund.execute();

    expect(await Refund.execute()).toMatchObject({ reason: "bank down" });
    expect(Refund.schema.policies).toEqual({});
    expect(Later.schema.policies).toEqual(Payment.schema.policies);
  });
});

describe("as a decorator", () => {
  test("stands above a class, with options, without, and with false", async () => {
    @circuitBreaker()
    class Plain extends Task.with() {
      work(): void {}
    }
    @circuitBreaker({ threshold: 2, coolOff: "10s" })
    class Adorned extends Plain {}
    @circuitBreaker(false)
    class Bare extends Adorned {}

    expect([Plain, Adorned, Bare].map((type) => type.schema.policies["circuitBreaker"])).toEqual([
      { threshold: 5, coolOffMs: 30_000 },
      { threshold: 2, coolOffMs: 10_000 },
      undefined,
    ]);
    expect(await Plain.execute()).toMatchObject({ status: "success" });
  });

  test("is refused on anything but a task class", () => {
    expect(mistakeIn(thrownBy(() => circuitBreaker()(class {} as never)))).toContain("@circuitBreaker() stands on a task class");
  });

  test.each<[string, unknown, string]>([
    ["an unknown option", { treshold: 3 }, '@circuitBreaker() has no option "treshold". Allowed: "threshold", "sampling", "coolOff"'],
    ["another library's word for the cool-off", { halfOpenAfter: 3 }, '@circuitBreaker() has no option "halfOpenAfter"'],
    ["no options at all", 5, "@circuitBreaker() takes an object of options, got 5"],
    ["true", true, "@circuitBreaker() takes an object of options, got true"],
    ["a threshold of 0", { threshold: 0 }, "@circuitBreaker(): threshold must be a whole number of 1 or more, got 0"],
    ["a share as a threshold", { threshold: 0.5 }, "@circuitBreaker(): threshold must be a whole number of 1 or more, got 0.5"],
    ["both ways of counting", { threshold: 5, sampling: { threshold: 0.5, duration: 10 } }, "not both. Leave one out"],
    [
      "sampling by percent",
      { sampling: { threshold: 50, duration: 10 } },
      "sampling.threshold must be a number above 0 and up to 1, got 50",
    ],
    ["sampling that always opens", { sampling: { threshold: 0, duration: 10 } }, "above 0 and up to 1, got 0. 0.5 opens the circuit"],
    [
      "sampling without a duration",
      { sampling: { threshold: 0.5 } },
      "@circuitBreaker(): sampling.duration must be a time greater than zero",
    ],
    [
      "a misspelt option of sampling",
      { sampling: { threshold: 0.5, duration: 1, minRps: 1 } },
      '@circuitBreaker(): sampling has no option "minRps"',
    ],
    [
      "fewer than no runs",
      { sampling: { threshold: 0.5, duration: 1, minimumRps: -1 } },
      "sampling.minimumRps must be a number of runs per second, 0 or more, got -1",
    ],
    ["a cool-off of nothing", { coolOff: 0 }, "@circuitBreaker(): coolOff must be a time greater than zero, got 0"],
    [
      "a blank scope",
      { scope: " " },
      '@circuitBreaker(): scope must be a text that is not blank, or null, got " ". Name what the classes share',
    ],
    ["a gate that is no function", { if: true }, "@circuitBreaker(): if must be a function, got true"],
  ])("refuses %s where it is declared", (_, options, message) => {
    expect(mistakeIn(thrownBy(() => circuitBreaker(options as CircuitBreakerOptions)))).toContain(message);
  });
});
