/**
 * The weak points that were found in CMDx, by their numbers, each with what holds here instead. Where a weak point is about
 * something that this library has no use for (workflows, hand-made coercions), the nearest thing that it has is tested, and a comment
 * says which.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  aroundExecution,
  beforeExecution,
  beforeValidation,
  chainTree,
  configure,
  deprecated,
  Fault,
  idempotentBy,
  isFault,
  onFailed,
  onKo,
  onSuccess,
  resetConfiguration,
  retryOn,
  settings,
  Task,
  use,
  type ChainNode,
  type Next,
  type Outcome,
  type Result,
} from "taskwright";
import { z } from "zod";
import {
  flakyTask,
  memoryLogger,
  ofName,
  PausePoint,
  recordEvents,
  rejectionOf,
  taskOf,
  thrownBy,
  warningsOf,
} from "../support/builders.js";
import { settle } from "../support/manual-clock.js";
import { snippetsOf } from "../support/snippets.js";

class CardError extends Error {}

let story: string[] = [];
beforeEach(() => {
  story = [];
});
afterEach(() => {
  resetConfiguration();
});

describe("W1: what goes around a run sees whether it failed", () => {
  const failing = taskOf(() => {
    throw new CardError("declined");
  });

  test("a breaker written as a middleware counts failures", async () => {
    let failures = 0;
    configure((config) =>
      config.use(async (_task: Task, next) => {
        const outcome = await next();
        if (outcome.status === "failed" && outcome.by === "error") failures += 1;
      }),
    );

    await failing.execute();
    await taskOf((task) => task.fail("a decision, not an error")).execute();
    await taskOf(() => 1).execute();

    expect(failures).toBe(1);
  });

  test("a span written as a middleware gets the status of its own run, not of a nested one", async () => {
    const spans: string[] = [];
    configure((config) =>
      config.use(async (task: Task, next) => {
        const outcome = await next();
        spans.push(`${task.taskName} ${outcome.status}`);
      }),
    );
    class Parent extends Task.with() {
      async work(): Promise<void> {
        await failing.execute();
      }
    }

    await Parent.execute();

    expect(spans).toEqual(["Sample failed", "Parent success"]);
  });

  test("a key is free again after a failure, and an input that does not fit never claims one", async () => {
    let attempts = 0;
    class Charge extends Task.with({ input: z.object({ paymentId: z.string() }) }) {
      work(): string {
        attempts += 1;
        if (attempts === 1) throw new CardError("declined");
        return "charged";
      }
    }
    idempotentBy("paymentId")(Charge);
    const claims = recordEvents("idempotency_claimed");

    expect(await Charge.execute({ paymentId: 5 as never })).toMatchObject({ metadata: { code: "invalid_input" } });
    expect(claims).toEqual([]);
    expect((await Charge.execute({ paymentId: "p1" })).status).toBe("failed");
    expect(await Charge.execute({ paymentId: "p1" })).toMatchObject({ status: "success", output: "charged" });
  });
});

describe("W2: one outcome, sealed", () => {
  test("a halt that comes late changes nothing and is an error that is reported", async () => {
    const events = recordEvents("observer_error");
    class Charge extends Task.with() {
      work(): string {
        return "charged";
      }
      @onSuccess() late(): void {
        this.fail("changed my mind");
      }
    }
    use(async (task: Task, next) => {
      await next();
      task.skip("me too");
    })(Charge);

    expect(await Charge.execute()).toMatchObject({ status: "success", output: "charged", metadata: {} });
    expect(ofName(events, "observer_error").map(({ payload }) => payload.error.name)).toEqual(["FinishedTaskError", "FinishedTaskError"]);
  });
});

describe("W3: a task that has started always has its completion callbacks", () => {
  class Telling extends Task.with() {
    work(): void {}
    @onFailed() failed(): void {
      story.push("on_failed");
    }
    @onKo() ko(): void {
      story.push("on_ko");
    }
  }

  test("after a halt in a callback before the run", async () => {
    class Charge extends Telling {
      @beforeExecution() closed(): void {
        this.fail("closed");
      }
    }

    await Charge.execute();

    expect(story).toEqual(["on_failed", "on_ko"]);
  });

  test("after a throw in one", async () => {
    class Charge extends Telling {
      @beforeValidation() broken(): void {
        throw new Error("broken");
      }
    }

    await Charge.execute();

    expect(story).toEqual(["on_failed", "on_ko"]);
  });
});

describe("W4: execute never rejects for what happens in a run, and a result, an event and a line come of every run", () => {
  const broken = (): never => {
    throw new Error("broken");
  };
  class Fine extends Task.with() {
    work(): string {
      return "done";
    }
  }
  class Failing extends Task.with() {
    work(): never {
      throw new CardError("declined");
    }
    override rollback(): void {
      broken();
    }
  }

  test.each<[string, () => void, object]>([
    ["a callback before the run", () => configure((config) => config.callback("before_execution", broken)), { reason: "broken" }],
    ["a callback after it", () => configure((config) => config.callback("on_success", broken)), { status: "success" }],
    ["a middleware before next", () => configure((config) => config.use(broken)), { reason: "broken" }],
    [
      "a middleware after next",
      () =>
        configure((config) =>
          config.use(async (_task: Task, next) => {
            await next();
            broken();
          }),
        ),
      { status: "success" },
    ],
    ["a listener", () => configure((config) => config.telemetry.subscribe("task_started", broken)), { status: "success" }],
    [
      "the correlation id",
      () =>
        configure((config) => {
          config.correlationId = broken;
        }),
      { status: "success" },
    ],
  ])("when %s throws", async (_, arrange, expected) => {
    const { logger, lines } = memoryLogger();
    configure((config) => {
      config.logger = logger;
    });
    const events = recordEvents("task_executed");
    arrange();

    const result = await Fine.execute();

    expect(result).toMatchObject(expected);
    expect(ofName(events, "task_executed").map(({ payload }) => payload.result)).toEqual([result]);
    expect(lines.at(-1)?.message).toContain("Fine");
  });

  test("when the rollback throws: the failure that called for it stands", async () => {
    const events = recordEvents("task_executed", "observer_error");

    expect(await Failing.execute()).toMatchObject({ status: "failed", reason: "declined", rollbackError: { message: "broken" } });
    expect(events.map(({ name }) => name)).toEqual(["observer_error", "task_executed"]);
  });

  test("when the logger throws", async () => {
    configure((config) => {
      config.logger = { info: broken, warn: broken, error: broken };
    });

    await warningsOf(async () => {
      expect((await Fine.execute()).status).toBe("success");
    });
  });
});

describe("W5: a rollback cannot halt", () => {
  test("skip in rollback does not make a skip of a failure", async () => {
    class Charge extends Task.with() {
      work(): never {
        throw new CardError("declined");
      }
      override rollback(): void {
        this.skip("nothing happened");
      }
    }

    expect(await Charge.execute()).toMatchObject({ status: "failed", reason: "declined", rolledBack: false });
  });
});

describe("W6: next goes on once", () => {
  const twice = async (_task: Task, next: Next): Promise<void> => {
    await next();
    await next();
  };

  test("twice in a middleware or around callback does not run the work twice; the error names the culprit", async () => {
    const events = recordEvents("observer_error");
    class Charge extends Task.with() {
      work(): void {
        story.push("work");
      }
      @aroundExecution() greedy(next: Next): Promise<void> {
        return twice(this, next);
      }
    }
    use(twice)(Charge);

    expect((await Charge.execute()).status).toBe("success");
    expect(story).toEqual(["work"]);
    expect(ofName(events, "observer_error").map(({ payload }) => payload.observer)).toEqual([
      "the around_execution callback greedy",
      "the middleware twice",
    ]);
  });

  test("never is an error that names the culprit, too", async () => {
    class Charge extends Task.with() {
      work(): void {
        story.push("work");
      }
      @aroundExecution() forgetful(_next: Next): void {}
    }

    const result = await Charge.execute();

    expect(result).toMatchObject({ status: "failed", error: { name: "NextError" } });
    expect(result.reason).toContain("the around_execution callback forgetful never called next");
    expect(story).toEqual([]);
  });
});

describe("W7: options alone are merged into the retries that a class has", () => {
  test("whether it has them itself or from its parent", async () => {
    class Parent extends Task.with() {
      work(): never {
        throw new CardError("network");
      }
    }
    retryOn(CardError, { limit: 1, delay: 0 })(Parent);
    class Child extends Parent {}
    retryOn({ limit: 4 })(Child);

    expect((await Child.execute()).retries).toBe(4);
    expect((await Parent.execute()).retries).toBe(1);
    retryOn({ limit: 2 })(Parent);
    expect((await Parent.execute()).retries).toBe(2);
  });
});

// Workflows there are none: a task that runs other tasks is what takes their place.
describe("W8: retries of a task that runs other tasks", () => {
  test("each step has its own, and the outer run is retried when a step fails in the end", async () => {
    const Step = flakyTask({ failures: 5, error: () => new CardError("network") });
    retryOn(CardError, { limit: 1, delay: 0 })(Step);
    class Checkout extends Task.with() {
      async work(): Promise<unknown> {
        const result = await Step.executeBang();
        return result.status === "success" ? result.output : undefined;
      }
    }
    retryOn(CardError, { limit: 2, delay: 0 })(Checkout);

    // Three runs of the step with two attempts each: the sixth succeeds.
    expect(await Checkout.execute()).toMatchObject({ status: "success", output: { calls: 6 }, retries: 2 });
  });

  test("a step that decided to fail is retried by the outer run when that asks for it", async () => {
    let decisions = 0;
    const Step = taskOf((task) => {
      decisions += 1;
      if (decisions < 3) task.fail("out of stock", { code: "stock" });
    });
    class Checkout extends Task.with() {
      async work(): Promise<void> {
        await Step.executeBang();
      }
    }
    retryOn((error) => error.message === "out of stock", { limit: 5, delay: 0 })(Checkout);

    expect(await Checkout.execute()).toMatchObject({ status: "success", retries: 2 });
  });
});

describe("W9: one chain of cause and origin, always whole", () => {
  class Bottom extends Task.with() {
    work(): never {
      this.metadata["host"] = "cards";
      throw new CardError("declined");
    }
  }

  test("a failure that came through executeBang or propagate keeps its error, its notes and where it began", async () => {
    const byBang = taskOf(async () => {
      await Bottom.executeBang();
    });
    const byPropagate = taskOf(async (task: Task) => {
      task.propagate(await Bottom.execute());
    });

    for (const type of [byBang, byPropagate]) {
      const result = await type.execute();

      expect(result).toMatchObject({ reason: "declined", metadata: { host: "cards" }, origin: { task: "Bottom" } });
      expect(result).toHaveProperty("error", expect.any(CardError));
    }
  });

  test("executeBang rejects with one kind of error, whether work threw or decided", async () => {
    const decided = taskOf((task) => task.fail("no"));

    for (const type of [Bottom, decided]) {
      const fault = await rejectionOf(type.executeBang());

      expect(isFault(fault)).toBe(true);
      expect(fault).toBeInstanceOf(Fault);
      expect(fault).toHaveProperty("cause", (fault as Fault).result.error);
    }
  });
});

describe("W10: a name in the data is never taken for something else", () => {
  test("fields called zip, exit or toString are fields, and left out they are not there", async () => {
    class Odd extends Task.with({
      input: z.object({ zip: z.string().optional(), exit: z.string().optional(), list: z.array(z.object({ zip: z.string().optional() })) }),
    }) {
      work(): unknown {
        return [this.input.zip, this.input.exit, this.input.list[0]?.zip];
      }
    }

    expect(await Odd.execute({ list: [{}] })).toMatchObject({ output: [undefined, undefined, undefined] });
    expect(await Odd.execute({ zip: "10115", exit: "left", list: [{ zip: "20095" }] })).toMatchObject({
      output: ["10115", "left", "20095"],
    });
  });

  test("a log line shows own fields only", async () => {
    const { logger, lines } = memoryLogger();
    configure((config) => {
      config.logger = logger;
      config.logFields = { context: ["constructor", "toString", "requestId"] };
    });

    await taskOf(() => 1).execute({}, { context: { requestId: "r1" } });

    expect(lines[0]?.fields["context"]).toEqual({ requestId: "r1" });
  });
});

// Coercions are the schema's: what is nearest to an unknown one is any option that does not exist.
describe("W11: what is misspelt is told where it is written, and nothing is looked into for a reason", () => {
  test("a strategy that does not exist is an error of the declaration", () => {
    expect(thrownBy(() => retryOn(CardError, { jitter: "exponentail" as never }))).toMatchObject({ name: "DefinitionError" });
  });

  test("no reason shows what is in the task, the context or a thrown object", async () => {
    const secret = { password: "hunter2" };
    class Charge extends Task.with({ input: z.object({ token: z.string() }) }) {
      work(): void {
        throw secret as unknown as Error;
      }
    }

    const result = await Charge.execute({ token: "tok_secret" }, { context: { secret } });

    expect(result.reason).not.toMatch(/hunter2|tok_secret/);
    expect(JSON.stringify(result)).not.toContain("tok_secret");
  });
});

describe("W12: a mistake that shows only in the middle of a run leaves a result, an event and a line", () => {
  test("a gate that answers with a promise", async () => {
    class Charge extends Task.with() {
      work(): void {}
      @beforeExecution({ if: (() => Promise.resolve(true)) as never }) check(): void {}
    }

    expect(await Charge.execute()).toMatchObject({ status: "failed", error: { name: "DefinitionError" } });
  });

  test("an input schema that turns out to give no object: execute rejects, loudly, and yet the run is told of", async () => {
    const { logger, lines } = memoryLogger();
    configure((config) => {
      config.logger = logger;
    });
    const events = recordEvents("task_executed");
    class Scalar extends Task.with({ input: z.object({}).transform(() => "text") as unknown as z.ZodObject }) {
      work(): void {}
    }

    expect(await rejectionOf(Scalar.execute({}))).toMatchObject({ name: "DefinitionError" });
    expect(ofName(events, "task_executed")[0]?.payload.result).toMatchObject({ status: "failed", error: { name: "DefinitionError" } });
    expect(lines).toHaveLength(1);
  });
});

describe("W13: settings belong to the task, not to the data that it shares", () => {
  test("a nested task with other settings changes nothing of the run around it", async () => {
    const parents = memoryLogger();
    const childs = memoryLogger();
    @settings({ tags: ["lax"], logger: childs.logger, logFields: { context: ["user"] } })
    class Child extends Task.with() {
      work(): void {
        this.context["touched"] = true;
      }
    }
    @settings({ tags: ["strict"], logger: parents.logger })
    class Parent extends Task.with() {
      async work(): Promise<void> {
        await Child.execute();
        this.logger.info({}, "still mine");
      }
    }

    const result = await Parent.execute({}, { context: { user: "u1" } });

    expect(result).toMatchObject({ tags: ["strict"], context: { touched: true } });
    expect(parents.lines.map(({ message }) => message)).toEqual(["still mine", "Parent success"]);
    expect(parents.lines[1]?.fields).not.toHaveProperty("context");
    expect(childs.lines.map(({ fields }) => fields["context"])).toEqual([{ user: "u1" }]);
  });
});

describe("W14: what is configured late is seen by every class", () => {
  test("also by one that has run, and by its subclasses", async () => {
    class Parent extends Task.with() {
      work(): void {}
    }
    class Child extends Parent {}
    await Parent.execute();
    await Child.execute();

    configure((config) => {
      config.use(async (_task: Task, next) => {
        story.push("middleware");
        await next();
      });
      config.callback("on_success", () => story.push("callback"));
      config.telemetry.subscribe("task_executed", () => story.push("listener"));
    });
    settings({ tags: ["late"] })(Parent);

    expect((await Child.execute()).tags).toEqual(["late"]);
    expect(story).toEqual(["middleware", "callback", "listener"]);
  });
});

describe("W15: a result is frozen", () => {
  test("all the way down; nothing that comes later changes it", async () => {
    const amounts = [1];
    const result = await taskOf((task) => {
      task.skip("closed", { amounts });
    }).execute();
    amounts.push(2);

    for (const change of [
      () => Object.assign(result, { status: "success" }),
      () => Object.assign(result.metadata, { code: "other" }),
      () => (result.metadata["amounts"] as number[]).push(3),
      () => Object.assign(result.tags, ["tag"]),
      () => Object.assign(result.context, { a: 1 }),
    ]) {
      expect(change).toThrow(TypeError);
    }
    expect(result).toMatchObject({ status: "skipped", metadata: { amounts: [1] } });
  });

  test("a rollback that comes after the answer does not flip it; an event tells of it", async () => {
    const pause = new PausePoint();
    class Charge extends Task.with() {
      async work(): Promise<void> {
        await pause.pass();
      }
      override rollback(): void {}
    }
    const events = recordEvents("task_rolled_back");
    const controller = new AbortController();
    const running = Charge.execute({}, { signal: controller.signal });
    await pause.reached;
    controller.abort();
    const result = await running;

    pause.resume();
    await settle();

    expect(result.rolledBack).toBe(false);
    expect(events).toMatchObject([{ runId: result.runId }]);
  });
});

describe("W16: no values are logged by default", () => {
  test("nothing of input, output, context or metadata is in the line unless it is listed", async () => {
    const { logger, lines } = memoryLogger();
    configure((config) => {
      config.logger = logger;
    });
    class Charge extends Task.with({ input: z.object({ card: z.string() }) }) {
      work(): { token: string } {
        this.metadata["key"] = "secret metadata";
        return { token: "secret output" };
      }
    }

    await Charge.execute({ card: "secret input" }, { context: { user: "secret context" } });

    expect(lines).toHaveLength(1);
    expect(JSON.stringify(lines)).not.toContain("secret");
  });
});

describe("W17: one truth, the parsed input", () => {
  test("work, callbacks and the key all read the coerced value", async () => {
    const keys: string[] = [];
    configure((config) => {
      config.telemetry.subscribe("idempotency_claimed", ({ payload }) => keys.push(payload.idempotencyKey));
    });
    class Charge extends Task.with({ input: z.object({ amount: z.coerce.number() }) }) {
      work(): number {
        return this.input.amount;
      }
      @onSuccess() tell(): void {
        story.push(typeof this.input.amount);
      }
    }
    idempotentBy("amount")(Charge);

    const first = await Charge.execute({ amount: " 5" });
    const second = await Charge.execute({ amount: 5 });

    expect(first).toMatchObject({ output: 5, context: {} });
    expect(second).toMatchObject({ status: "skipped", metadata: { code: "duplicate" } });
    expect(story).toEqual(["number"]);
    expect(keys).toEqual(["cmdx:idem:Charge:5"]);
  });
});

describe("W18: the schema says what is required, what may be null and what has a default", () => {
  class Sample extends Task.with({
    input: z.object({
      required: z.string().min(1),
      nullable: z.string().nullable(),
      withDefault: z.number().default(1),
      optional: z.string().optional(),
    }),
  }) {
    work(): unknown {
      return this.input;
    }
  }

  test("a default serves a field that is left out, also a required one", async () => {
    expect(await Sample.execute({ required: "a", nullable: null })).toHaveProperty("output", {
      required: "a",
      nullable: null,
      withDefault: 1,
    });
  });

  test.each<[string, object]>([
    ["null for a required field", { required: null, nullable: null }],
    ["an empty text where one is required", { required: "", nullable: null }],
    ["undefined for a nullable field", { required: "a" }],
    ["null for an optional field", { required: "a", nullable: null, optional: null }],
    ["null for a field with a default", { required: "a", nullable: null, withDefault: null }],
  ])("%s does not fit", async (_, input) => {
    expect(await Sample.execute(input as never)).toMatchObject({ status: "failed", metadata: { code: "invalid_input" } });
  });
});

describe("W19: only what was started is undone", () => {
  class Charge extends Task.with({ input: z.object({ amount: z.number() }) }) {
    work(): void {
      if (this.input.amount < 0) throw new CardError("declined");
    }
    override rollback(): void {
      story.push("refund");
    }
  }

  test("no rollback for an input that does not fit, a run that is called off or turned away before work", async () => {
    await Charge.execute({ amount: "1" as never });
    await Charge.execute({ amount: 1 }, { signal: AbortSignal.abort() });
    class Closed extends Charge {
      @beforeExecution() closed(): void {
        this.fail("closed");
      }
    }
    await Closed.execute({ amount: 1 });
    class Deprecated extends Charge {}
    deprecated("use another", { action: "fail" })(Deprecated);
    await Deprecated.execute({ amount: 1 });

    expect(story).toEqual([]);
  });

  test("no rollback for a duplicate: the first caller's charge is not refunded", async () => {
    class Once extends Charge {}
    idempotentBy("amount", { onDuplicate: "fail" })(Once);

    await Once.execute({ amount: 1 });
    const duplicate = await Once.execute({ amount: 1 });

    expect(duplicate).toMatchObject({ status: "failed", metadata: { code: "duplicate" }, rolledBack: false });
    expect(story).toEqual([]);
  });

  test("one rollback for work that was started", async () => {
    await Charge.execute({ amount: -1 });

    expect(story).toEqual(["refund"]);
  });
});

describe("W20: what went wrong in one attempt does not spoil a later one", () => {
  test("a success after failures is a whole success", async () => {
    const Flaky = flakyTask({ failures: 2 });
    retryOn(Error, { limit: 2, delay: 0 })(Flaky);

    const result = await Flaky.execute();

    expect(result).toMatchObject({ status: "success", reason: undefined, metadata: {}, retries: 2, rolledBack: false });
    expect(result).not.toHaveProperty("error");
    expect(result).not.toHaveProperty("issues");
  });
});

describe("W21: every success is verified", () => {
  const output = z.object({ id: z.string() });

  test.each<[string, unknown]>([
    ["undefined", undefined],
    ["null", null],
    ["a field that is undefined", { id: undefined }],
    ["a wrong field", { id: 5 }],
  ])("%s does not pass, neither returned nor given to this.success()", async (_, value) => {
    class Returning extends Task.with({ output }) {
      work(): { id: string } {
        return value as { id: string };
      }
    }
    class Halting extends Task.with({ output }) {
      work(): { id: string } {
        return this.success(value as { id: string });
      }
    }

    expect(await Returning.execute()).toMatchObject({ status: "failed", metadata: { code: "invalid_output" } });
    expect(await Halting.execute()).toMatchObject({ status: "failed", metadata: { code: "invalid_output" } });
  });
});

describe("W22: the tree of calls can be rebuilt", () => {
  test("results know parent, depth and place by order of starting", async () => {
    const results: Result[] = [];
    configure((config) => {
      config.telemetry.subscribe("task_executed", ({ payload }) => results.push(payload.result));
    });
    const drawn = (nodes: readonly ChainNode[]): string =>
      nodes
        .map(({ result, children }) => `${result.index} ${result.task}${children.length === 0 ? "" : `(${drawn(children)})`}`)
        .join(", ");
    class Leaf extends Task.with() {
      work(): void {}
    }
    class Mid extends Task.with() {
      async work(): Promise<void> {
        await settle();
        await Leaf.execute();
      }
    }
    class Top extends Task.with() {
      async work(): Promise<void> {
        await Promise.all([Mid.execute(), Mid.execute()]);
      }
    }

    await Top.execute();

    expect(drawn(chainTree(results.toReversed()))).toBe("0 Top(1 Mid(3 Leaf), 2 Mid(4 Leaf))");
  });
});

describe("W23: a run can be called off, from one end to the other", () => {
  test("through nested runs down to whatever listens, and each of them answers", async () => {
    const answered: string[] = [];
    configure((config) => {
      config.telemetry.subscribe("task_executed", ({ payload: { result } }) => {
        answered.push(`${result.task} ${String(result.metadata.code)}`);
      });
    });
    class Inner extends Task.with() {
      work(): Promise<void> {
        return new Promise((_, reject) => {
          this.signal.addEventListener("abort", () => {
            story.push("the request was stopped");
            reject(new Error("stopped"));
          });
        });
      }
    }
    class Outer extends Task.with() {
      async work(): Promise<void> {
        await Inner.executeBang();
      }
    }
    const controller = new AbortController();
    const running = Outer.execute({}, { signal: controller.signal });
    await settle();

    controller.abort(new Error("deadline"));
    const result = await running;
    await settle();

    expect(story).toEqual(["the request was stopped"]);
    expect(result).toMatchObject({ status: "failed", reason: "Outer was aborted: deadline", metadata: { code: "aborted" } });
    expect(answered.toSorted()).toEqual(["Inner aborted", "Outer aborted"]);
  });
});

describe("W24: lines by status, and an event for everything that happens", () => {
  test("a failure is an error, a success is information", async () => {
    const { logger, lines } = memoryLogger();
    configure((config) => {
      config.logger = logger;
    });

    await taskOf(() => 1).execute();
    await taskOf((task) => task.fail("declined")).execute();

    expect(lines.map(({ level }) => level)).toEqual(["info", "error"]);
  });

  test("retries, their end, the rollback and the claim are announced, too", async () => {
    const events = recordEvents();
    class Charge extends Task.with({ input: z.object({ id: z.string() }) }) {
      work(): never {
        throw new CardError("network");
      }
      override rollback(): void {}
    }
    retryOn(CardError, { limit: 1, delay: 0 })(Charge);
    idempotentBy("id")(Charge);

    await Charge.execute({ id: "a" });

    expect(events.map(({ name }) => name)).toEqual([
      "task_started",
      "idempotency_claimed",
      "retry_scheduled",
      "task_retried",
      "retries_exhausted",
      "task_rolled_back",
      "idempotency_released",
      "task_executed",
    ]);
  });
});

describe("W25: what is inherited can be taken away", () => {
  test("deprecation and retries by false, gates and options by null, a callback by its own declaration", async () => {
    class Parent extends Task.with() {
      work(): never {
        throw new CardError("network");
      }
      @onFailed() tell(): void {
        story.push(this.taskName);
      }
    }
    deprecated("use another", { action: "fail" })(Parent);
    retryOn(CardError, { limit: 1, delay: 0, if: () => false })(Parent);
    class Child extends Parent {
      @onFailed({ if: () => false }) override tell(): void {
        story.push("never");
      }
    }
    deprecated(false)(Child);
    retryOn({ if: null })(Child);
    class Grandchild extends Child {}
    retryOn(false)(Grandchild);

    expect(await Child.execute()).toMatchObject({ deprecated: false, retries: 1 });
    expect(await Grandchild.execute()).toMatchObject({ deprecated: false, retries: 0 });
    expect(await Parent.execute()).toMatchObject({ deprecated: true, retries: 0 });
    expect(story).toEqual(["Parent"]);
  });

  test("an input is declared anew by extending its schema", async () => {
    abstract class ChargeBase extends Task {
      protected cents(amount: number): number {
        return amount * 100;
      }
    }
    const input = z.object({ amount: z.number(), note: z.string().optional() });
    class Charge extends ChargeBase.with({ input }) {
      work(): number {
        return this.cents(this.input.amount);
      }
    }
    class Strict extends ChargeBase.with({ input: input.extend({ note: z.string() }) }) {
      work(): number {
        return this.cents(this.input.amount);
      }
    }

    expect(await Charge.execute({ amount: 1 })).toMatchObject({ output: 100 });
    expect(await Strict.execute({ amount: 1 } as never)).toMatchObject({ issues: [{ path: ["note"] }] });
  });
});

describe("W26: what the pages say is run", () => {
  test("there is a test that compiles and runs the code on every page, and it finds code on them", () => {
    const pages = ["README.md", ...readdirSync("docs").map((page) => `docs/${page}`)].filter((page) => page.endsWith(".md"));
    const blocks = pages.map((page) => snippetsOf(page, readFileSync(page, "utf8")).length);

    expect(existsSync("test/package/docs.test.ts")).toBe(true);
    expect(blocks[0]).toBeGreaterThan(0);
    expect(blocks.filter((count) => count > 0).length).toBeGreaterThan(pages.length / 2);
  });
});

test("an outcome that links get is one value for all of them", async () => {
  const seen: Outcome[] = [];
  const watch = async (_task: Task, next: Next): Promise<void> => {
    seen.push(await next());
  };
  const Sample = taskOf(() => 1);
  use(watch)(Sample);
  use(watch)(Sample);

  await Sample.execute();

  expect(seen[0]).toBe(seen[1]);
  expect(Object.isFrozen(seen[0])).toBe(true);
});
