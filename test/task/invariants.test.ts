/**
 * Tasks put together by chance: every place of a run may throw, halt, answer oddly or do its duty. Whatever comes together, what the
 * page on one run promises must hold.
 */
import { getEventListeners } from "node:events";
import * as fc from "fast-check";
import { afterEach, expect, test } from "vitest";
import { callback, configure, deprecated, resetConfiguration, retryOn, Task, use, type Next, type Outcome, type Result } from "taskwright";
import { z } from "zod";
import { settle } from "../support/manual-clock.js";

afterEach(() => {
  resetConfiguration();
});

const odd = fc.constantFrom<unknown>(
  new Error("thrown"),
  "text",
  undefined,
  null,
  { status: "success" },
  Symbol("s"),
  Object.freeze(new TypeError("frozen")),
);
const act = fc.oneof(
  { weight: 4, arbitrary: fc.constant({ kind: "nothing" as const }) },
  { weight: 1, arbitrary: odd.map((value) => ({ kind: "throw" as const, value })) },
  { weight: 1, arbitrary: odd.map((value) => ({ kind: "reject" as const, value })) },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom("skip" as const, "fail" as const, "success" as const, "wrong success" as const)
      .map((halt) => ({ kind: "halt" as const, halt })),
  },
  { weight: 1, arbitrary: fc.constantFrom("skip" as const, "fail" as const).map((halt) => ({ kind: "swallowed" as const, halt })) },
  { weight: 1, arbitrary: fc.constant({ kind: "wait" as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: "abort" as const }) },
);
type Act = typeof act extends fc.Arbitrary<infer A> ? A : never;

const link = fc.record({
  before: act,
  next: fc.constantFrom(
    "await" as const,
    "await" as const,
    "return" as const,
    "leave" as const,
    "twice" as const,
    "never" as const,
    "late" as const,
    "outcome" as const,
    "wrong" as const,
  ),
  after: act,
});
type LinkPlan = typeof link extends fc.Arbitrary<infer L> ? L : never;

const plan = fc.record({
  middlewares: fc.array(link, { maxLength: 2 }),
  arounds: fc.array(link, { maxLength: 2 }),
  before_execution: act,
  before_validation: act,
  work: act,
  failures: fc.nat({ max: 3 }),
  output: fc.constantFrom<unknown>({ id: "a" }, { id: 5 }, undefined),
  rollback: act,
  completion: fc.record({ after_execution: act, on_success: act, on_failed: act, on_ko: act }),
  listener: act,
  deprecation: fc.constantFrom<"none" | "log" | "fail">("none", "none", "none", "log", "fail"),
  given: fc.constantFrom<unknown>({ id: "a" }, { id: "a" }, { id: 5 }, undefined, null),
  retries: fc.nat({ max: 2 }),
});

interface World {
  readonly controller: AbortController;
  readonly story: string[];
}

type Success = Task & { success(output: unknown): never };

function doAct(action: Act, task: Task, { controller }: World): unknown {
  switch (action.kind) {
    case "nothing":
      return undefined;
    case "throw":
      throw action.value;
    case "reject":
      return Promise.reject(action.value);
    case "halt":
      return halt(action.halt, task);
    case "swallowed":
      try {
        return task[action.halt]("swallowed");
      } catch {
        return undefined;
      }
    case "wait":
      return settle();
    case "abort":
      return controller.abort(new Error("called off"));
  }
}

function halt(how: "skip" | "fail" | "success" | "wrong success", task: Task): never {
  if (how === "success") return (task as Success).success({ id: "halted" });
  return how === "wrong success" ? (task as Success).success({ id: 5 }) : task[how]("halted");
}

function linkOf(steps: LinkPlan, world: World) {
  return async (task: Task, next: Next): Promise<Outcome | void> => {
    await doAct(steps.before, task, world);
    switch (steps.next) {
      case "never":
        return;
      case "late":
        setImmediate(() => void next());
        return;
      case "wrong":
        return { status: "success", output: { id: 5 } };
      case "outcome":
        return { status: "skipped", reason: "turned away" };
      case "return":
        return next();
      case "leave":
        void next();
        break;
      case "twice":
        void next();
        void next();
        break;
      case "await":
        await next();
    }
    await doAct(steps.after, task, world);
  };
}

type Plan = typeof plan extends fc.Arbitrary<infer P> ? P : never;

function taskOfPlan(steps: Plan, world: World) {
  class Fuzzed extends Task.with({ input: z.object({ id: z.string() }), output: z.object({ id: z.string() }) }) {
    async work(): Promise<{ id: string }> {
      world.story.push("work");
      await doAct(steps.work, this, world);
      if (this.attempt <= steps.failures) throw new Error("flaky");
      return steps.output as { id: string };
    }
    override rollback(): unknown {
      world.story.push("rollback");
      return doAct(steps.rollback, this, world);
    }
  }
  for (const middleware of steps.middlewares) use(linkOf(middleware, world))(Fuzzed);
  for (const around of steps.arounds) callback("around_execution", (task, next) => linkOf(around, world)(task, next))(Fuzzed);
  callback("before_execution", (task) => doAct(steps.before_execution, task, world))(Fuzzed);
  callback("before_validation", (task) => doAct(steps.before_validation, task, world))(Fuzzed);
  for (const [name, action] of Object.entries(steps.completion)) {
    // One name stands for all: the callbacks differ in what they are given, and this one takes only the task.
    callback(name as "after_execution", (task) => {
      world.story.push(name);
      return doAct(action, task, world);
    })(Fuzzed);
  }
  if (steps.deprecation !== "none") deprecated("use another", { action: steps.deprecation })(Fuzzed);
  retryOn(() => true, { limit: steps.retries, delay: 0 })(Fuzzed);
  return Fuzzed;
}

async function runPlan(steps: Plan) {
  resetConfiguration();
  const world: World = { controller: new AbortController(), story: [] };
  const executed: Result[] = [];
  configure((config) => {
    config.telemetry.subscribe("task_started", () => world.story.push("* task_started"));
    config.telemetry.subscribe("task_executed", ({ payload }) => executed.push(payload.result));
    config.telemetry.subscribe("task_started", ({ payload }) =>
      steps.listener.kind === "throw" ? doAct(steps.listener, payload as Task, world) : undefined,
    );
    config.telemetry.subscribe("observer_error", () => undefined); // so that nothing is written to the console
  });
  let seen: Outcome | undefined;
  configure((config) =>
    config.use(async (_task: Task, next) => {
      seen = await next();
    }),
  );
  const Fuzzed = taskOfPlan(steps, world);
  const result = await Fuzzed.execute(steps.given as { id: string }, { signal: world.controller.signal });
  const lengthAtAnswer = world.story.length;
  await settle();
  await settle();
  return { result, executed, seen, wentOn: world.story.length > lengthAtAnswer, ...world };
}

type Told = Awaited<ReturnType<typeof runPlan>>;

/** The promises of the page on one run, each with whether it was kept. */
function promises(steps: Plan, { result, executed, seen, story, wentOn, controller }: Told): Record<string, boolean> {
  const count = (line: string): number => story.filter((other) => other === line).length;
  const started = count("* task_started");
  const { status } = result;
  return {
    "one answer, for the caller and the listeners": executed.length === 1 && executed[0] === result && Object.isFrozen(result),
    "the middlewares see what the caller gets": seen?.status === status,
    "work is entered no more often than retries allow": count("work") <= steps.retries + 1,
    "retries are counted": result.retries === Math.max(0, count("work") - 1),
    "an input that does not fit keeps work from being entered": result.metadata.code !== "invalid_input" || count("work") === 0,
    "after_execution runs exactly when the task has started": count("after_execution") === started,
    "so does on_success after a success": count("on_success") === (status === "success" ? started : 0),
    "and on_failed after a failure": count("on_failed") === (status === "failed" ? started : 0),
    "and on_ko after all but a success": count("on_ko") === (status === "success" ? 0 : started),
    "there is at most one rollback, of work that was entered and failed":
      count("rollback") === 0 || (count("rollback") === 1 && status === "failed" && count("work") > 0),
    "every success was verified": status !== "success" || typeof result.output.id === "string",
    "nothing goes on after the answer, unless the run was called off": !wentOn || controller.signal.aborted,
    "no listener is left on the signal": getEventListeners(controller.signal, "abort").length === 0,
  };
}

const broken = (kept: Record<string, boolean>): string[] => Object.keys(kept).filter((promise) => kept[promise] !== true);

test("whatever happens in a run, it answers once, and as promised", async () => {
  await fc.assert(
    fc.asyncProperty(plan, async (steps) => {
      expect(broken(promises(steps, await runPlan(steps)))).toEqual([]);
    }),
    { numRuns: 400 },
  );
});

test("a failure after work was entered is rolled back, whatever made it fail inside the policies", async () => {
  await fc.assert(
    fc.asyncProperty(plan, async (steps) => {
      const nothing: Act = { kind: "nothing" };
      const inside: Plan = { ...steps, middlewares: [], arounds: [], before_execution: nothing, before_validation: nothing };
      const { result, story } = await runPlan(inside);

      expect(story.includes("rollback")).toBe(result.status === "failed" && story.includes("work"));
    }),
    { numRuns: 200 },
  );
});
