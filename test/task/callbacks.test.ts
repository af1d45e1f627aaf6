import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  afterExecution,
  aroundExecution,
  beforeExecution,
  callback,
  configure,
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
  type SuccessOutcome,
} from "taskwright";
import { z } from "zod";
import { ofName, PausePoint, recordEvents, taskOf } from "../support/builders.js";
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

describe("callbacks on methods", () => {
  test("of one name run in the order in which they are written", async () => {
    class Sample extends Task.with() {
      work(): void {}
      @onSuccess() first(): void {
        note("first");
      }
      @onSuccess() second(): void {
        note("second");
      }
      @onSuccess() third(): void {
        note("third");
      }
    }

    await Sample.execute();

    expect(story).toEqual(["first", "second", "third"]);
  });

  test("have the task as this, and get the outcome", async () => {
    class Sample extends Task.with({ input: z.object({ id: z.number() }) }) {
      work(): { doubled: number } {
        return { doubled: this.input.id * 2 };
      }
      @onSuccess() tell(outcome: SuccessOutcome): void {
        note(`${this.input.id} ${this.attempt} ${JSON.stringify(outcome.output)}`);
      }
    }

    await Sample.execute({ id: 4 });

    expect(story).toEqual(['4 1 {"doubled":8}']);
  });

  test("may be private, named by a symbol, or serve several callbacks", async () => {
    const key = Symbol("key");
    class Sample extends Task.with() {
      work(): void {}
      @onSuccess() @onComplete() @afterExecution() several(): void {
        note("several");
      }
      @onOk() [key](): void {
        note("symbol");
      }
    }

    await Sample.execute();

    expect(story).toEqual(["several", "several", "several", "symbol"]);
  });

  test("that a subclass overrides run once, as the subclass has them", async () => {
    class Parent extends Task.with() {
      work(): void {}
      @onSuccess() tell(): void {
        note("parent");
      }
    }
    class Overriding extends Parent {
      override tell(): void {
        note("overridden");
      }
    }
    class Redecorating extends Parent {
      @onSuccess() override tell(): void {
        note("redecorated");
        super.tell();
      }
    }

    await Overriding.execute();
    await Redecorating.execute();
    await Parent.execute();

    expect(story).toEqual(["overridden", "redecorated", "parent", "parent"]);
  });

  test("of the parent come before those of the child, and siblings share nothing", async () => {
    class Parent extends Task.with() {
      work(): void {}
      @onSuccess() inherited(): void {
        note("parent");
      }
    }
    class One extends Parent {
      @onSuccess() own(): void {
        note("one");
      }
    }
    class Two extends Parent {
      @onSuccess() own(): void {
        note("two");
      }
    }

    await One.execute();
    await Two.execute();
    await Parent.execute();

    expect(story).toEqual(["parent", "one", "parent", "two", "parent"]);
  });

  test("that a subclass takes over with another gate follow that gate", async () => {
    class Parent extends Task.with() {
      work(): void {}
      @onSuccess() tell(): void {
        note("told");
      }
    }
    class Silent extends Parent {
      @onSuccess({ if: () => false }) override tell(): void {
        note("never");
      }
    }

    await Silent.execute();
    await Parent.execute();

    expect(story).toEqual(["told"]);
  });
});

describe("one method decorated several times for one callback", () => {
  class Parent extends Task.with({ input: z.object({ amount: z.number() }) }) {
    work(): void {}
    @onSuccess<Parent>({ if: (task) => task.input.amount > 10 })
    @onSuccess<Parent>({ if: (task) => task.input.amount < 0 })
    unusual(): void {
      note("unusual");
    }
    @onSuccess() last(): void {
      note("last");
    }
  }

  test("runs for each of them whose gates pass", async () => {
    for (const amount of [5, 50, -5]) await Parent.execute({ amount });

    expect(story).toEqual(["last", "unusual", "last", "unusual", "last"]);
  });

  test("is taken over as a whole by a subclass that decorates it again, in its place", async () => {
    class Child extends Parent {
      @onSuccess() override unusual(): void {
        note("always");
      }
    }

    await Child.execute({ amount: 5 });
    await Parent.execute({ amount: 5 });

    expect(story).toEqual(["always", "last", "last"]);
  });
});

describe("callbacks as functions", () => {
  test("get the task as this and as first argument, then the outcome", async () => {
    const Sample = taskOf(() => 7);
    callback("on_success", function (task, outcome) {
      note(`${this === task} ${task.runId === this.runId} ${String(outcome.output)}`);
    })(Sample);

    await Sample.execute();

    expect(story).toEqual(["true true 7"]);
  });

  test("of the configuration come before those of the class", async () => {
    class Sample extends Task.with() {
      work(): void {}
      @onSuccess() own(): void {
        note("class");
      }
    }
    configure((config) => config.callback("on_success", () => note("configuration")));

    await Sample.execute();

    expect(story).toEqual(["configuration", "class"]);
  });

  test("are added to a class that has run already", async () => {
    const Sample = taskOf(() => 7);
    await Sample.execute();
    callback("on_success", () => note("late"))(Sample);

    await Sample.execute();

    expect(story).toEqual(["late"]);
  });
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

describe("gates of a callback", () => {
  test("let it run only when both pass, and are asked with the task", async () => {
    class Sample extends Task.with({ input: z.object({ amount: z.number() }) }) {
      work(): void {}
    }
    callback<"on_success", Sample>("on_success", () => note("big"), {
      if(task) {
        return this === task && task.input.amount > 10;
      },
      unless: (task) => task.input.amount > 100,
    })(Sample);

    for (const amount of [5, 50, 500]) await Sample.execute({ amount });

    expect(story).toEqual(["big"]);
  });

  test("that throw in a completion callback are reported, and the callback does not run", async () => {
    const events = recordEvents("observer_error");
    const Sample = taskOf(() => 1);
    const broken = (): boolean => {
      throw new Error("gate");
    };
    callback("on_success", () => note("ran"), { if: broken })(Sample);

    expect((await Sample.execute()).status).toBe("success");
    expect(story).toEqual([]);
    expect(ofName(events, "observer_error")).toHaveLength(1);
  });

  test("that throw before the run fail it", async () => {
    const Sample = taskOf(() => 1);
    const broken = (): boolean => {
      throw new Error("gate");
    };
    callback("before_execution", () => note("ran"), { unless: broken })(Sample);

    expect(await Sample.execute()).toMatchObject({ status: "failed", reason: "gate" });
    expect(story).toEqual([]);
  });

  test("that answer with a promise are refused, also when it rejects", async () => {
    const Sample = taskOf(() => 1);
    const late = (): boolean => Promise.reject(new Error("nobody hears this")) as unknown as boolean;
    callback("before_execution", () => note("ran"), { if: late })(Sample);

    const result = await Sample.execute();

    expect(result).toMatchObject({ status: "failed", error: { name: "DefinitionError" } });
    expect(result.reason).toContain("answered with a promise");
    await settle();
  });
});
