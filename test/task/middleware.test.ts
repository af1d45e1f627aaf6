import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { configure, resetConfiguration, Task, use, type FailedOutcome, type Next, type Outcome } from "taskwright";
import { PausePoint, taskOf } from "../support/builders.js";

let story: string[] = [];
const note = (line: string): void => {
  story.push(line);
};
/** A middleware that tells of itself. */
const telling = (name: string) => async (_task: Task, next: Next) => {
  note(`> ${name}`);
  const outcome = await next();
  note(`< ${name} ${outcome.status}`);
};
const worked = () => taskOf(() => note("work"));

beforeEach(() => {
  story = [];
});
afterEach(() => {
  resetConfiguration();
});

describe("the order of middlewares", () => {
  test("configured ones are outermost, then the parent's, then the child's; of one class the uppermost is the outermost", async () => {
    configure((config) => {
      config.use(telling("config 1"));
      config.use(telling("config 2"));
    });
    @use(telling("parent 1"))
    @use(telling("parent 2"))
    abstract class Parent extends Task {}
    @use(telling("child 1"))
    @use(telling("child 2"))
    class Child extends Parent.with() {
      work(): void {
        note("work");
      }
    }

    await Child.execute();

    expect(story.slice(0, 7)).toEqual(["> config 1", "> config 2", "> parent 1", "> parent 2", "> child 1", "> child 2", "work"]);
    expect(story[12]).toBe("< config 1 success");
  });

  test("an object with call has itself as this", async () => {
    const Sample = worked();
    const meter = {
      count: 0,
      async call(_task: Task, next: Next) {
        this.count += 1;
        await next();
      },
    };
    use(meter)(Sample);

    await Sample.execute();

    expect(meter.count).toBe(1);
  });

  test("one put on a class that has run takes part from then on, and its parent's runs go without it", async () => {
    const Parent = worked();
    class Child extends Parent {}
    await Child.execute();
    use(telling("late"))(Child);

    await Child.execute();
    await Parent.execute();

    expect(story).toEqual(["work", "> late", "work", "< late success", "work"]);
  });

  test("gates let it out: then the run goes on without it", async () => {
    const Sample = worked();
    use(telling("never"), { if: () => false })(Sample);
    use(telling("not either"), { unless: () => true })(Sample);
    use(telling("always"), { if: () => true, unless: () => false })(Sample);

    await Sample.execute();

    expect(story).toEqual(["> always", "work", "< always success"]);
  });

  test("a gate that throws fails the run before it starts", async () => {
    const Sample = worked();
    const broken = (): boolean => {
      throw new Error("gate");
    };
    use(telling("never"), { if: broken })(Sample);

    expect(await Sample.execute()).toMatchObject({ status: "failed", reason: "gate" });
    expect(story).toEqual([]);
  });
});

describe("what next gives", () => {
  test("is the failure as a value: nothing is thrown through a middleware", async () => {
    const error = new Error("declined");
    const Sample = taskOf(() => {
      throw error;
    });
    let seen: Outcome | undefined;
    use(async (_task: Task, next) => {
      seen = await next();
    })(Sample);

    await Sample.execute();

    expect(seen).toMatchObject({ status: "failed", by: "error", error, reason: "declined" });
  });

  test("tells a failure by halt and a refusal from an error", async () => {
    const seen: string[] = [];
    configure((config) =>
      config.use(async (_task: Task, next) => {
        const outcome = await next();
        seen.push(outcome.status === "failed" ? outcome.by : outcome.status);
      }),
    );
    const throws = taskOf(() => {
      throw new Error("declined");
    });

    await throws.execute();
    await taskOf((task) => task.fail()).execute();
    await worked().execute({}, { signal: AbortSignal.abort() });
    await taskOf((task) => task.skip()).execute();

    expect(seen).toEqual(["error", "halt", "refused", "skipped"]);
  });

  test("is the same promise's outcome whether it is awaited, returned or left alone", async () => {
    const ways: ((next: Next) => Promise<Outcome> | void)[] = [
      (next) => next(),
      (next) => {
        void next();
      },
    ];

    for (const way of ways) {
      const pause = new PausePoint();
      const Sample = taskOf(async () => {
        await pause.pass();
        return "done";
      });
      use((_task: Task, next) => way(next))(Sample);
      const running = Sample.execute();
      await pause.reached;
      pause.resume();

      expect(await running).toMatchObject({ status: "success", output: "done" });
    }
  });
});

test("a failure of its own that carries no reason takes it from the error", async () => {
  const Sample = worked();
  const outcome: FailedOutcome = { status: "failed", by: "refused", error: new Error("closed"), retryable: true };
  use(() => outcome)(Sample);

  expect(await Sample.execute()).toMatchObject({ reason: "closed", origin: { task: "Sample" } });
});
