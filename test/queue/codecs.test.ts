import { afterEach, describe, expect, test } from "vitest";
import { resetConfiguration, Task } from "taskwright";
import { aesGcm, cborSerializer, gzip, jsonSerializer, Queue, type Codec, type Serializer } from "taskwright/queue";
import { z } from "zod";
import { mistakeIn, thrownBy } from "../support/builders.js";
import { charge, chargeTask, world } from "./world.js";

afterEach(resetConfiguration);

const key = (fill: number): Uint8Array => new Uint8Array(32).fill(fill);
const bytes = Buffer.from("a secret that is long enough to be looked for");

/** Turns every bit. */
const inverse: Codec = {
  name: "inverse",
  encode: (given) => given.map((byte) => byte ^ 0xff),
  decode: (given) => given.map((byte) => byte ^ 0xff),
};

describe("gzip", () => {
  test("gives back what it was given, smaller", async () => {
    const codec = gzip();
    const long = Buffer.alloc(10_000, "a");
    const packed = await codec.encode(long);
    expect(packed.byteLength).toBeLessThan(200);
    expect(Buffer.from(await codec.decode(packed))).toEqual(long);
  });

  test("unpacks nothing beyond its limit", async () => {
    const packed = await gzip().encode(Buffer.alloc(10_000));
    await expect(gzip({ maxBytes: 9_999 }).decode(packed)).rejects.toThrow(/larger than 9999 bytes/);
  });
});

describe("aesGcm", () => {
  test("gives back what it was given, and writes it differently each time", async () => {
    const codec = aesGcm({ keys: { a: key(1) } });
    const [first, second] = [await codec.encode(bytes), await codec.encode(bytes)];
    expect(first).not.toEqual(second);
    expect(Buffer.from(first).includes("secret")).toBe(false);
    expect(Buffer.from(await codec.decode(first))).toEqual(bytes);
  });

  test("reads what an older key has written, and writes with the current one", async () => {
    const old = await aesGcm({ keys: { a: key(1) } }).encode(bytes);
    const rotated = aesGcm({ keys: { a: key(1), b: key(2) }, current: "b" });
    expect(Buffer.from(await rotated.decode(old))).toEqual(bytes);
    const written = await rotated.encode(bytes);
    expect(Buffer.from(await aesGcm({ keys: { b: key(2) } }).decode(written))).toEqual(bytes);
    expect(thrownBy(() => aesGcm({ keys: { a: key(1) } }).decode(written))).toMatchObject({
      message: 'aesGcm() has no key for what was encrypted with "b"',
    });
  });

  test.each([
    ["another key", (codec: Codec, packed: Uint8Array) => [aesGcm({ keys: { a: key(9) } }), packed] as const],
    ["a changed byte", (codec: Codec, packed: Uint8Array) => [codec, packed.map((byte, at) => (at === 20 ? byte ^ 1 : byte))] as const],
    ["a missing end", (codec: Codec, packed: Uint8Array) => [codec, packed.subarray(0, -1)] as const],
    ["nothing at all", (codec: Codec) => [codec, new Uint8Array()] as const],
  ])("refuses %s", async (_, tamper) => {
    const codec = aesGcm({ keys: { a: key(1) } });
    const [reader, given] = tamper(codec, await codec.encode(bytes));
    expect(thrownBy(() => reader.decode(given))).toBeInstanceOf(Error);
  });

  test.each([
    ["no keys", { keys: {} }, "keys must be an object of keys by name"],
    ["a short key", { keys: { a: new Uint8Array(16) } }, 'the key "a" must be 32 bytes'],
    ["several keys and no current", { keys: { a: key(1), b: key(2) } }, 'current must name one of the keys, "a", "b"'],
    ["a current that is none", { keys: { a: key(1) }, current: "b" }, 'got "b"'],
  ])("cannot be made with %s", (_, options, words) => {
    expect(mistakeIn(thrownBy(() => aesGcm(options)))).toContain(words);
  });
});

describe("a queue with codecs", () => {
  test("keeps inputs and outputs out of sight of the engine, and gives them back", async () => {
    const { queue, engine } = world({ codecs: [gzip(), aesGcm({ keys: { a: key(1) } }), inverse] });
    class Whisper extends Task.with({ input: z.object({ word: z.string() }) }) {
      work() {
        return { answer: `${this.input.word} indeed` };
      }
    }
    await queue.work([Whisper]);
    const job = await queue.enqueue(Whisper, { word: "confidential" });
    expect(await job.result()).toMatchObject({ output: { answer: "confidential indeed" } });
    const kept = JSON.stringify(await engine.get(job.id));
    expect(kept).not.toContain("confidential");
    expect(kept).toContain('\\"codecs\\":[\\"gzip\\",\\"aes-gcm\\",\\"inverse\\"]');
    expect(await job.look()).toMatchObject({ input: { word: "confidential" }, result: { output: { answer: "confidential indeed" } } });
  });

  test("reads jobs of before a codec or serializer was changed", async () => {
    const { queue, source } = world({ codecs: [gzip()] });
    const Charge = chargeTask();
    const job = await queue.enqueue(Charge, charge);
    const later = new Queue({ engine: source, serializer: cborSerializer(), retiredCodecs: [gzip()] });
    await later.work([Charge]);
    expect(await later.result(Charge, job.id)).toMatchObject({ status: "success" });
  });

  test("hands a job back that it lacks the codec or the serializer for", async () => {
    const own: Serializer = { ...jsonSerializer(), name: "own" };
    const { queue, source, clock, settle } = world({ serializer: own });
    const Charge = chargeTask();
    const job = await queue.enqueue(Charge, charge);
    const other = new Queue({ engine: source });
    const worker = await other.work([Charge]);
    await settle();
    expect(await other.job(job.id)).toMatchObject({ state: "pending", attempts: 0, input: undefined });
    await worker.stop();
    await queue.work([Charge]);
    await clock.advance(1_000);
    await settle();
    expect(Charge.charged).toEqual([42]);
  });

  test("lets a job die whose payload was damaged", async () => {
    const { queue, engine, settle } = world({ codecs: [aesGcm({ keys: { a: key(1) } })] });
    const Charge = chargeTask();
    const { id } = await queue.enqueue(Charge, charge);
    const record = await engine.get(id);
    if (record === undefined) throw new Error("it was just enqueued");
    const payload = record.payload.replace(/"base64":"..../, '"base64":"AWEA');
    await engine.enqueue([{ ...record, id: "damaged", payload }]);
    await queue.work([Charge]);
    await settle();
    expect(await queue.job("damaged")).toMatchObject({ state: "dead", attempts: 1 });
    expect(Charge.charged).toEqual([42]);
  });
});
