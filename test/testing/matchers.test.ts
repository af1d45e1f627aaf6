import { describe, expect, test } from "vitest";
import { Task, type Result } from "taskwright";
import { taskMatchers, type TaskMatchers } from "taskwright/testing";

expect.extend(taskMatchers);

declare module "vitest" {
  // oxlint-disable-next-line typescript/no-explicit-any, typescript/no-empty-object-type -- the runner's own declaration, to the letter
  interface Matchers<T = any> extends TaskMatchers<T> {}
}

class Charge extends Task.with() {
  work(): unknown {
    return { chargeId: "ch_1", at: 5 };
  }
}
class Turned extends Task.with() {
  work() {
    this.skip("already charged", { code: "duplicate" });
  }
}
class Broken extends Task.with() {
  work() {
    this.fail("no money left", { code: "broke" });
  }
}
const success = (): Promise<Result> => Charge.execute();
const skipped = (): Promise<Result> => Turned.execute();
const failed = (): Promise<Result> => Broken.execute();
const replayed = async (): Promise<Result> => ({ ...(await success()), replayed: true }) as Result; // as the replay of a stored output is

describe("toBeSuccess", () => {
  test("holds for a success, and for its output", async () => {
    expect(await success()).toBeSuccess();
    expect(await success()).toBeSuccess({ chargeId: "ch_1", at: 5 });
    expect(await success()).toBeSuccess({ chargeId: expect.any(String), at: 5 });
    expect(await skipped()).not.toBeSuccess();
    expect(await success()).not.toBeSuccess({ chargeId: "ch_2" });
    expect(await success()).not.toBeSuccess(undefined);
  });

  test("looks into maps and sets, as the runner's toEqual does", async () => {
    class Counted extends Task.with() {
      work(): unknown {
        return { counts: new Map([["a", 1]]), seen: new Set(["x"]) };
      }
    }

    expect(await Counted.execute()).toBeSuccess({ counts: new Map([["a", 1]]), seen: new Set(["x"]) });
    expect(await Counted.execute()).not.toBeSuccess({ counts: new Map([["a", 2]]), seen: new Set(["x"]) });
    expect(await Counted.execute()).not.toBeSuccess({ counts: new Map([["a", 1]]), seen: new Set(["y"]) });
  });

  test("says how the run ended instead", async () => {
    const [turned, broken, output] = [await skipped(), await failed(), await success()];
    expect(() => expect(turned).toBeSuccess()).toThrow(
      "expected the result of Turned to be a success, but it was skipped (duplicate): already charged",
    );
    expect(() => expect(broken).toBeSuccess()).toThrow(
      "expected the result of Broken to be a success, but it failed (broke): no money left",
    );
    expect(() => expect(output).toBeSuccess(1)).toThrow(
      "expected the result of Charge to be a success, but its output is { chargeId: 'ch_1', at: 5 } and not 1",
    );
    expect(() => expect(output).not.toBeSuccess()).toThrow("expected the result of Charge not to be a success, but it is so");
  });
});

describe("toBeSkipped and toHaveFailed", () => {
  test("hold for how a run ended, and for its reason", async () => {
    expect(await skipped()).toBeSkipped();
    expect(await skipped()).toBeSkipped({ code: "duplicate", reason: "already" });
    expect(await skipped()).toBeSkipped({ reason: /charged$/g });
    expect(await skipped()).not.toBeSkipped({ code: "locked" });
    expect(await failed()).toHaveFailed();
    expect(await failed()).toHaveFailed({ code: "broke", reason: /money/ });
    expect(await failed()).not.toHaveFailed({ reason: "nothing" });
    expect(await failed()).not.toBeSkipped();
    expect(await skipped()).not.toHaveFailed();
  });

  test("say what is not as expected", async () => {
    const [turned, broken] = [await skipped(), await failed()];
    expect(() => expect(turned).toBeSkipped({ code: "locked" })).toThrow(
      "expected the result of Turned to be skipped with code 'locked', but its code is 'duplicate'",
    );
    expect(() => expect(broken).toHaveFailed({ reason: /rich/ })).toThrow(
      "expected the result of Broken to have failed with reason /rich/, but its reason is 'no money left'",
    );
    expect(() => expect(broken).toBeSkipped({ code: "a", reason: "b" })).toThrow(
      "to be skipped with code 'a' and reason 'b', but it failed (broke): no money left",
    );
  });
});

describe("toHaveReplayed", () => {
  test("holds for a success whose work did not run this time", async () => {
    expect(await replayed()).toHaveReplayed();
    expect(await replayed()).toHaveReplayed({ chargeId: "ch_1", at: 5 });
    expect(await success()).not.toHaveReplayed();
    expect(await failed()).not.toHaveReplayed();
  });

  test("says that the work ran", async () => {
    const result = await success();
    expect(() => expect(result).toHaveReplayed()).toThrow("expected the result of Charge to have replayed, but its work ran");
  });
});

test("what is no result is told to be none", () => {
  expect(() => expect({ status: "success" }).toBeSuccess()).toThrow("expected a task's result to be a success, got { status: 'success' }");
  expect(() => expect(undefined).toHaveFailed({ code: "a" })).toThrow(
    "expected a task's result to have failed with code 'a', got undefined",
  );
});
