import { afterEach, describe, expect, test } from "vitest";
import { resetConfiguration, Task } from "taskwright";
import { cborSerializer, jsonSerializer, QueueClosedError, UnserializableError } from "taskwright/queue";
import { z } from "zod";
import { taskOf } from "../support/builders.js";
import { charge, chargeTask, world } from "../queue/world.js";

afterEach(resetConfiguration);

describe("the memory engine", () => {
  test("forgets thousands of jobs, their keys and their timers", async () => {
    const { queue, clock, engine } = world({ defaults: { keep: { completed: "1s", dead: "1s" } } });
    const Sample = taskOf(() => 1);
    const worker = await queue.work([Sample], { concurrency: 100 });
    const entries = Array.from({ length: 5_000 }, (_, at) => ({ uniqueKey: `key-${at}`, delay: at % 3 }));
    const jobs = await queue.enqueueMany(Sample, entries);
    await clock.advance(2_000);
    await clock.advance(10_000);
    expect(await Promise.all(jobs.map(({ id }) => engine.get(id)))).toEqual(jobs.map(() => undefined));
    expect(await Promise.all(entries.map(({ uniqueKey }) => engine.holder(uniqueKey)))).toEqual(jobs.map(() => undefined));
    expect(clock.pending).toBe(0);
    await worker.stop();
  });

  test("waits for longer than a timer can", async () => {
    const { queue, clock } = world();
    const Charge = chargeTask();
    await queue.work([Charge]);
    await queue.enqueue(Charge, charge, { delay: "60d" });
    await clock.advance(60 * 86_400_000 - 1);
    expect(Charge.charged).toEqual([]);
    await clock.advance(1);
    expect(Charge.charged).toEqual([42]);
  });

  test("loses no job of the lowest priority to those of the highest", async () => {
    const { queue, settle } = world();
    const order: number[] = [];
    class Rank extends Task.with({ name: "Rank", input: z.object({ priority: z.number() }) }) {
      work(): void {
        order.push(this.input.priority);
      }
    }
    for (const priority of [0, 1, 2_097_151, 5, 1]) await queue.enqueue(Rank, { priority }, { priority });
    await queue.work([Rank]);
    await settle();
    expect(order).toEqual([2_097_151, 5, 1, 1, 0]);
  });
});

describe("a queue that is closed while calls are on their way", () => {
  test("takes them or refuses them, and has none half enqueued", async () => {
    const { queue, source } = world();
    const Charge = chargeTask();
    const calls = [queue.enqueue(Charge, charge, { id: "one" }), queue.enqueueMany(Charge, [{ input: charge, id: "many" }])];
    const closed = Promise.all([queue.close(), queue.close()]);
    const outcomes = await Promise.allSettled(calls);
    expect(outcomes.every((outcome) => outcome.status === "fulfilled" || outcome.reason instanceof QueueClosedError)).toBe(true);
    await closed;
    const engine = source("taskwright");
    for (const [at, id] of ["one", "many"].entries()) {
      const outcome = outcomes[at];
      expect((await engine.get(id))?.state).toBe(outcome?.status === "fulfilled" ? "pending" : undefined);
    }
    await expect(queue.enqueue(Charge, charge)).rejects.toBeInstanceOf(QueueClosedError);
  });
});

describe.each([
  ["json", jsonSerializer()],
  ["canonical json", jsonSerializer({ canonical: true })],
  ["cbor", cborSerializer()],
])("the %s serializer", (_, serializer) => {
  test("carries a field called __proto__ as a field", () => {
    const input: unknown = JSON.parse('{"__proto__":{"polluted":true},"constructor":1,"toString":2}');
    const back = serializer.deserialize(serializer.serialize(input)) as object; // an object went in
    expect(Object.keys(back).toSorted()).toEqual(["__proto__", "constructor", "toString"]);
    expect(Object.getPrototypeOf(back)).toBe(Object.prototype);
    expect(Reflect.get({}, "polluted")).toBeUndefined();
  });

  test.each<[string, unknown]>([
    ["a getter that throws", Object.defineProperty({}, "broken", { enumerable: true, get: () => JSON.parse("{") as unknown })],
    ["a hole", Array(2)],
    ["a boxed number", Object(5)],
    ["a promise", Promise.resolve(1)],
    ["an invalid date", new Date(Number.NaN)],
    ["an error", new Error("x")],
    ["100,000 levels", Array.from({ length: 100_000 }).reduce<unknown>((inner) => [inner], 1)],
  ])("refuses %s", (__, value) => {
    expect(() => serializer.serialize({ value })).toThrow(UnserializableError);
  });
});
