import { beforeEach, describe, expect, test } from "vitest";
import { MemoryStore } from "taskwright";
import { ChaosStore, ManualClock } from "taskwright/testing";

const LIFE = { ttlMs: 60_000 };

let inner: MemoryStore;
let chaos: ChaosStore;

beforeEach(() => {
  inner = new MemoryStore();
  chaos = new ChaosStore(inner);
});

const claim = (owner = "a") => chaos.set("key", "processing", { nx: true, owner, ...LIFE });
const complete = (owner = "a") => chaos.set("key", "completed", { xx: true, owner, ...LIFE });

/** Has it answered by now? */
async function answered(answer: unknown): Promise<boolean> {
  let done = false;
  Promise.resolve(answer).then(
    () => (done = true),
    () => (done = true),
  );
  await new ManualClock().advance(0); // lets everything happen that can
  return done;
}

test("an undisturbed chaos store is the store inside it", async () => {
  expect(await claim()).toMatchObject({ ok: true });
  expect(await chaos.get("key")).toMatchObject({ value: "processing", owner: "a" });
  expect(await chaos.renew("key", { owner: "a", ttlMs: 1_000 })).toBe(true);
  expect((await chaos.entries({ prefix: "k" })).entries).toHaveLength(1);
  expect(await complete()).toMatchObject({ ok: true });
  expect(await chaos.delete("key")).toBe(true);
});

test("it notes every call in order, claims and completions by name", async () => {
  await claim();
  await complete();
  await chaos.set("key", "plain", LIFE);
  await chaos.get("key");
  await chaos.renew("key", { owner: "a", ttlMs: 1_000 });
  await chaos.delete("key", { owner: "a" });
  await chaos.entries({ prefix: "k" });
  expect(chaos.calls.map(({ operation }) => operation)).toEqual(["claim", "complete", "set", "get", "renew", "delete", "entries"]);
  expect(chaos.calls[0]).toEqual({ operation: "claim", key: "key", value: "processing", options: { nx: true, owner: "a", ...LIFE } });
});

describe("a disturbed call", () => {
  test("fails before it is done", async () => {
    chaos.disturb("claim", "fail-before");
    await expect(claim()).rejects.toThrow("ChaosStore: claim of key failed before it was done");
    expect(await inner.get("key")).toBeUndefined();
  });

  test("fails after it is done", async () => {
    chaos.disturb("claim", "fail-after");
    await expect(claim()).rejects.toThrow("ChaosStore: claim of key failed after it was done");
    expect(await inner.get("key")).toMatchObject({ owner: "a" });
  });

  test("fails with the error that the test gives", async () => {
    const error = new Error("READONLY You can't write against a read only replica.");
    chaos.disturb("complete", "fail-before", { error });
    await expect(complete()).rejects.toBe(error);
  });

  test("is done, and its answer never comes", async () => {
    chaos.disturb("claim", "lose-answer");
    expect(await answered(claim())).toBe(false);
    expect(await inner.get("key")).toMatchObject({ owner: "a" });
  });

  test("is not done, and never answers", async () => {
    chaos.disturb("claim", "never-answer");
    expect(await answered(claim())).toBe(false);
    expect(await inner.get("key")).toBeUndefined();
  });

  test("waits, and is done when it is released", async () => {
    const late = chaos.disturb("claim", "delay");
    const result = claim();
    await late.met;
    expect(await answered(result)).toBe(false);
    expect(await inner.get("key")).toBeUndefined();
    late.release();
    expect(await result).toMatchObject({ ok: true });
  });

  test("is done at once, and answers when it is released", async () => {
    const late = chaos.disturb("claim", "delay-answer");
    const result = claim();
    await late.met;
    expect(await answered(result)).toBe(false);
    expect(await inner.get("key")).toMatchObject({ owner: "a" });
    late.release();
    expect(await result).toMatchObject({ ok: true });
  });

  test("reads what was read before", async () => {
    await claim();
    const before = await chaos.get("key");
    await complete();
    chaos.disturb("get", "stale");
    expect(await chaos.get("key")).toEqual(before);
    expect(await chaos.get("key")).toMatchObject({ value: "completed" });
  });

  test("reads nothing when nothing was read before", async () => {
    await claim();
    chaos.disturb("get", "stale");
    expect(await chaos.get("key")).toBeUndefined();
  });

  test("loses a claim to an entry that is gone when it looks", async () => {
    await claim("other");
    chaos.disturb("claim", "vanish");
    expect(await claim()).toEqual({ ok: false, held: undefined });
    expect(await claim()).toMatchObject({ ok: true });
  });
});

describe("a disturbance", () => {
  test("meets one call, unless it is told how many", async () => {
    chaos.disturb("get", "fail-before");
    await expect(chaos.get("key")).rejects.toThrow(/before it was done/);
    expect(await chaos.get("key")).toBeUndefined();

    chaos.disturb("get", "fail-before", { times: 2 });
    await expect(chaos.get("key")).rejects.toThrow(/before it was done/);
    await expect(chaos.get("key")).rejects.toThrow(/before it was done/);
    expect(await chaos.get("key")).toBeUndefined();
  });

  test("meets its operation only, and of that what the test picks", async () => {
    chaos.disturb("claim", "fail-before", { times: Infinity, when: ({ key }) => key === "unlucky" });
    await chaos.set("unlucky", "plain", LIFE);
    expect(await claim()).toMatchObject({ ok: true });
    await expect(chaos.set("unlucky", "processing", { nx: true, owner: "a", ...LIFE })).rejects.toThrow(/before it was done/);
  });

  test("comes before those that were set up later", async () => {
    chaos.disturb("get", "fail-before", { error: new Error("first") });
    chaos.disturb("get", "fail-before", { error: new Error("second") });
    await expect(chaos.get("key")).rejects.toThrow("first");
    await expect(chaos.get("key")).rejects.toThrow("second");
  });

  test("ends when the store is calmed, and what waits goes on", async () => {
    const late = chaos.disturb("claim", "delay", { times: Infinity });
    const result = claim();
    await late.met;
    chaos.calm();
    expect(await result).toMatchObject({ ok: true });
    expect(await claim()).toMatchObject({ ok: true });
  });

  test("is offered only for the operation that knows its fault", () => {
    // @ts-expect-error a claim does not read
    expect(() => chaos.disturb("claim", "stale")).toThrow(/fault must be one of .*"vanish", got "stale"/);
    // @ts-expect-error a read is not refused
    expect(() => chaos.disturb("get", "vanish")).toThrow(/fault must be one of .*"stale", got "vanish"/);
  });

  test("that is not known is refused, and not taken for none", () => {
    const untyped = chaos as unknown as { disturb(operation: string, fault: string): void }; // as a program without types sees it

    expect(() => untyped.disturb("claims", "delay")).toThrow(/operation must be one of "claim", .*got "claims"/);
    expect(() => untyped.disturb("claim", "never")).toThrow(/fault must be one of "fail-before", .*got "never"/);
  });
});
