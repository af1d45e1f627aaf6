import { describe, expect, test } from "vitest";
import { AbortScope } from "../../src/support/abort.js";
import { sleep } from "../../src/support/sleep.js";
import { ManualClock, settle } from "./manual-clock.js";

async function isOver(promise: Promise<void>): Promise<boolean> {
  let over = false;
  void promise.then(() => {
    over = true;
  });
  await settle();
  return over;
}

describe("sleep", () => {
  test("waits as long as it says, and leaves no timer", async () => {
    const clock = new ManualClock();
    const waiting = sleep(clock, 1_000, new AbortScope());

    await clock.advance(999);
    expect(await isOver(waiting)).toBe(false);
    await clock.advance(1);

    expect(await isOver(waiting)).toBe(true);
    expect(clock.pending).toBe(0);
  });

  test("ends with the abort of its scope, does not reject, and leaves no timer", async () => {
    const clock = new ManualClock();
    const scope = new AbortScope();
    const waiting = sleep(clock, 1_000, scope);

    scope.abort(new Error("closing time"));

    await expect(waiting).resolves.toBeUndefined();
    expect(clock.pending).toBe(0);
  });

  test("does not begin in a scope that is over", async () => {
    const clock = new ManualClock();
    const scope = new AbortScope();
    scope.cancel("over");

    await sleep(clock, 1_000, scope);

    expect(clock.waits).toEqual([]);
  });

  test("leaves no listener: an abort afterwards finds nobody", async () => {
    const clock = new ManualClock();
    const scope = new AbortScope();
    const waiting = sleep(clock, 10, scope);
    await clock.advance(10);
    await waiting;

    expect(() => scope.abort("late")).not.toThrow();
  });
});
