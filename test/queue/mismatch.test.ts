import { afterEach, describe, expect, test } from "vitest";
import { configure, resetConfiguration } from "taskwright";
import { aesGcm, KeyMismatchError, memoryEngine, Queue } from "taskwright/queue";
import { rejectionOf } from "../support/builders.js";
import { charge, chargeTask, through, world } from "./world.js";

afterEach(resetConfiguration);

const reject = { uniqueKey: "k", onMismatch: "reject" } as const;
const other = { ...charge, amountCents: 2 };

describe("a key that is held by a job with another payload", () => {
  test("coalesces in silence, unless the call wants to hear of it", async () => {
    const { queue } = world();
    const Charge = chargeTask();
    const first = await queue.enqueue(Charge, charge, { uniqueKey: "k" });
    expect(await queue.enqueue(Charge, other, { uniqueKey: "k" })).toMatchObject({ id: first.id, coalesced: true });
    const error = await rejectionOf(queue.enqueue(Charge, other, reject));
    expect(error).toBeInstanceOf(KeyMismatchError);
    expect(error).toMatchObject({ code: "key_mismatch", key: "k", jobId: first.id });
  });

  test("is none where the payload is the same, also behind codecs and with other options", async () => {
    const { queue } = world({ codecs: [aesGcm({ keys: { a: new Uint8Array(32) } })] });
    const Charge = chargeTask();
    const first = await queue.enqueue(Charge, charge, { ...reject, priority: 3 });
    expect((await queue.enqueue(Charge, charge, reject)).id).toBe(first.id);
  });

  test("is seen within one call before anything is enqueued", async () => {
    const { queue } = world();
    const Charge = chargeTask();
    const error = await rejectionOf(
      queue.enqueueMany(Charge, [
        { input: charge, ...reject },
        { input: other, ...reject },
      ]),
    );
    expect(error).toMatchObject({ code: "key_mismatch", jobId: undefined });
    expect((await queue.enqueue(Charge, other, reject)).coalesced).toBe(false);
  });

  test("is another task's as well, and one that cannot be read here", async () => {
    const { queue, source } = world({ codecs: [aesGcm({ keys: { a: new Uint8Array(32) } })] });
    const Charge = chargeTask();
    class Refund extends chargeTask() {
      static override readonly taskName: string = "refund";
    }
    await queue.enqueue(Charge, charge, { uniqueKey: "k" });
    expect(await rejectionOf(queue.enqueue(Refund, charge, reject))).toMatchObject({ code: "key_mismatch" });
    expect(await rejectionOf(new Queue({ engine: source }).enqueue(Charge, charge, reject))).toMatchObject({ code: "key_mismatch" });
  });

  test("is enqueued after all when the holder is gone before it could be looked at", async () => {
    let vanishings = 1;
    const engine = through(memoryEngine(), (inner) => async (method, perform, [id]) => {
      if (method === "get" && vanishings > 0) {
        vanishings -= 1;
        await inner.cancel(String(id));
        await inner.forget(String(id));
      }
      return perform();
    });
    const { queue } = world({ engine });
    const Charge = chargeTask();
    const first = await queue.enqueue(Charge, charge, { uniqueKey: "k" });
    const second = await queue.enqueue(Charge, other, reject);
    expect(second.coalesced).toBe(false);
    expect(second.id).not.toBe(first.id);
    expect((await second.look())?.input).toEqual(other);
  });
});

describe("an id that comes again with another payload", () => {
  const row = { id: "row-1", onMismatch: "reject" } as const;

  test("is refused where the call asks for that, and stands for the first job otherwise", async () => {
    const { queue } = world();
    const Charge = chargeTask();
    await queue.enqueue(Charge, charge, row);
    expect(await rejectionOf(queue.enqueue(Charge, other, row))).toMatchObject({ code: "key_mismatch", jobId: "row-1" });
    expect(await queue.enqueue(Charge, charge, row)).toMatchObject({ id: "row-1", coalesced: false });
    expect((await (await queue.enqueue(Charge, other, { id: "row-1" })).look())?.input).toEqual(charge);
  });

  test("is seen within one call before anything is enqueued", async () => {
    const { queue } = world();
    const entries = [charge, other].map((input) => ({ input, ...row }));
    expect(await rejectionOf(queue.enqueueMany(chargeTask(), entries))).toMatchObject({ code: "key_mismatch", jobId: undefined });
    expect(await queue.job("row-1")).toBeUndefined();
  });
});

test("entries of a call that stand are announced, also beside one that is at odds with a job", async () => {
  const { queue } = world();
  const Charge = chargeTask();
  const first = await queue.enqueue(Charge, charge, reject);
  const announced: (string | undefined)[] = [];
  configure((config) => {
    config.telemetry.subscribe("job_enqueued", ({ jobId }) => announced.push(jobId));
  });
  const entries = [
    { input: charge, id: "before" },
    { input: other, ...reject },
    { input: charge, id: "after" },
  ];
  expect(await rejectionOf(queue.enqueueMany(Charge, entries))).toMatchObject({ code: "key_mismatch", jobId: first.id });
  expect(announced).toEqual(["before", "after"]);
});
