import { getEventListeners } from "node:events";
import { describe, expect, test } from "vitest";
import { AbortScope } from "../../src/support/abort.js";

const listeners = (signal: AbortSignal): number => getEventListeners(signal, "abort").length;

describe("a scope of nobody", () => {
  test("cannot be cancelled from outside, and its signal does not abort", () => {
    const scope = new AbortScope();

    expect([scope.cancellable, scope.aborted, scope.cancelled, scope.signal.aborted]).toEqual([false, false, false, false]);
    expect(() => scope.dispose()).not.toThrow();
  });
});

describe("a scope under a signal", () => {
  test("is cancelled with it, with the same reason", () => {
    const controller = new AbortController();
    const scope = new AbortScope(undefined, controller.signal);
    const { signal } = scope;
    const reason = new Error("closing time");

    controller.abort(reason);

    expect([scope.cancellable, scope.aborted, scope.cancelled]).toEqual([true, true, true]);
    expect(scope.reason).toBe(reason);
    expect(signal.reason).toBe(reason);
  });

  test("that was aborted before is cancelled from the start and listens to nothing", () => {
    const signal = AbortSignal.abort("early");

    const scope = new AbortScope(undefined, signal);

    expect([scope.cancelled, scope.reason, scope.signal.reason]).toEqual([true, "early", "early"]);
    expect(listeners(signal)).toBe(0);
  });

  test("listens once, and no more after dispose", () => {
    const controller = new AbortController();
    const scope = new AbortScope(undefined, controller.signal);
    expect(listeners(controller.signal)).toBe(1);

    scope.dispose();
    scope.dispose();
    controller.abort();

    expect(listeners(controller.signal)).toBe(0);
    expect(scope.aborted).toBe(false);
  });
});

describe("a scope inside another", () => {
  test("is cancelled when the outer one is aborted or cancelled, and never the other way round", () => {
    const outer = new AbortScope();
    const inner = new AbortScope(outer);
    const other = new AbortScope(outer);

    inner.cancel("inner");
    expect([outer.aborted, other.aborted]).toEqual([false, false]);
    outer.abort("outer");

    expect([outer.cancelled, other.cancelled, other.reason, inner.reason]).toEqual([false, true, "outer", "inner"]);
  });

  test("that begins when the outer one is over is cancelled from the start", () => {
    const outer = new AbortScope();
    outer.abort("over");

    expect(new AbortScope(outer).cancelled).toBe(true);
  });

  test("hears no more after dispose", () => {
    const outer = new AbortScope();
    const inner = new AbortScope(outer);

    inner.dispose();
    outer.cancel("late");

    expect(inner.aborted).toBe(false);
  });

  test("under a signal as well hears whichever comes first, and leaves both", () => {
    const controller = new AbortController();
    const outer = new AbortScope();
    const inner = new AbortScope(outer, controller.signal);

    controller.abort("signal");
    outer.cancel("outer");
    inner.dispose();

    expect(inner.reason).toBe("signal");
    expect(listeners(controller.signal)).toBe(0);
  });
});

describe("abort and cancel", () => {
  test("the first reason stays; a cancellation after an abort still calls back, an abort after a cancellation does not", () => {
    const scope = new AbortScope();
    const seen: unknown[] = [];
    scope.onAbort(() => seen.push([scope.reason, scope.cancelled]));

    scope.abort("first");
    scope.abort("second");
    scope.cancel("third");
    scope.cancel("fourth");
    scope.abort("fifth");

    expect(seen).toEqual([
      ["first", false],
      ["first", true],
    ]);
  });

  test("a listener that was taken away is not called, also when another one takes it away meanwhile by the next call", () => {
    const scope = new AbortScope();
    const seen: string[] = [];
    const stop = scope.onAbort(() => seen.push("stopped"));
    scope.onAbort(() => seen.push("kept"));

    stop();
    stop();
    scope.abort("now");

    expect(seen).toEqual(["kept"]);
  });

  test("a signal that is asked for after the abort is aborted with its reason", () => {
    const scope = new AbortScope();
    scope.abort("gone");

    expect([scope.signal.aborted, scope.signal.reason]).toEqual([true, "gone"]);
    expect(scope.signal).toBe(scope.signal);
  });
});
