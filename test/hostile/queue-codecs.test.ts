import { describe, expect, test } from "vitest";
import { Task } from "taskwright";
import { aesGcm, Queue, type Codec } from "taskwright/queue";
import { z } from "zod";
import { settle } from "../support/manual-clock.js";

const codec = aesGcm({ keys: { old: new Uint8Array(32).fill(1), now: new Uint8Array(32).fill(2) }, current: "now" });
const bytes = await codec.encode(Buffer.from("secret"));

async function opens(altered: Uint8Array): Promise<boolean> {
  try {
    await codec.decode(altered);
    return true;
  } catch {
    return false;
  }
}

describe("what aesGcm has encrypted", () => {
  test("does not open when any bit of it was changed: name, nonce, text or tag", async () => {
    const opened: number[] = [];
    for (let at = 0; at < bytes.byteLength * 8; at += 1) {
      const altered = Uint8Array.from(bytes);
      altered[at >> 3] = (altered[at >> 3] ?? 0) ^ (1 << (at & 7));
      if (await opens(altered)) opened.push(at);
    }
    expect(opened).toEqual([]);
    expect(await opens(bytes)).toBe(true);
  });

  test("does not open when a part of it is missing, or something is added", async () => {
    const opened: number[] = [];
    for (let length = 0; length < bytes.byteLength; length += 1) if (await opens(bytes.subarray(0, length))) opened.push(length);
    expect(opened).toEqual([]);
    expect(await opens(Buffer.concat([bytes, Uint8Array.of(0)]))).toBe(false);
  });

  test("has another nonce each time", async () => {
    const nonces = await Promise.all(Array.from({ length: 1_000 }, async () => codec.encode(Buffer.from("secret"))));
    expect(new Set(nonces.map((each) => Buffer.from(each).subarray(4, 16).toString("hex"))).size).toBe(1_000);
  });
});

test("a codec that fails for one entry of a call, while another entry is wrong by itself, leaves no rejection unheard", async () => {
  const failing: Codec = {
    name: "failing",
    encode: async () => {
      await settle();
      throw new Error("no key today");
    },
    decode: (given) => given,
  };
  class Charge extends Task.with({ name: "Charge", input: z.object({ id: z.string() }) }) {
    async work(): Promise<void> {}
  }
  const queue = new Queue({ codecs: [failing] });

  const call = queue.enqueueMany(Charge, [{ input: { id: "a" } }, { input: { id: "b" }, uniqueKey: " " }]);

  await expect(call).rejects.toThrow("uniqueKey is blank");
  await settle(); // an unhandled rejection would fail the test run
  await queue.close();
});
