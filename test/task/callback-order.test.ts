import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  afterExecution,
  aroundExecution,
  beforeExecution,
  onComplete,
  onFailed,
  onKo,
  onOk,
  onSkipped,
  onSuccess,
  resetConfiguration,
  Task,
  type FailedOutcome,
  type Next,
} from "taskwright";
import { ofName, PausePoint, recordEvents } from "../support/builders.js";
import { settle } from "../support/manual-clock.js";

let story: string[] = [];
const note = (line: string): void => {
  story.push(line);
};

beforeEach(() => {
  story = [];
});
afterEach(() => {
  resetConfiguration();
});

describe("one after the other", () => {
  test("each callback is awaited before the next begins", async () => {
    const pause = new PausePoint();
    class Sample extends Task.with() {
      work(): void {}
      @onComplete() async slow(): Promise<void> {
        note("slow begins");
        await pause.pass();
        note("slow ends");
      }
      @onSuccess() next(): void {
        note("next");
      }
    }

    const running = Sample.execute();
    await pause.reached;
    await settle();
    expect(story).toEqual(["slow begins"]);
    pause.resume();
    await running;

    expect(story).toEqual(["slow begins", "slow ends", "next"]);
  });

  test("a completion callback that throws or rejects keeps none of the others from running", async () => {
    const events = recordEvents("observer_error");
    class Sample extends Task.with() {
      work(): never {
        return this.skip();
      }
      @afterExecution() throws(): void {
        throw new Error("a");
      }
      @onSkipped() rejects(): Promise<void> {
        return Promise.reject(new Error("b"));
      }
      @onOk() throwsNothing(): void {
        throw undefined as unknown as Error;
      }
      @onKo() last(): void {
        note("last");
      }
    }

    const result = await Sample.execute();

    expect(result.status).toBe("skipped");
    expect(story).toEqual(["last"]);
    expect(ofName(events, "observer_error").map(({ payload }) => [payload.observer, payload.error.message])).toEqual([
      ["the after_execution callback throws", "a"],
      ["the on_skipped callback rejects", "b"],
      ["the on_ok callback throwsNothing", "undefined was thrown, which is no Error"],
    ]);
  });

  test("a callback before the run that throws keeps the later ones from running, for the run has failed", async () => {
    class Sample extends Task.with() {
      work(): void {
        note("work");
      }
      @beforeExecution() throws(): void {
        throw new Error("a");
      }
      @beforeExecution() notReached(): void {
        note("not reached");
      }
      @onFailed() failed(outcome: FailedOutcome): void {
        note(outcome.error.message);
      }
    }

    await Sample.execute();

    expect(story).toEqual(["a"]);
  });
});

describe("around_execution", () => {
  test("nests, the first one written outermost, inherited ones outside", async () => {
    class Parent extends Task.with() {
      work(): void {
        note("work");
      }
      @aroundExecution() async outermost(next: Next): Promise<void> {
        note("> parent");
        await next();
        note("< parent");
      }
    }
    class Child extends Parent {
      @aroundExecution() async first(next: Next): Promise<void> {
        note("> first");
        await next();
        note("< first");
      }
      @aroundExecution() async second(next: Next): Promise<void> {
        note("> second");
        await next();
        note("< second");
      }
    }

    await Child.execute();

    expect(story).toEqual(["> parent", "> first", "> second", "work", "< second", "< first", "< parent"]);
  });

  test("sees a failure as a value", async () => {
    class Sample extends Task.with() {
      work(): never {
        throw new Error("declined");
      }
      @aroundExecution() async around(next: Next): Promise<void> {
        const outcome = await next();
        note(outcome.status === "failed" ? `${outcome.by}: ${outcome.error.message}` : outcome.status);
      }
    }

    await Sample.execute();

    expect(story).toEqual(["error: declined"]);
  });
});
