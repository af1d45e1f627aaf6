import { afterEach, describe, expect, test } from "vitest";
import { resetConfiguration, type Task } from "taskwright";
import { NoResultError } from "taskwright/queue";
import { taskOf } from "../support/builders.js";
import { charge, pausedTask, world } from "../queue/world.js";

afterEach(resetConfiguration);

const cyclic: Record<string, unknown> = {};
cyclic["self"] = cyclic;

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < depth; level += 1) value = { value };
  return value;
}

function causes(depth: number): Error {
  let error = new Error("the first");
  for (let level = 0; level < depth; level += 1) error = new Error("the last", { cause: error });
  return error;
}

const circular = new Error("goes round");
circular.cause = circular;

async function outcomeOf(work: (task: Task) => unknown) {
  const { queue, settle } = world();
  const Sample = taskOf(work);
  await queue.work([Sample]);
  const job = await queue.enqueue(Sample);
  await settle();
  const result: unknown = await job.result({ timeout: 1 }).catch((error: unknown) => error);
  return { state: (await job.look())?.state, result };
}

describe("work that is done makes a completed job, whatever it gives", () => {
  test.each<[string, (task: Task) => unknown, unknown]>([
    ["a cycle", () => cyclic, cyclic],
    ["NaN", () => Number.NaN, Number.NaN],
    ["minus zero", () => -0, -0],
    ["a bigint", () => 10n ** 30n, 10n ** 30n],
  ])("%s arrives", async (_, work, output) => {
    const { state, result } = await outcomeOf(work);
    expect(state).toBe("completed");
    expect(result).toMatchObject({ status: "success", output });
  });

  test.each<[string, (task: Task) => unknown]>([
    ["a function", () => () => 1],
    ["a symbol", () => Symbol("s")],
    ["a field called __proto__", () => JSON.parse('{"__proto__":{"polluted":true}}') as unknown],
    ["20,000 levels", () => nested(20_000)],
    ["a promise within", () => ({ later: Promise.resolve(1) })],
    ["a WeakMap", () => new WeakMap()],
  ])("%s is told to be unreadable", async (_, work) => {
    const { state, result } = await outcomeOf(work);
    expect(state).toBe("completed");
    expect(result).toBeInstanceOf(NoResultError);
    expect(result).toMatchObject({ why: "unreadable" });
  });

  test("with metadata that no JSON could carry", async () => {
    const metadata = {
      cyclic,
      big: 1n,
      deep: nested(20_000),
      get broken(): number {
        throw new Error("no");
      },
    };
    const { state, result } = await outcomeOf((task) => task.skip("nothing to do", metadata));
    expect(state).toBe("completed");
    expect(result).toMatchObject({ status: "skipped", reason: "nothing to do", metadata: { big: "1" } });
  });
});

describe("what is thrown crosses the queue as a failure with a reason", () => {
  test.each<[string, unknown, string]>([
    ["20,000 causes", causes(20_000), "the last"],
    ["an error that is its own cause", circular, "goes round"],
    ["a text", "text", "text"],
    ["nothing", undefined, "undefined was thrown, which is no Error"],
    ["null", null, "null was thrown, which is no Error"],
    ["a frozen error", Object.freeze(new Error("frozen")), "frozen"],
    ["an error with a name of its own", Object.assign(new Error("named"), { name: "__proto__", code: { toString: 1 } }), "named"],
  ])("%s", async (_, thrown, reason) => {
    const { state, result } = await outcomeOf(() => {
      throw thrown;
    });
    expect(state).toBe("dead");
    expect(result).toMatchObject({ status: "failed", reason });
  });
});

describe("a job that is forgotten at its end", () => {
  test("is a result for who was waiting, and unknown to who comes later", async () => {
    const { queue, settle } = world({ defaults: { keep: { completed: 0, dead: 0 } } });
    const { Paused, pause } = pausedTask();
    await queue.work([Paused]);
    const job = await queue.enqueue(Paused, charge);
    const waiting = job.result();
    await pause.reached;
    pause.resume();
    expect(await waiting).toMatchObject({ status: "success", output: { customerId: 42 } });
    await settle();
    expect(await job.look()).toBeUndefined();
    await expect(job.result()).rejects.toMatchObject({ why: "unknown" });
  });
});
