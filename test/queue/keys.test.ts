import { afterEach, describe, expect, test } from "vitest";
import { resetConfiguration, Task } from "taskwright";
import { autoKey, queued, Queue, type EnqueueOptions } from "taskwright/queue";
import { mistakeIn, rejectionOf, taskOf } from "../support/builders.js";
import { charge, chargeTask, pausedTask, world } from "./world.js";

afterEach(resetConfiguration);

const uniqueKey = "charge:42:1000";
const failing = () => chargeTask(() => Promise.reject(new Error("declined")));

describe("a call with a key", () => {
  test("that is held by a pending job resolves to that job, and creates none", async () => {
    const { queue, engine, settle } = world();
    const Charge = chargeTask();
    const first = await queue.enqueue(Charge, charge, { uniqueKey });
    const second = await queue.enqueue(Charge, { ...charge, amountCents: 2 }, { uniqueKey, priority: 9, delay: "1h" });

    expect(second.id).toBe(first.id);
    expect([first.coalesced, second.coalesced]).toEqual([false, true]);
    expect((await first.look())?.input).toEqual(charge);
    expect((await engine.get(first.id))?.options).toMatchObject({ priority: 0, delayMs: 0 });
    await queue.work([Charge]);
    await settle();
    expect(Charge.charged).toEqual([42]);
  });

  test("resolves to the job while it is running, and makes a new one once that is completed", async () => {
    const { queue, settle } = world();
    const { Paused, pause } = pausedTask();
    await queue.work([Paused]);
    const first = await queue.enqueue(Paused, charge, { uniqueKey });
    await pause.reached;
    const during = await Promise.all(Array.from({ length: 5 }, () => queue.enqueue(Paused, charge, { uniqueKey })));
    pause.resume();
    await settle();
    const after = await queue.enqueue(Paused, charge, { uniqueKey });

    expect(during.map(({ id, coalesced }) => ({ id, coalesced }))).toEqual(
      Array.from({ length: 5 }, () => ({ id: first.id, coalesced: true })),
    );
    expect(after.coalesced).toBe(false);
    expect(after.id).not.toBe(first.id);
  });

  test("resolves to the job while it waits for its next attempt, and makes a new one once it is dead", async () => {
    const { queue, clock } = world();
    const Charge = failing();
    await queue.work([Charge]);
    const first = await queue.enqueue(Charge, charge, { uniqueKey, attempts: 2, backoff: "10s" });
    await clock.advance(5_000);
    const during = await queue.enqueue(Charge, charge, { uniqueKey });
    await clock.advance(5_000);
    const after = await queue.enqueue(Charge, charge, { uniqueKey });

    expect(during.id).toBe(first.id);
    expect((await first.look())?.state).toBe("dead");
    expect(after.id).not.toBe(first.id);
  });

  test("makes a new one as soon as the job is cancelled while it was pending", async () => {
    const { queue } = world();
    const first = await queue.enqueue(chargeTask(), charge, { uniqueKey, delay: "1h" });
    expect((await queue.enqueue(chargeTask(), charge, { uniqueKey })).id).toBe(first.id);
    expect(await first.cancel()).toBe("cancelled");
    const after = await queue.enqueue(chargeTask(), charge, { uniqueKey });

    expect(after.id).not.toBe(first.id);
  });

  test("resolves to a running job that is asked to stop until it has", async () => {
    const { queue, settle } = world();
    const { Paused, pause } = pausedTask();
    await queue.work([Paused]);
    const first = await queue.enqueue(Paused, charge, { uniqueKey });
    await pause.reached;
    expect(await first.cancel()).toBe("requested");
    const during = await queue.enqueue(Paused, charge, { uniqueKey });
    await settle();
    const after = await queue.enqueue(Paused, charge, { uniqueKey });

    expect(during.id).toBe(first.id);
    expect((await first.look())?.state).toBe("cancelled");
    expect(after.id).not.toBe(first.id);
  });

  test("is one job for two hundred callers at once", async () => {
    const { queue } = world();
    const Charge = chargeTask();
    const jobs = await Promise.all(Array.from({ length: 200 }, () => queue.enqueue(Charge, charge, { uniqueKey })));

    expect(new Set(jobs.map(({ id }) => id)).size).toBe(1);
    expect(jobs.filter(({ coalesced }) => !coalesced)).toHaveLength(1);
  });

  test("is one job for two queues on one engine and namespace, and two in two namespaces", async () => {
    const { queue, source } = world({ namespace: "billing" });
    const Charge = chargeTask();
    const first = await queue.enqueue(Charge, charge, { uniqueKey });
    const same = await new Queue({ engine: source, namespace: "billing" }).enqueue(Charge, charge, { uniqueKey });
    const other = await new Queue({ engine: source, namespace: "payroll" }).enqueue(Charge, charge, { uniqueKey });

    expect(same.id).toBe(first.id);
    expect(other.id).not.toBe(first.id);
  });

  test("shares a literal key with the other tasks of its namespace", async () => {
    const { queue } = world();
    class Refund extends Task.with({ name: "refund" }) {
      work(): void {}
    }
    const first = await queue.enqueue(chargeTask(), charge, { uniqueKey });
    const second = await queue.enqueue(Refund, {}, { uniqueKey });

    expect(second).toMatchObject({ id: first.id, coalesced: true });
  });
});

describe("a call without a key", () => {
  test("is a job of its own, however often it is made", async () => {
    const { queue } = world();
    const Charge = chargeTask();
    const [first, second] = [await queue.enqueue(Charge, charge), await queue.enqueue(Charge, charge)];
    expect(second.id).not.toBe(first.id);
    expect([first.coalesced, second.coalesced]).toEqual([false, false]);
    expect((await first.look())?.key).toBeUndefined();
  });
});

describe("the key of a call", () => {
  const derived = autoKey("charge_customer", JSON.stringify(charge));
  const Plain = chargeTask();
  const Idempotent = chargeTask();
  queued({ idempotent: true })(Idempotent);

  test.each<[string, typeof Plain, EnqueueOptions, string | undefined]>([
    ["uniqueKey over idempotencyKey", Plain, { uniqueKey: "u", idempotencyKey: "i" }, "u"],
    ["uniqueKey over derivation", Idempotent, { uniqueKey: "u", idempotent: true }, "u"],
    ["uniqueKey though derivation is off", Idempotent, { uniqueKey: "u", idempotent: false }, "u"],
    ["idempotencyKey over derivation", Idempotent, { idempotencyKey: "i" }, "i"],
    ["idempotencyKey as it stands, with no prefix", Plain, { idempotencyKey: "pay 1:é" }, "pay 1:é"],
    ["idempotencyKey where uniqueKey is undefined", Plain, { uniqueKey: undefined, idempotencyKey: "i" }, "i"],
    ["idempotencyKey where uniqueKey is null", Plain, { uniqueKey: null, idempotencyKey: "i" }, "i"],
    ["derived where both are null", Idempotent, { uniqueKey: null, idempotencyKey: null }, derived],
    ["derived for a task that says so", Idempotent, {}, derived],
    ["derived for a call that says so", Plain, { idempotent: true }, derived],
    ["derived where the call leaves it open", Idempotent, { idempotent: undefined }, derived],
    ["none where the call turns the task's derivation off", Idempotent, { idempotent: false }, undefined],
    ["none by default", Plain, {}, undefined],
    ["a literal that looks like a derived one", Plain, { uniqueKey: derived }, derived],
  ])("is %s", async (_, type, options, key) => {
    const { queue } = world();
    expect((await (await queue.enqueue(type, charge, options)).look())?.key).toBe(key);
  });

  test("that is derived is one for equal inputs of one task, also without an explicit key", async () => {
    const { queue } = world();
    const first = await queue.enqueue(Idempotent, charge);
    expect((await queue.enqueue(Idempotent, { ...charge })).id).toBe(first.id);
    expect((await queue.enqueue(Idempotent, { ...charge, amountCents: 1 })).id).not.toBe(first.id);
  });

  test("that is derived is another for another task", async () => {
    const { queue } = world();
    class Other extends chargeTask() {
      static override readonly taskName: string = "other";
    }
    const first = await queue.enqueue(Plain, charge, { idempotent: true });
    expect((await queue.enqueue(Other, charge, { idempotent: true })).id).not.toBe(first.id);
  });

  test("is nothing but the resolved text for the engine", async () => {
    const { queue, engine } = world();
    const job = await queue.enqueue(Idempotent, charge);
    const record = await engine.get(job.id);
    expect(record?.key).toBe(derived);
    expect(JSON.stringify(record)).not.toContain("idempotent");
  });

  test.each([
    ["an empty uniqueKey", { uniqueKey: "" }, "uniqueKey is blank"],
    ["a blank idempotencyKey", { idempotencyKey: " \n" }, "idempotencyKey is blank"],
    ["NUL", { uniqueKey: "a\0b" }, "well-formed text without NUL"],
    ["a lone surrogate", { uniqueKey: "a\ud800" }, "well-formed text without NUL"],
    ["a number", { uniqueKey: 5 as unknown as string }, "uniqueKey must be a text, got 5"],
  ])("is refused when it is %s", async (_, options, words) => {
    const { queue } = world();
    expect(mistakeIn(await rejectionOf(queue.enqueue(Plain, charge, options)))).toContain(words);
  });

  test("of up to 512 bytes is kept, and a longer one is replaced by its hash", async () => {
    const { queue } = world();
    const keyOf = async (key: string) => (await (await queue.enqueue(Plain, charge, { uniqueKey: key })).look())?.key;
    expect(await keyOf("k".repeat(512))).toBe("k".repeat(512));
    expect(await keyOf("é".repeat(257))).toMatch(/^h:[0-9a-f]{64}$/);
    expect(await keyOf("k".repeat(100_000))).not.toBe(await keyOf("k".repeat(100_001)));
  });

  test("is for a name that keys can hold: a minified or anonymous class is refused", async () => {
    const { queue } = world();
    const nameless = () => taskOf(() => undefined);
    const [anonymous, e, nul] = [nameless(), nameless(), nameless()];
    Object.defineProperty(anonymous, "name", { value: "" });
    Object.defineProperty(e, "name", { value: "e" });
    Object.defineProperty(nul, "name", { value: "a\0b" });
    for (const type of [anonymous, e, nul]) expect(mistakeIn(await rejectionOf(queue.enqueue(type)))).toContain("Name the task");
  });
});
