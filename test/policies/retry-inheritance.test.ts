import { afterEach, describe, expect, test } from "vitest";
import { resetConfiguration, retryOn, Task, type TaskDecorator } from "taskwright";

afterEach(() => {
  resetConfiguration();
});

class CardError extends Error {}
class NetworkError extends Error {}
const always = (): boolean => true;

function parent(...decorators: TaskDecorator[]) {
  class Parent extends Task.with() {
    work(): void {}
  }
  for (const decorate of decorators) decorate(Parent);
  return Parent;
}

/** The effective retries of a class. */
const retryOf = (type: { schema: { policies: object } }): unknown => (type.schema.policies as { retry?: unknown }).retry;

describe("retries of a subclass", () => {
  test("are inherited", () => {
    class Child extends parent(retryOn(CardError, { limit: 5 })) {}

    expect(retryOf(Child)).toEqual({ on: ["CardError"], limit: 5, delayMs: 500 });
  });

  test("add errors, and keep the options that are not named", () => {
    const Parent = parent(retryOn(CardError, { limit: 5, delay: 1, jitter: "linear" }));
    @retryOn(NetworkError, { limit: 2 })
    class Child extends Parent {}

    expect(retryOf(Child)).toEqual({ on: ["CardError", "NetworkError"], limit: 2, delayMs: 1_000, jitter: "linear" });
    expect(retryOf(Parent)).toEqual({ on: ["CardError"], limit: 5, delayMs: 1_000, jitter: "linear" });
  });

  test("take options alone", () => {
    @retryOn({ limit: 9 })
    class Child extends parent(retryOn(CardError, { limit: 5, delay: 1 })) {}

    expect(retryOf(Child)).toEqual({ on: ["CardError"], limit: 9, delayMs: 1_000 });
  });

  test("take each error once", () => {
    @retryOn(CardError, NetworkError)
    class Child extends parent(retryOn(NetworkError, CardError)) {}

    expect(retryOf(Child)).toMatchObject({ on: ["NetworkError", "CardError"] });
  });

  test("clear an inherited option with null, and leave it with undefined", () => {
    const Parent = parent(retryOn(CardError, { maxDelay: "1m", jitter: "linear" }));
    @retryOn({ maxDelay: null, jitter: null })
    class Cleared extends Parent {}
    @retryOn({ maxDelay: undefined, jitter: undefined, limit: undefined } as object)
    class Kept extends Parent {}

    expect(retryOf(Cleared)).toEqual({ on: ["CardError"], limit: 3, delayMs: 500 });
    expect(retryOf(Kept)).toEqual({ on: ["CardError"], limit: 3, delayMs: 500, maxDelayMs: 60_000, jitter: "linear" });
  });

  test("are turned off by false, and on again by a new error, beginning anew", () => {
    const Parent = parent(retryOn(CardError, { limit: 5 }));
    @retryOn(false)
    class Off extends Parent {}
    class StillOff extends Off {}
    @retryOn({ limit: 2 })
    class OptionsOnly extends Off {}
    @retryOn(NetworkError)
    class OnAgain extends Off {}

    expect(retryOf(Off)).toBeUndefined();
    expect(retryOf(StillOff)).toBeUndefined();
    expect(retryOf(OptionsOnly)).toMatchObject({ on: [] });
    expect(retryOf(OnAgain)).toEqual({ on: ["NetworkError"], limit: 3, delayMs: 500 });
    expect(retryOf(Parent)).toMatchObject({ limit: 5 });
  });

  test("follow a parent that is told something later", () => {
    const Parent = parent();
    @retryOn(NetworkError, { limit: 2 })
    class Child extends Parent {}
    expect(retryOf(Child)).toMatchObject({ on: ["NetworkError"] });

    retryOn(CardError, { limit: 7 })(Parent);

    expect(retryOf(Child)).toMatchObject({ on: ["CardError", "NetworkError"], limit: 2 });
  });

  test("through abstract bases and bindings", () => {
    @retryOn(CardError)
    abstract class ApplicationTask extends Task {}
    class Charge extends ApplicationTask.with() {
      work(): void {}
    }

    expect(retryOf(Charge)).toMatchObject({ on: ["CardError"] });
  });
});

describe("gates of a subclass", () => {
  const run = async (decorator: TaskDecorator): Promise<number> => {
    class Parent extends Task.with() {
      work(): never {
        throw new Error("network");
      }
    }
    retryOn(Error, { limit: 1, delay: 0, if: () => false, unless: () => false })(Parent);
    class Child extends Parent {}
    decorator(Child);
    return (await Child.execute()).retries;
  };

  test("replace those they name, and null clears one", async () => {
    expect(await run(retryOn({ if: always }))).toBe(1);
    expect(await run(retryOn({ if: null }))).toBe(1);
    expect(await run(retryOn({ unless: null }))).toBe(0);
    expect(await run(retryOn({ if: null, unless: always }))).toBe(0);
  });

  test("are left as they are by undefined", async () => {
    expect(await run(retryOn({ if: undefined }))).toBe(0);
    expect(await run(retryOn({ if: null, unless: undefined }))).toBe(1);
  });
});

describe("several decorators on one class", () => {
  test("add up; of an option that both name, the upper one's is taken", () => {
    @retryOn(CardError, { limit: 1 })
    @retryOn(NetworkError, { limit: 2, delay: "2s" })
    class Upper extends Task.with() {
      work(): void {}
    }
    @retryOn(NetworkError, { limit: 2, delay: "2s" })
    @retryOn(CardError, { limit: 1 })
    class Lower extends Task.with() {
      work(): void {}
    }

    expect(retryOf(Upper)).toEqual({ on: ["NetworkError", "CardError"], limit: 1, delayMs: 2_000 });
    expect(retryOf(Lower)).toEqual({ on: ["CardError", "NetworkError"], limit: 2, delayMs: 2_000 });
  });

  test("may also be called as functions", () => {
    const Sample = parent(retryOn(CardError, { limit: 1 }), retryOn({ limit: 4 }));

    expect(retryOf(Sample)).toMatchObject({ limit: 4 });
  });
});
