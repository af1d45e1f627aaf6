import { afterEach, beforeEach, expect, test } from "vitest";
import { configure, resetConfiguration, use, type Next, type Outcome, type Task } from "taskwright";
import { ofName, recordEvents, taskOf } from "../support/builders.js";
import { settle } from "../support/manual-clock.js";

let story: string[] = [];
beforeEach(() => {
  story = [];
});
afterEach(() => {
  resetConfiguration();
});

const worked = () => taskOf(() => story.push("work"));

test("next that is called after the middleware has answered does not run the work, and is told", async () => {
  const events = recordEvents("observer_error", "task_started");
  const Sample = worked();
  let kept: Next | undefined;
  use((_task: Task, next) => {
    kept = next;
  })(Sample);

  const result = await Sample.execute();
  const late = kept?.();

  expect(result.status).toBe("failed");
  await expect(late).rejects.toMatchObject({ name: "NextError" });
  await settle();
  expect(story).toEqual([]);
  expect(events.map(({ name }) => name)).toEqual(["observer_error"]);
});

test.each([
  [
    "threw",
    (): never => {
      throw new Error("broken");
    },
  ],
  ["halted", (task: Task): never => task.skip("closed")],
  ["answered with an outcome", (): Outcome => ({ status: "skipped", reason: "closed" })],
])("next that is called after the middleware %s does not run the work", async (_, answer) => {
  const Sample = worked();
  let kept: Next | undefined;
  use((task: Task, next) => {
    kept = next;
    return answer(task);
  })(Sample);

  await Sample.execute();
  kept?.().catch(() => undefined);
  await settle();

  expect(story).toEqual([]);
});

test("a second next that nobody waits for is no unhandled rejection; it is told once", async () => {
  const events = recordEvents("observer_error");
  const Sample = worked();
  use((_task: Task, next) => {
    void next();
    void next();
    void next();
  })(Sample);

  const result = await Sample.execute();
  await settle();

  expect(result.status).toBe("success");
  expect(story).toEqual(["work"]);
  expect(ofName(events, "observer_error")).toHaveLength(1);
});

test("a second next long after the run is over is told, too", async () => {
  const events = recordEvents("observer_error");
  const Sample = worked();
  let kept: Next | undefined;
  use(async (_task: Task, next) => {
    kept = next;
    await next();
  })(Sample);

  await Sample.execute();
  await expect(kept?.()).rejects.toMatchObject({ name: "NextError" });

  expect(story).toEqual(["work"]);
  expect(ofName(events, "observer_error")).toHaveLength(1);
});

test("a late next of one middleware does not run the middlewares inside it", async () => {
  const Sample = worked();
  let kept: Next | undefined;
  configure((config) => {
    config.use((_task: Task, next) => {
      kept = next;
    });
    config.use(async (_task: Task, next) => {
      story.push("inner");
      await next();
    });
  });

  await Sample.execute();
  kept?.().catch(() => undefined);
  await settle();

  expect(story).toEqual([]);
});
