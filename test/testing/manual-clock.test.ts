import { expect, test, vi } from "vitest";
import { configure, MemoryStore, resetConfiguration, retryOn, Task } from "taskwright";
import { ManualClock } from "taskwright/testing";

test("a manual clock stands still until it is moved", async () => {
  const clock = new ManualClock(Date.UTC(2031, 0, 1));
  expect([clock.now(), clock.epoch()]).toEqual([0, Date.UTC(2031, 0, 1)]);
  await clock.advance(1_500);
  expect([clock.now(), clock.epoch()]).toEqual([1_500, Date.UTC(2031, 0, 1) + 1_500]);
});

test("timers fire in the order in which they are due, each at its own time", async () => {
  const clock = new ManualClock();
  const fired: [string, number][] = [];
  const note = (name: string) => () => fired.push([name, clock.now()]);
  clock.timer(30, note("late"));
  clock.timer(10, note("early"));
  clock.timer(10, note("as early, but set later"));
  clock.timer(31, note("beyond"));
  await clock.advance(30);
  expect(fired).toEqual([
    ["early", 10],
    ["as early, but set later", 10],
    ["late", 30],
  ]);
  expect(clock.pending).toBe(1);
});

test("what follows from a timer has happened before the next one fires", async () => {
  const clock = new ManualClock();
  const seen: string[] = [];
  clock.timer(10, () => {
    void (async () => {
      for (let hops = 0; hops < 50; hops += 1) await Promise.resolve();
      seen.push("a long chain of promises");
      clock.timer(5, () => seen.push("a timer set by it"));
    })();
  });
  clock.timer(20, () => seen.push("the next timer"));
  await clock.advance(20);
  expect(seen).toEqual(["a long chain of promises", "a timer set by it", "the next timer"]);
});

test("a timer that was called off does not fire", async () => {
  const clock = new ManualClock();
  const callback = vi.fn<() => void>();
  clock.timer(10, callback)();
  await clock.advance(10);
  expect(callback).not.toHaveBeenCalled();
  expect(clock.pending).toBe(0);
});

test("a jump moves the wall clock and nothing else", async () => {
  const clock = new ManualClock(1_000_000);
  const callback = vi.fn<() => void>();
  clock.timer(100, callback);
  clock.jump(-500);
  await clock.advance(0);
  expect([clock.now(), clock.epoch()]).toEqual([0, 999_500]);
  expect(callback).not.toHaveBeenCalled();
});

test("it works while the runner's own fake timers are on", async () => {
  vi.useFakeTimers({ toFake: ["setImmediate", "setTimeout", "queueMicrotask"] });
  try {
    const clock = new ManualClock();
    const callback = vi.fn<() => void>();
    clock.timer(10, callback);
    await clock.advance(10);
    expect(callback).toHaveBeenCalledOnce();
  } finally {
    vi.useRealTimers();
  }
});

test("a task that waits between its attempts goes on when the clock does", async () => {
  const clock = new ManualClock();
  configure((config) => (config.clock = clock));
  let attempts = 0;
  class Flaky extends Task.with() {
    work() {
      attempts += 1;
      if (attempts < 3) throw new Error("not yet");
    }
  }
  retryOn(Error, { limit: 3, delay: 10 })(Flaky);

  const result = Flaky.execute();
  await clock.advance(9_999);
  expect(attempts).toBe(1);
  await clock.advance(10_001);
  expect((await result).status).toBe("success");
  resetConfiguration();
});

test("a store that reads it forgets when it says so", async () => {
  const clock = new ManualClock();
  const store = new MemoryStore({ clock });
  await store.set("key", "completed", { ttlMs: 1_000 });
  await clock.advance(1_000);
  expect(await store.get("key")).toBeUndefined();
});
