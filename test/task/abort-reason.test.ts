import { afterEach, describe, expect, test } from "vitest";
import { AbortedError, resetConfiguration, Task } from "taskwright";
import { PausePoint, taskOf } from "../support/builders.js";
import { settle } from "../support/manual-clock.js";

afterEach(() => {
  resetConfiguration();
});

/** Calls a run off in the middle of its work. */
async function abortedDuringWork(reason: unknown) {
  const pause = new PausePoint();
  class Charge extends Task.with() {
    async work(): Promise<void> {
      await pause.pass();
    }
  }
  const controller = new AbortController();
  const running = Charge.execute({}, { signal: controller.signal });
  await pause.reached;
  controller.abort(reason);
  const result = await running;
  pause.resume();
  await settle();
  if (result.status !== "failed") throw new Error("it did not fail");
  return result;
}

describe("a run that is called off during its work says why", () => {
  test("when the reason is an error", async () => {
    const reason = new Error("closing time");

    const result = await abortedDuringWork(reason);

    expect(result.error).toBeInstanceOf(AbortedError);
    expect(result.error.cause).toBe(reason);
    expect(result.reason).toBe("Charge was aborted: closing time");
  });

  test.each<[string, unknown, string]>([
    ["a text", "closing time", "Charge was aborted: closing time"],
    ["nothing to read", { door: "closed" }, "Charge was aborted"],
  ])("when the reason is %s", async (_, given, reason) => {
    const result = await abortedDuringWork(given);

    expect(result.error.cause).toBe(given);
    expect(result.reason).toBe(reason);
  });

  test("and is where the failure began, also when a nested run was called off with it", async () => {
    const pause = new PausePoint();
    const Inner = taskOf(() => pause.pass());
    class Outer extends Task.with() {
      async work(): Promise<void> {
        await Inner.executeBang();
      }
    }
    const controller = new AbortController();

    const running = Outer.execute({}, { signal: controller.signal });
    await pause.reached;
    controller.abort(new Error("closing time"));
    const result = await running;
    pause.resume();
    await settle();

    expect(result).toMatchObject({ reason: "Outer was aborted: closing time", origin: { task: "Outer" } });
  });
});
