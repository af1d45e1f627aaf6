import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { systemClock } from "../../src/support/clock.js";

// Fake timers hold the global clock, and not the one that modules import.
vi.mock("node:perf_hooks", () => ({ performance: { now: () => globalThis.performance.now() } }));

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("a timer of the machine's clock", () => {
  test("calls back once, when its time has come", () => {
    const called = vi.fn<() => void>();
    systemClock.timer(1_000, called);

    vi.advanceTimersByTime(999);
    expect(called).not.toHaveBeenCalled();
    vi.advanceTimersByTime(5_000);

    expect(called).toHaveBeenCalledTimes(1);
  });

  test("can be called off, also twice, and also too late", () => {
    const called = vi.fn<() => void>();
    const cancel = systemClock.timer(1_000, called);

    cancel();
    cancel();
    vi.advanceTimersByTime(2_000);

    expect(called).not.toHaveBeenCalled();
    expect(vi.getTimerCount()).toBe(0);
  });

  test("keeps times beyond those that setTimeout keeps", () => {
    const called = vi.fn<() => void>();
    const days = 60;
    systemClock.timer(days * 86_400_000, called);

    vi.advanceTimersByTime(days * 86_400_000 - 1);
    expect(called).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);

    expect(called).toHaveBeenCalledTimes(1);
  });

  test("that long can be called off after its first leg", () => {
    const called = vi.fn<() => void>();
    const cancel = systemClock.timer(60 * 86_400_000, called);
    vi.advanceTimersByTime(30 * 86_400_000);

    cancel();

    expect(vi.getTimerCount()).toBe(0);
    vi.advanceTimersByTime(60 * 86_400_000);
    expect(called).not.toHaveBeenCalled();
  });

  test("in the background keeps no process alive, and one that is not does", () => {
    vi.useRealTimers();
    const keepingAlive = (): number => process.getActiveResourcesInfo().filter((resource) => resource === "Timeout").length;
    const before = keepingAlive();

    const cancelBackground = systemClock.timer(60 * 86_400_000, () => undefined, { background: true });
    expect(keepingAlive()).toBe(before);
    const cancel = systemClock.timer(60 * 86_400_000, () => undefined);
    expect(keepingAlive()).toBe(before + 1);

    cancel();
    cancelBackground();
    expect(keepingAlive()).toBe(before);
  });
});

describe("now and epoch", () => {
  test("now never goes back when the time of day does", () => {
    const before = systemClock.now();
    vi.setSystemTime(0);

    expect(systemClock.epoch()).toBe(0);
    expect(systemClock.now()).toBeGreaterThanOrEqual(before);
  });
});
