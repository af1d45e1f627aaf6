import { afterEach, describe, expect, test } from "vitest";
import { resetConfiguration, Task } from "taskwright";
import { cborSerializer, memoryEngine, Queue, queued, type EnqueueOptions, type QueuedOptions, type QueueOptions } from "taskwright/queue";
import { z } from "zod";
import { mistakeIn, rejectionOf, taskOf, thrownBy } from "../support/builders.js";
import { charge, chargeTask, world } from "./world.js";

afterEach(resetConfiguration);

describe("@queued", () => {
  test("says how the jobs of a class are handled, over the queue's defaults and under the call's options", async () => {
    const { queue, engine } = world({ defaults: { attempts: 9, priority: 1, keep: { dead: "1d" } } });
    @queued({ attempts: 5, delay: "1m", keep: { completed: "2h" }, backoff: "3s" })
    class Charge extends chargeTask() {}
    const job = await queue.enqueue(Charge, charge, { delay: 0 });
    expect((await engine.get(job.id))?.options).toEqual({
      delayMs: 0,
      priority: 1,
      attempts: 5,
      backoff: { type: "fixed", delayMs: 3_000 },
      keepMs: { completed: 7_200_000, dead: 86_400_000 },
    });
  });

  test("is inherited, merged and taken away, and changes no parent", async () => {
    const { queue, engine } = world();
    @queued({ idempotent: true, attempts: 5 })
    class Base extends chargeTask() {}
    @queued({ attempts: 7 })
    class Child extends Base {}
    @queued(false)
    class Off extends Base {}
    const shown = async (type: typeof Base) => {
      const record = await engine.get((await queue.enqueue(type, charge)).id);
      return [record?.key !== undefined, record?.options.attempts];
    };
    expect(await shown(Off)).toEqual([false, 1]);
    expect(await shown(Child)).toEqual([true, 7]);
    expect(await shown(Base)).toEqual([true, 5]);
  });

  test.each<[string, QueuedOptions, string]>([
    ["an unknown option", { atempts: 3 } as QueuedOptions, '@queued() has no option "atempts"'],
    ["attempts of none", { attempts: 0 }, "@queued(): attempts must be a whole number of 1 or more, got 0"],
    ["a priority below zero", { priority: -1 }, "from 0 to 2097151"],
    ["a delay in words", { delay: "soon" as "1s" }, "@queued(): delay must be a time of zero or more"],
    ["a backoff of no type", { backoff: { type: "linear" as "fixed", delay: 1 } }, '"fixed", "exponential"'],
    ["an onMismatch of no kind", { onMismatch: "fail" as "reject" }, '"coalesce", "reject"'],
    ["an idempotent that is no flag", { idempotent: "yes" as unknown as boolean }, "must be true or false"],
    ["a timeout of nothing", { timeout: 0 }, "@queued(): timeout must be a time greater than zero"],
  ])("cannot be made with %s", (_, options, words) => {
    expect(mistakeIn(thrownBy(() => queued(options)))).toContain(words);
  });

  test("stands on a task class", () => {
    expect(mistakeIn(thrownBy(() => queued({})(Date as never)))).toContain("@queued() stands on a task class");
  });
});

describe("an enqueue", () => {
  test("refuses an input that does not fit, with its issues, and asks no engine", async () => {
    const { queue } = world();
    const error = await rejectionOf(queue.enqueue(chargeTask(), { customerId: "x" } as unknown as typeof charge));
    expect(error).toMatchObject({ code: "invalid_input", issues: [{ path: ["customerId"] }, { path: ["amountCents"] }] });
    expect(
      await rejectionOf(
        queue.enqueue(
          taskOf(() => 1),
          { surplus: 1 } as never,
        ),
      ),
    ).toMatchObject({ code: "invalid_input" });
  });

  test("refuses an input that would not fit once it has travelled, and says why", async () => {
    class Moment extends Task.with({ input: z.object({ at: z.date() }) }) {
      work() {
        return this.input.at;
      }
    }
    const { queue } = world();
    expect(await rejectionOf(queue.enqueue(Moment, { at: new Date(5) }))).toMatchObject({
      code: "invalid_input",
      message: expect.stringContaining("once the json serializer has carried it: at:"),
    });
    const cbor = new Queue({ serializer: cborSerializer() });
    await cbor.work([Moment]);
    expect(await (await cbor.enqueue(Moment, { at: new Date(5) })).result()).toMatchObject({ output: new Date(5) });
    await cbor.close();
  });

  test("keeps the input as it was given: it is parsed where it runs", async () => {
    let parses = 0;
    const input = z.object({ word: z.string().transform((word) => `${word}${(parses += 1)}`) });
    class Say extends Task.with({ input }) {
      work() {
        return this.input.word;
      }
    }
    const { queue } = world();
    const job = await queue.enqueue(Say, { word: "a" });
    expect((await job.look())?.input).toEqual({ word: "a" });
    expect(parses).toBe(1);
    await queue.enqueue(Say, { word: "a" }, { checkInput: false });
    expect(parses).toBe(1);
  });

  test("refuses what cannot be carried with its path", async () => {
    class Any extends Task.with({ input: z.object({ of: z.unknown() }) }) {
      work(): void {}
    }
    const { queue } = world();
    const error = await rejectionOf(queue.enqueue(Any, { of: { items: [1, () => 2] } }));
    expect(error).toMatchObject({ code: "unserializable", path: ["of", "items", 1] });
  });

  test.each<[string, EnqueueOptions, string]>([
    ["a misspelt option", { uniquekey: "k" } as EnqueueOptions, 'enqueue(charge_customer) has no option "uniquekey"'],
    ["an id of digits", { id: "123" }, "id must be a text of letters"],
    ["an id that is a name of BullMQ's own", { id: "meta" }, "id must be none of the names that engines use themselves: meta"],
    ["an id with a colon", { id: "a:b" }, "id must be a text of letters"],
    ["attempts in words", { attempts: "3" as unknown as number }, "enqueue(charge_customer): attempts must be a whole number"],
  ])("is refused with %s", async (_, options, words) => {
    expect(mistakeIn(await rejectionOf(world().queue.enqueue(chargeTask(), charge, options)))).toContain(words);
  });
});

describe("a queue", () => {
  test.each<[string, QueueOptions, string]>([
    ["an unknown option", { prefix: "a" } as QueueOptions, 'new Queue() has no option "prefix"'],
    ["an engine that is no source", { engine: {} as never }, "new Queue(): engine must be a function"],
    ["a blank namespace", { namespace: " " }, "namespace must be a text that is not blank"],
    ["a namespace with a colon", { namespace: "a:b" }, 'has no ":"'],
    ["a codec without decode", { codecs: [{ name: "a", encode: () => 1 } as never] }, "codecs takes objects with name, encode and decode"],
    ["a serializer without a name", { serializer: { serialize: 1 } as never }, "serializer takes objects with name"],
    ["a default of no kind", { defaults: { uniqueKey: "k" } as never }, 'new Queue(): defaults has no option "uniqueKey"'],
    ["a timeout of nothing", { timeout: 0 }, "new Queue(): timeout must be a time greater than zero"],
  ])("cannot be made with %s", (_, options, words) => {
    expect(mistakeIn(thrownBy(() => new Queue(options)))).toContain(words);
  });

  test("works for tasks with names of their own, and at least one at once", async () => {
    const { queue } = world();
    expect(mistakeIn(await rejectionOf(queue.work([])))).toContain("queue.work() takes an array of tasks");
    expect(mistakeIn(await rejectionOf(queue.work([chargeTask(), chargeTask()])))).toContain(
      'Two tasks of one worker are called "charge_customer"',
    );
    expect(mistakeIn(await rejectionOf(queue.work([chargeTask()], { concurrency: 0 })))).toContain("concurrency must be a whole number");
    expect(mistakeIn(await rejectionOf(queue.work([Task as never])))).toContain("extends Task without a contract");
  });

  test("has an engine of its own unless it is given one", async () => {
    const Charge = chargeTask();
    const first = await new Queue().enqueue(Charge, charge, { uniqueKey: "k" });
    expect((await new Queue().enqueue(Charge, charge, { uniqueKey: "k" })).id).not.toBe(first.id);
    const engine = memoryEngine();
    const shared = await new Queue({ engine }).enqueue(Charge, charge, { uniqueKey: "k" });
    expect((await new Queue({ engine }).enqueue(Charge, charge, { uniqueKey: "k" })).id).toBe(shared.id);
  });
});
