import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { aroundExecution, resetConfiguration, use, type Next, type Outcome, type Task, type TaskDecorator } from "taskwright";
import { ofName, PausePoint, recordEvents, taskOf } from "../support/builders.js";

let story: string[] = [];
const note = (line: string): void => {
  story.push(line);
};
const worked = () => taskOf(() => note("work"));

beforeEach(() => {
  story = [];
});
afterEach(() => {
  resetConfiguration();
});

const asMiddleware = (link: (task: Task, next: Next) => unknown): TaskDecorator => use(link as never);

/** The same things hold for a middleware and for an around_execution callback. */
describe.each([
  ["a middleware", "the middleware culprit", asMiddleware],
  [
    "an around_execution callback",
    "the around_execution callback culprit",
    (link: (task: Task, next: Next) => unknown): TaskDecorator => {
      return (target) => {
        Object.defineProperty(target.prototype, "culprit", {
          value(this: Task, next: Next) {
            return link(this, next);
          },
        });
        const decorate = aroundExecution() as unknown as (target: object, key: string, descriptor: PropertyDescriptor) => void;
        decorate(target.prototype as object, "culprit", Object.getOwnPropertyDescriptor(target.prototype, "culprit") ?? {});
      };
    },
  ],
])("%s", (_, name, put) => {
  test("that never calls next and answers with nothing fails the run with an error that names it", async () => {
    const Sample = worked();
    put(function culprit() {})(Sample);

    const result = await Sample.execute();

    expect(result).toMatchObject({ status: "failed", error: { name: "NextError" }, retryable: false });
    expect(result.reason).toBe(`${name} never called next and answered with no outcome. Call next, or return an outcome, skip or fail.`);
    expect(story).toEqual([]);
  });

  test.each([
    ["a number", 1],
    ["an object", {}],
    ["a status that does not exist", { status: "done" }],
    ["a failure without an error", { status: "failed" }],
  ])("that answers with %s instead of an outcome is such an error, too", async (_kind, answer) => {
    const Sample = worked();
    put(function culprit() {
      return answer;
    })(Sample);

    expect(await Sample.execute()).toMatchObject({ status: "failed", error: { name: "NextError" } });
  });

  test("that calls next twice runs the work once; the error names it and the outcome stands", async () => {
    const events = recordEvents("observer_error");
    const Sample = worked();
    put(async function culprit(_task, next) {
      await next();
      await next();
    })(Sample);

    const result = await Sample.execute();

    expect(story).toEqual(["work"]);
    expect(result.status).toBe("success");
    expect(ofName(events, "observer_error").map(({ payload }) => payload.error.message)).toEqual([
      `${name} called next twice. The run went on once; call next a single time.`,
    ]);
  });

  test("that calls next twice at once and swallows the error is reported all the same", async () => {
    const events = recordEvents("observer_error");
    const Sample = worked();
    put(async function culprit(_task, next) {
      await Promise.allSettled([next(), next(), next()]);
    })(Sample);

    await Sample.execute();

    expect(story).toEqual(["work"]);
    expect(ofName(events, "observer_error")).toHaveLength(1);
  });

  test("that throws before next fails the run; work is not entered", async () => {
    const Sample = worked();
    put(function culprit() {
      throw new Error("broken");
    })(Sample);

    expect(await Sample.execute()).toMatchObject({ status: "failed", reason: "broken" });
    expect(story).toEqual([]);
  });

  test("that throws while the run is under way waits for it, and changes nothing", async () => {
    const events = recordEvents("observer_error");
    const pause = new PausePoint();
    const Sample = taskOf(async () => {
      await pause.pass();
      return "done";
    });
    put(function culprit(_task, next) {
      void next();
      throw new Error("impatient");
    })(Sample);

    const running = Sample.execute();
    await pause.reached;
    pause.resume();

    expect(await running).toMatchObject({ status: "success", output: "done" });
    expect(ofName(events, "observer_error")[0]?.payload).toMatchObject({ observer: name, error: { message: "impatient" } });
  });

  test.each<[string, Outcome, object]>([
    ["success", { status: "success", output: "cached" }, { status: "success", output: "cached" }],
    ["skip", { status: "skipped", reason: "closed", metadata: { code: "closed" } }, { status: "skipped", metadata: { code: "closed" } }],
    [
      "failure",
      { status: "failed", by: "refused", error: new Error("closed"), retryable: false },
      { status: "failed", reason: "closed", retryable: false },
    ],
  ])("may answer with a %s of its own instead of next", async (_kind, outcome, expected) => {
    const Sample = worked();
    put(function culprit() {
      return outcome;
    })(Sample);

    expect(await Sample.execute()).toMatchObject(expected);
    expect(story).toEqual([]);
  });

  test("that answers with an outcome of its own after next is too late", async () => {
    const events = recordEvents("observer_error");
    const Sample = taskOf((): never => {
      throw new Error("declined");
    });
    put(async function culprit(_task, next) {
      await next();
      return { status: "success", output: "nothing happened" };
    })(Sample);

    expect(await Sample.execute()).toMatchObject({ status: "failed", reason: "declined" });
    expect(ofName(events, "observer_error")[0]?.payload.error.message).toContain(`${name} answered with an outcome of its own after next`);
  });
});
