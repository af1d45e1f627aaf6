import { afterEach, describe, expect, test, vi } from "vitest";
import { StoreTimeoutError } from "taskwright";
import { AbortScope } from "../../src/support/abort.js";
import { Alarms } from "../../src/support/alarms.js";
import { withinTime } from "../../src/support/time-limit.js";
import { deferred, rejectionOf, type Deferred } from "./builders.js";
import { ManualClock, settle } from "./manual-clock.js";

describe("a call with a time limit", () => {
  afterEach(() => void vi.restoreAllMocks());

  test("gives the answer that comes in time, and leaves no alarm that matters", async () => {
    const clock = new ManualClock();
    const call = deferred<string>();
    const answer = withinTime({ clock, ms: 1_000 }, () => call.promise);

    await clock.advance(999);
    call.resolve("in time");

    await expect(answer).resolves.toBe("in time");
    await clock.advance(10_000);
    expect(clock.pending).toBe(0);
  });

  test("rejects with what the call rejected with, or threw", async () => {
    const clock = new ManualClock();
    const error = new Error("connection lost");

    await expect(withinTime({ clock, ms: 1_000 }, () => Promise.reject(error))).rejects.toBe(error);
    await expect(
      withinTime({ clock, ms: 1_000 }, () => {
        throw error;
      }),
    ).rejects.toBe(error);
  });

  test("rejects when the time is up, saying that the effect is not known", async () => {
    const clock = new ManualClock();
    const answer = withinTime({ clock, ms: 1_000 }, () => new Promise(() => undefined));
    const rejection = rejectionOf(answer);

    await clock.advance(1_000);

    expect(await rejection).toBeInstanceOf(StoreTimeoutError);
    expect(await rejection).toHaveProperty("message", "No answer within 1000 ms; whether the call took effect is not known.");
  });

  test("hands an answer that comes too late to the one who clears up, once", async () => {
    const clock = new ManualClock();
    const call = deferred<string>();
    const late: string[] = [];
    const answer = withinTime({ clock, ms: 1_000, late: (value) => void late.push(value) }, () => call.promise);
    const rejection = rejectionOf(answer);
    await clock.advance(1_000);

    call.resolve("too late");
    await settle();

    expect(await rejection).toBeInstanceOf(StoreTimeoutError);
    expect(late).toEqual(["too late"]);
  });

  test("does not go on with an answer that comes too late", async () => {
    const clock = new ManualClock();
    const call = deferred<string>();
    const wentOn: string[] = [];
    const answer = withinTime(
      { clock, ms: 1_000 },
      () => call.promise,
      (value) => void wentOn.push(value),
    );
    const rejection = rejectionOf(Promise.resolve(answer));
    await clock.advance(1_000);

    call.resolve("too late");
    await settle();

    expect(await rejection).toBeInstanceOf(StoreTimeoutError);
    expect(wentOn).toEqual([]);
  });

  test("lets a rejection that comes too late go", async () => {
    const clock = new ManualClock();
    const call = deferred<string>();
    const answer = withinTime({ clock, ms: 1_000 }, () => call.promise);
    const rejection = rejectionOf(answer);
    await clock.advance(1_000);

    call.reject(new Error("nobody hears this"));
    await settle();

    expect(await rejection).toBeInstanceOf(StoreTimeoutError);
  });

  test("waits no longer than until its scope is cancelled, and hands over what comes after that", async () => {
    const clock = new ManualClock();
    const call = deferred<string>();
    const late: string[] = [];
    const scope = new AbortScope();
    scope.cancellable = true;
    const answer = withinTime({ clock, ms: 1_000, scope, late: (value) => void late.push(value) }, () => call.promise);
    const rejection = rejectionOf(answer);

    scope.abort("only a word to the work");
    await clock.advance(999);
    scope.cancel("an answer is wanted now");
    expect(await rejection).toBe("only a word to the work");

    await clock.advance(10_000); // the limit is off
    call.resolve("too late");
    await settle();
    expect(late).toEqual(["too late"]);
    expect(clock.pending).toBe(0);
  });

  test("a cancellation after the answer clears nothing up", async () => {
    const clock = new ManualClock();
    const late: string[] = [];
    const scope = new AbortScope();
    scope.cancellable = true;

    const answer = withinTime({ clock, ms: 1_000, scope, late: (value) => void late.push(value) }, () => Promise.resolve("in time"));

    await expect(answer).resolves.toBe("in time");
    scope.cancel("later");
    await settle();
    expect(late).toEqual([]);
  });

  /** A clock and a scope that tell what still waits for them. */
  function watched() {
    const clock = new ManualClock();
    const scope = new AbortScope();
    scope.cancellable = true;
    const listening = new Set<() => void>();
    const onAbort = scope.onAbort.bind(scope);
    vi.spyOn(scope, "onAbort").mockImplementation((listener) => {
      const stop = onAbort(listener);
      listening.add(listener);
      return () => {
        listening.delete(listener);
        stop();
      };
    });
    const alarms = vi.spyOn(Alarms.prototype, "set");
    const left = () => ({
      listeners: listening.size,
      alarms: alarms.mock.calls.filter(([alarm]) => alarm.before !== undefined).length,
    });
    return { clock, scope, left };
  }

  const ends: readonly [string, (call: Deferred<string>, scope: AbortScope, clock: ManualClock) => unknown][] = [
    ["an answer", (call) => call.resolve("in time")],
    ["a failure", (call) => call.reject(new Error("connection lost"))],
    ["a cancellation", (_, scope) => scope.cancel("the caller is gone")],
    ["the end of the time", (_, __, clock) => clock.advance(1_000)],
  ];
  test.each(ends)("after %s nothing listens to the scope, and no alarm is set", async (_, end) => {
    const { clock, scope, left } = watched();
    const call = deferred<string>();
    const answer = withinTime({ clock, ms: 1_000, scope }, () => call.promise);
    const settled = Promise.allSettled([answer]);
    expect(left()).toEqual({ listeners: 1, alarms: 1 });

    await end(call, scope, clock);
    await settled;

    expect(left()).toEqual({ listeners: 0, alarms: 0 });
  });

  test("rejects with what goes wrong in going on", async () => {
    const error = new Error("unreadable");
    const limits = { clock: new ManualClock(), ms: 1_000 };
    const unreadable = (): never => {
      throw error;
    };

    const answer = withinTime(limits, () => Promise.resolve("answer"), unreadable);

    await expect(answer).rejects.toBe(error);
  });

  test("does not wait for the limits of other calls", async () => {
    const clock = new ManualClock();
    const slow = withinTime({ clock, ms: 5_000 }, () => new Promise(() => undefined));
    const quick = withinTime({ clock, ms: 1_000 }, () => new Promise(() => undefined));
    const outcomes = Promise.allSettled([slow, quick]);

    await clock.advance(1_000);
    await expect(quick).rejects.toBeInstanceOf(StoreTimeoutError);
    expect(clock.now()).toBe(1_000);

    await clock.advance(4_000);
    expect((await outcomes).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  });
});
