import { afterEach, describe, expect, test } from "vitest";
import { resetConfiguration, Task } from "taskwright";
import { cborSerializer, gzip, jsonSerializer, Queue, UnserializableError, type Codec } from "taskwright/queue";
import { z } from "zod";
import { taskOf } from "../support/builders.js";
import { DEFAULTS } from "../../src/testing/engine-contract/engine-bench.js";
import { charge, chargeTask, world } from "./world.js";

afterEach(resetConfiguration);

describe("work that is done", () => {
  test("is done, also when a codec refuses its answer", async () => {
    const troubles: Error[] = [];
    let calls = 0;
    const keys: Codec = {
      name: "keys",
      encode(bytes) {
        calls += 1;
        if (calls > 1) throw new Error("the keys are away");
        return bytes;
      },
      decode: (bytes) => bytes,
    };
    const { queue, settle } = world({ codecs: [keys], onError: (error) => void troubles.push(error) });
    const Charge = chargeTask();
    await queue.work([Charge]);
    const job = await queue.enqueue(Charge, charge);
    await settle();
    expect((await job.look())?.state).toBe("completed");
    await expect(job.result()).rejects.toMatchObject({ name: "NoResultError", why: "unreadable" });
    expect(troubles.map(({ message }) => message)).toEqual(["the keys are away"]);
  });

  test("is done, also when its answer is larger than gzip takes", async () => {
    const { queue, settle } = world({ codecs: [gzip({ maxBytes: 10_000 })], onError: () => undefined });
    const Big = taskOf(() => "x".repeat(50_000));
    await queue.work([Big]);
    const job = await queue.enqueue(Big);
    await settle();
    await expect.poll(async () => (await job.look())?.state).toBe("completed"); // packed on another thread
    await expect(job.result()).rejects.toMatchObject({ why: "unreadable" });
  });

  test("has no result for a queue whose codec cannot give it back", async () => {
    const { queue, source, settle } = world({ codecs: [gzip()] });
    const Charge = chargeTask();
    await queue.work([Charge]);
    const { id } = await queue.enqueue(Charge, charge);
    await settle();
    await expect(new Queue({ engine: source }).result(Charge, id)).rejects.toMatchObject({ name: "NoResultError", why: "unreadable" });
  });
});

test("an input that is larger than gzip would unpack is refused at the enqueue", async () => {
  const { queue } = world({ codecs: [gzip({ maxBytes: 1_000 })] });
  class Big extends Task.with({ name: "Big", input: z.object({ text: z.string() }) }) {
    work() {}
  }
  await expect(queue.enqueue(Big, { text: "x".repeat(5_000) })).rejects.toThrow("gzip() takes up to maxBytes, 1000 bytes");
});

test.each([jsonSerializer(), cborSerializer()])("$name refuses a deep input with an error of its own, and soon", (serializer) => {
  let looked = 0;
  const around = (inner: unknown) => ({
    get value() {
      looked += 1;
      return inner;
    },
  });
  let value: unknown = 1;
  for (let level = 0; level < 10_000; level += 1) value = around(value);

  const refused = thrownBy(() => serializer.serialize(value));

  expect(looked).toBe(500); // each level once, and none below those that it takes
  expect(refused).toBeInstanceOf(UnserializableError);
  expect(refused).toMatchObject({ message: expect.stringContaining("a nesting of more than 500 levels"), path: Array(10).fill("value") });
});

test("what a refused input holds is not told", () => {
  const refused = [{ pin: 4_711n }, { pin: Symbol("4711") }].map((input) => thrownBy(() => jsonSerializer().serialize(input)));
  expect(refused.map(String)).toEqual([expect.stringContaining("a bigint at input.pin"), expect.stringContaining("a symbol at input.pin")]);
});

test("the reason of a job whose payload is damaged says nothing of what is in it, and onError hears of the cause", async () => {
  const troubles: Error[] = [];
  const { queue, engine, settle } = world({ onError: (error) => void troubles.push(error) });
  const Charge = chargeTask();
  await queue.work([Charge]);
  const payloads = [
    { v: 1, serializer: "json", text: "secret-4711 not json" },
    { v: 1, serializer: "json", text: 4 },
    { v: 1, serializer: "json", codecs: 5, text: "{}" },
  ];
  for (const [at, payload] of payloads.entries()) {
    const id = `damaged-${at}`;
    await engine.enqueue([{ id, task: "charge_customer", payload: JSON.stringify(payload), options: DEFAULTS }]);
    await settle();
    expect(await queue.job(id)).toMatchObject({ state: "dead", reason: "The payload is damaged, or is not one of this queue" });
  }
  expect(troubles).toHaveLength(3);
  expect(troubles[0]?.cause).toBeInstanceOf(SyntaxError);
  expect(Charge.charged).toEqual([]);
});

test("a warning of a moving value fails no enqueue, whatever the input's getters do", async () => {
  const { queue } = world();
  const money = { toJSON: () => "5" };
  Object.defineProperty(money, "lazy", {
    enumerable: true,
    get: () => {
      throw new Error("lazy");
    },
  });
  class Pay extends Task.with({ name: "Pay", input: z.object({ money: z.any() }) }) {
    work() {}
  }
  const job = await queue.enqueue(Pay, { money }, { idempotent: true });
  expect((await job.look())?.input).toEqual({ money: "5" });
});

function thrownBy(call: () => unknown): unknown {
  try {
    return call();
  } catch (thrown) {
    return thrown;
  }
}
