import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  afterExecution,
  callback,
  configure,
  onComplete,
  onOk,
  onSuccess,
  resetConfiguration,
  Task,
  type SuccessOutcome,
} from "taskwright";
import { z } from "zod";
import { taskOf } from "../support/builders.js";

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
