import { afterEach, describe, expect, test } from "vitest";
import { idempotentBy, MemoryStore, resetConfiguration, Task, type Store } from "taskwright";
import { RedisStore } from "taskwright/redis";
import { z } from "zod";
import { ChaosStore } from "taskwright/testing";
import { ofName, PausePoint, recordEvents, useManualClock } from "../support/builders.js";
import { chargeKey, chargeTask } from "./fixtures/charge.js";
import { Program } from "./fixtures/package.js";
import { onEachStore, useRedis } from "./fixtures/stores.js";
import { expectNothingUnhandled, keepIn } from "./fixtures/watch.js";

expectNothingUnhandled();
afterEach(() => {
  resetConfiguration();
});

const KEY = chargeKey("pay_1");

/** The fingerprint that the slot carries, as any reader would find it. */
async function storedFingerprint(store: Store): Promise<unknown> {
  const value = (await store.get(KEY))?.value ?? "";
  const [, json = "{}"] = /^\w+ (.*)$/s.exec(value) ?? [];
  return (JSON.parse(json) as Record<string, unknown>)["fingerprint"]; // what the store's page says follows the word
}

/** A task that is given one value, and compares it. */
function comparing() {
  class Compare extends Task.with({ input: z.object({ id: z.string(), value: z.unknown() }) }) {
    work(): void {}
  }
  idempotentBy("id", { fingerprint: true })(Compare);
  return Compare;
}

describe("the fingerprint of a slot", () => {
  onEachStore((open) => {
    test("is there from the claim on, and stays through renewals, completion and the next claim", async () => {
      const store = new ChaosStore(open());
      keepIn(store);
      const renewal = store.disturb("renew", "delay-answer");
      const works = [new PausePoint(), new PausePoint()] as const;
      const Charge = chargeTask({ fingerprint: true, lease: 3 }, (_, run) => works[run - 1]?.pass());
      const first = Charge.execute({ paymentId: "pay_1" });
      await works[0].reached;
      const claimed = await storedFingerprint(store);
      await renewal.met;
      renewal.release();
      const renewed = await storedFingerprint(store);
      works[0].resume();
      await first;
      const completed = await storedFingerprint(store);
      await store.delete(KEY); // as if its time were over
      const second = Charge.execute({ paymentId: "pay_1" });
      await works[1].reached;
      const claimedAgain = await storedFingerprint(store);
      works[1].resume();
      await second;

      expect(claimed).toMatch(/^[0-9a-f]{32}$/);
      expect([renewed, completed, claimedAgain]).toEqual([claimed, claimed, claimed]);
    });

    test("tells another request while the first is at work, and does not wait for it", async () => {
      keepIn(open());
      const atWork = new PausePoint();
      const Charge = chargeTask({ fingerprint: true, onDuplicate: "replay" }, () => atWork.pass());
      const events = recordEvents("idempotency_mismatch", "idempotency_duplicate");
      const first = Charge.execute({ paymentId: "pay_1", amountCents: 100 });
      await atWork.reached;

      const other = await Charge.execute({ paymentId: "pay_1", amountCents: 200 });
      atWork.resume();
      await first;

      expect(other).toMatchObject({ status: "failed", retryable: false, metadata: { code: "fingerprint_mismatch", state: "processing" } });
      expect(events).toMatchObject([{ name: "idempotency_mismatch", payload: { idempotencyKey: KEY, state: "processing" } }]);
    });

    test("covers everything in the input, the target of the request among it", async () => {
      keepIn(open());
      class DeleteAccount extends Task.with({
        input: z.object({ requestId: z.string(), accountId: z.string(), reason: z.string().default("asked for") }),
      }) {
        static deleted: string[] = [];
        work(): void {
          DeleteAccount.deleted.push(this.input.accountId);
        }
      }
      idempotentBy("requestId", { fingerprint: true })(DeleteAccount);

      await DeleteAccount.execute({ requestId: "r1", accountId: "A" });
      const other = await DeleteAccount.execute({ requestId: "r1", accountId: "B" });
      const spelledOut = await DeleteAccount.execute({ requestId: "r1", accountId: "A", reason: "asked for" });

      expect(other.metadata).toMatchObject({ code: "fingerprint_mismatch" });
      expect(spelledOut.metadata).toMatchObject({ code: "duplicate" });
      expect(DeleteAccount.deleted).toEqual(["A"]);
    });

    test("covers what a function picks, when there is one, and nothing else", async () => {
      keepIn(open());
      class Transfer extends Task.with({ input: z.object({ id: z.string(), cents: z.number(), traceId: z.string() }) }) {
        work(): void {}
      }
      idempotentBy(({ input }: Transfer) => input.id, { fingerprint: ({ input }: Transfer) => [input.id, input.cents] })(Transfer);

      await Transfer.execute({ id: "1", cents: 100, traceId: "a" });
      const codes = [
        (await Transfer.execute({ id: "1", cents: 100, traceId: "b" })).metadata.code,
        (await Transfer.execute({ id: "1", cents: 200, traceId: "a" })).metadata.code,
      ];

      expect(codes).toEqual(["duplicate", "fingerprint_mismatch"]);
    });

    test("cannot disagree with a slot that has none", async () => {
      const store = keepIn(open());
      await store.set(KEY, "completed", { ttlMs: 60_000 }); // what a release before, or a Ruby process, has left

      const result = await chargeTask({ fingerprint: true }).execute({ paymentId: "pay_1" });

      expect(result).toMatchObject({ status: "skipped", metadata: { code: "duplicate", state: "completed" } });
    });
  });

  test("is the same after a crash was waited out", async () => {
    const clock = useManualClock();
    const store = keepIn(new MemoryStore({ clock }));
    const Charge = chargeTask({ fingerprint: true });
    await Charge.execute({ paymentId: "pay_1" });
    const completed = await storedFingerprint(store);
    await store.set(KEY, "processing", { ttlMs: 1_000, owner: "dead" });
    await clock.advance(1_000);

    await Charge.execute({ paymentId: "pay_1" });

    expect(await storedFingerprint(store)).toBe(completed);
  });
});

describe("a request repeated in another process", () => {
  const redis = useRedis();

  test("is the same request there, and another one is told apart", async () => {
    const options = { fingerprint: true, onDuplicate: "replay" } as const;
    const Charge = chargeTask(options);
    keepIn(new RedisStore(redis.connect()));
    const worker = new Program("charge.mjs", { port: redis.server.port, options });
    await worker.next("ready");
    worker.send({ input: { paymentId: "pay_1", amountCents: 500 } });
    const first = await worker.next("answered");
    worker.send({ input: { paymentId: "pay_1", amountCents: 500 } });
    const same = await worker.next("answered");
    worker.send({ input: { paymentId: "pay_1", amountCents: 501 } });
    const other = await worker.next("answered");
    await worker.kill();
    const elsewhere = await Charge.execute({ paymentId: "pay_1", amountCents: 501 });

    expect(first).toMatchObject({ status: "success", replayed: false });
    expect(same).toMatchObject({ status: "success", replayed: true, output: first["output"] });
    expect(other).toMatchObject({ status: "failed", metadata: { code: "fingerprint_mismatch" } });
    expect(elsewhere.metadata).toMatchObject({ code: "fingerprint_mismatch" });
    expect(Charge.runs).toBe(0);
  });
});

describe("values are one request", () => {
  const same: readonly (readonly [string, unknown, unknown])[] = [
    ["objects in another order, at any depth", { a: 1, b: { c: 2, d: 3 } }, { b: { d: 3, c: 2 }, a: 1 }],
    ["objects in arrays", [{ a: 1, b: 2 }], [{ b: 2, a: 1 }]],
    ["maps in another order", new Map(Object.entries({ a: 1, b: 2 })), new Map(Object.entries({ b: 2, a: 1 }))],
    ["sets in another order", new Set([1, 2, { a: 1, b: 2 }]), new Set([{ b: 2, a: 1 }, 2, 1])],
    ["keys of many scripts in another order", { ä: 1, z: 2, Z: 3, "10": 4, "9": 5 }, { "9": 5, "10": 4, Z: 3, z: 2, ä: 1 }],
    ["dates", new Date(5), new Date(5)],
  ];
  test.each(same)("%s", async (_, one, other) => {
    const Compare = comparing();
    await Compare.execute({ id: "1", value: one });

    expect((await Compare.execute({ id: "1", value: other })).metadata).toMatchObject({ code: "duplicate" });
  });

  const different: readonly (readonly [string, unknown, unknown])[] = [
    ["arrays in another order", [1, 2], [2, 1]],
    ["keys that differ in case only", { name: 1 }, { Name: 1 }],
    ["a number and its text", 5, "5"],
    ["a number and a bigint", 5, 5n],
    ["null and nothing", null, undefined],
    ["an array and a set of the same things", [1], new Set([1])],
    ["a nested array and a flat one", [[1], 2], [1, 2]],
    ["a text that looks like an object, and the object", '{"a":1}', { a: 1 }],
  ];
  test.each(different)("no longer: %s", async (_, one, other) => {
    const Compare = comparing();
    await Compare.execute({ id: "1", value: one });

    expect((await Compare.execute({ id: "1", value: other })).metadata).toMatchObject({ code: "fingerprint_mismatch" });
  });

  test("or none at all when they have nothing to compare: the run fails before it claims", async () => {
    const events = recordEvents();
    const result = await comparing().execute({ id: "1", value: () => 1 });

    expect(result).toMatchObject({ status: "failed", reason: "A function has no value to compare" });
    expect(ofName(events, "idempotency_claimed")).toEqual([]);
  });
});
