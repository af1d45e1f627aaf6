import { randomUUID } from "node:crypto";
import { afterEach, describe, expect, test, vi } from "vitest";
import { resetConfiguration, Task } from "taskwright";
import { cborSerializer, gzip, aesGcm, inlineEngine, jsonSerializer, Queue, type QueueOptions } from "taskwright/queue";
import { z } from "zod";
import { uuidv7 } from "../../src/support/uuid.js";
import { warningsOf } from "../support/builders.js";
import { charge, chargeTask, world } from "./world.js";

afterEach(() => {
  resetConfiguration();
  vi.unstubAllEnvs();
});

/** The key that a queue with these options derives. */
async function keyWith(options: QueueOptions, input = charge): Promise<string | undefined> {
  const { queue } = world(options);
  return (await (await queue.enqueue(chargeTask(), input, { idempotent: true })).look())?.key;
}

class Report extends Task.with({ name: "report", input: z.object({ at: z.unknown(), of: z.unknown().optional() }) }) {
  work(): void {}
}

/** The warnings about two calls in a row with these inputs. */
async function warningsAbout(...inputs: { readonly at: unknown }[]): Promise<string[]> {
  const queue = new Queue();
  const warnings = await warningsOf(async () => {
    for (const input of inputs) await queue.enqueue(Report, input, { idempotent: true });
  });
  return warnings.map(({ message }) => message);
}

describe("a moving value in the input", () => {
  test("gives each call a key of its own, and so a job", async () => {
    const { queue } = world();
    const first = await queue.enqueue(Report, { at: 1 }, { idempotent: true });
    expect((await queue.enqueue(Report, { at: 2 }, { idempotent: true })).id).not.toBe(first.id);
  });

  test.each([
    ["a date of now", () => new Date()],
    ["the number of now", () => Date.now()],
    ["the text of now", () => new Date().toISOString()],
    ["a UUID of now", () => uuidv7(Date.now())],
    ["a random UUID, at the second call", () => randomUUID()],
  ])("that is %s is warned of, once", async (_, value) => {
    const warnings = await warningsAbout({ at: value() }, { at: value() }, { at: value() });
    expect(warnings).toEqual([expect.stringMatching(/^report: its key is derived from an input with (the time|a UUID|a random UUID)/)]);
  });

  test.each([
    ["a time long past", [new Date(0), new Date(0)]],
    ["a stable UUID", ["5e76fdbf-23c7-4c77-8087-98d59cf2ade2", "5e76fdbf-23c7-4c77-8087-98d59cf2ade2"]],
    ["an amount", [1000, 2000]],
  ])("is not seen in %s", async (_, values) => {
    expect(await warningsAbout(...values.map((at) => ({ at })))).toEqual([]);
  });

  test("is nobody's concern in production, or where the key is given", async () => {
    const explicit = await warningsOf(() => new Queue().enqueue(Report, { at: new Date() }, { uniqueKey: "k" }));
    vi.stubEnv("NODE_ENV", "production");
    expect([...explicit, ...(await warningsAbout({ at: new Date() }))].filter((warning) => !String(warning).includes("engine"))).toEqual(
      [],
    );
  });
});

describe("a derived key", () => {
  const turned = { amountCents: 1000, customerId: 42 };
  const codecs = [gzip(), aesGcm({ keys: { a: new Uint8Array(32) } })];

  test("depends on the order of fields, unless the serializer sorts them", async () => {
    expect(await keyWith({}, turned)).not.toBe(await keyWith({}));
    const serializer = jsonSerializer({ canonical: true });
    expect(await keyWith({ serializer }, turned)).toBe(await keyWith({ serializer }));
  });

  test("depends on the serializer, so a deploy that changes it starts anew, and explicit keys do not", async () => {
    expect(await keyWith({ serializer: cborSerializer() })).not.toBe(await keyWith({}));
    const { queue, source } = world();
    const first = await queue.enqueue(chargeTask(), charge, { idempotencyKey: "charge:42" });
    const later = new Queue({ engine: source, serializer: cborSerializer(), codecs });
    expect((await later.enqueue(chargeTask(), charge, { idempotencyKey: "charge:42" })).id).toBe(first.id);
  });

  test("does not depend on codecs, also not on those that give other bytes each time", async () => {
    expect(await keyWith({ codecs })).toBe(await keyWith({}));
    const { queue } = world({ codecs });
    const [first, second] = [
      await queue.enqueue(chargeTask(), charge, { idempotent: true }),
      await queue.enqueue(chargeTask(), charge, { idempotent: true }),
    ];
    expect(second.id).toBe(first.id);
  });

  test("is the same inside a run, whose chain travels beside the input", async () => {
    const { queue, engine } = world();
    const Charge = chargeTask();
    const outside = await queue.enqueue(Charge, charge, { idempotent: true });
    class Around extends Task.with() {
      async work() {
        return (await queue.enqueue(Charge, charge, { idempotent: true })).id;
      }
    }
    expect(await Around.execute()).toMatchObject({ output: outside.id });
    expect((await engine.get(outside.id))?.payload).not.toContain("chainId");
  });
});

describe("the inline engine", () => {
  test("runs jobs at once, each of them, whatever their keys", async () => {
    const queue = new Queue({ engine: inlineEngine() });
    const Charge = chargeTask();
    const first = await queue.enqueue(Charge, charge, { uniqueKey: "k", delay: "1h" });
    const second = await queue.enqueue(Charge, charge, { uniqueKey: "k" });
    expect(Charge.charged).toEqual([42, 42]);
    expect(second).toMatchObject({ coalesced: false });
    expect(second.id).not.toBe(first.id);
    expect(await first.result()).toMatchObject({ status: "success", output: { customerId: 42 } });
  });

  test("runs batches as well, in order", async () => {
    const queue = new Queue({ engine: inlineEngine() });
    const Charge = chargeTask();
    await queue.enqueueMany(Charge, [
      { input: charge, uniqueKey: "k" },
      { input: { ...charge, customerId: 43 }, uniqueKey: "k" },
    ]);
    expect(Charge.charged).toEqual([42, 43]);
  });

  test("shows a failure as a dead job, which can be replayed", async () => {
    const queue = new Queue({ engine: inlineEngine() });
    const Charge = chargeTask((charged) => {
      if (charged.length === 1) throw new Error("declined");
    });
    const job = await queue.enqueue(Charge, charge, { attempts: 3 });
    expect(await job.look()).toMatchObject({ state: "dead", attempts: 1, reason: "declined" });
    const replayed = await queue.replay(job.id);
    expect(await queue.job(replayed?.id ?? "")).toMatchObject({ state: "completed" });
    expect(await queue.dead()).toEqual([]);
  });
});
