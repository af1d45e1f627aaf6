import { afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import * as here from "taskwright";
import { rejectionOf } from "../support/builders.js";

/** The package a second time, as when two versions of a dependency bring it. */
let there: typeof here;

beforeAll(async () => {
  vi.resetModules();
  there = await import("taskwright");
});
afterEach(() => {
  here.resetConfiguration();
  there.resetConfiguration();
});

test("there really are two copies", () => {
  expect(there.Task).not.toBe(here.Task);
  expect(there.Fault).not.toBe(here.Fault);
});

describe("an error of the other copy", () => {
  test("is recognised by the guards and by instanceof", async () => {
    class Charge extends there.Task.with() {
      work(): never {
        return this.fail("declined");
      }
    }
    const fault = await rejectionOf(Charge.executeBang());
    const mistake = await rejectionOf(Charge.executeBang({}, { sginal: 1 } as never));

    expect([here.isFault(fault), fault instanceof here.Fault, here.isTaskwrightError(fault)]).toEqual([true, true, true]);
    expect((fault as Error).cause).toBeInstanceOf(here.FailError);
    expect([here.isDefinitionError(mistake), mistake instanceof here.DefinitionError, here.isFault(mistake)]).toEqual([true, true, false]);
    expect(here.isFault(fault, Charge as never)).toBe(true);
  });
});

describe("a task of the other copy that is run inside one of this", () => {
  test("gives its failure on, with its error, origin and notes", async () => {
    class Charge extends there.Task.with() {
      work(): never {
        throw new TypeError("declined");
      }
    }
    class Checkout extends here.Task.with() {
      async work(): Promise<void> {
        await Charge.executeBang();
      }
    }

    const result = await Checkout.execute();

    expect(result).toMatchObject({ status: "failed", reason: "declined", origin: { task: "Charge" } });
    expect(result).toHaveProperty("error", expect.any(TypeError));
  });

  test("lets the halt of the run around it pass", async () => {
    let attempts = 0;
    class Checkout extends here.Task.with() {
      async work(): Promise<void> {
        const outer = this as here.Task;
        class Charge extends there.Task.with() {
          work(): void {
            attempts += 1;
            outer.skip("closed");
          }
        }
        there.retryOn(() => true, { limit: 3, delay: 0 })(Charge);
        await Charge.execute();
      }
    }

    expect(await Checkout.execute()).toMatchObject({ status: "skipped", reason: "closed" });
    expect(attempts).toBe(1);
  });
});

describe("a decorator of the other copy", () => {
  test("is understood by the class it stands on", async () => {
    class Charge extends here.Task.with() {
      work(): void {
        if (this.attempt === 1) throw new Error("network");
      }
    }
    there.retryOn(Error, { limit: 1, delay: 0 })(Charge as never);
    there.settings({ tags: ["billing"] })(Charge as never);

    expect(await Charge.execute()).toMatchObject({ status: "success", retries: 1, tags: ["billing"] });
  });
});
