import { afterEach, describe, expect, test } from "vitest";
import { idempotentBy, MemoryStore, resetConfiguration, Task, type IdempotencyOptions } from "taskwright";
import { RedisStore } from "taskwright/redis";
import { z } from "zod";
import { ofName, PausePoint, recordEvents } from "../support/builders.js";
import { chargeKey, chargeTask } from "./fixtures/charge.js";
import { Program } from "./fixtures/package.js";
import { onEachStore, useRedis } from "./fixtures/stores.js";
import { expectNothingUnhandled, keepIn } from "./fixtures/watch.js";

expectNothingUnhandled();
afterEach(() => {
  resetConfiguration();
});

/** A task that gives one value, for replay. */
function giving(value: () => unknown, options: IdempotencyOptions = {}, atWork: () => unknown = () => undefined) {
  class Give extends Task.with({ input: z.object({ id: z.string() }), output: z.object({ value: z.unknown().optional() }) }) {
    static runs = 0;
    static rollbacks = 0;
    async work(): Promise<{ value?: unknown }> {
      Give.runs += 1;
      await atWork();
      return value() as { value?: unknown }; // the tests give odd things on purpose
    }
    override rollback(): void {
      Give.rollbacks += 1;
    }
  }
  idempotentBy("id", { onDuplicate: "replay", ...options })(Give);
  return Give;
}

const KEY = "cmdx:idem:Give:1";

describe("an output that is nearly nothing", () => {
  const outputs: readonly (readonly [string, object])[] = [
    ["nothing", {}],
    ["undefined", { value: undefined }],
    ["null", { value: null }],
    ["the text null", { value: "null" }],
    ["an empty text", { value: "" }],
    ["zero", { value: 0 }],
    ["less than zero by a hair", { value: -0 }],
    ["false", { value: false }],
    ["NaN", { value: Number.NaN }],
  ];

  onEachStore((open) => {
    test.each(outputs)("comes back as it was: %s", async (_, output) => {
      keepIn(open());
      const Give = giving(() => output);

      const first = await Give.execute({ id: "1" });
      const second = await Give.execute({ id: "1" });

      expect(first).toMatchObject({ status: "success", replayed: false });
      expect(second).toMatchObject({ status: "success", replayed: true });
      expect(second.status === "success" && second.output).toStrictEqual(first.status === "success" && first.output);
      expect(Give.runs).toBe(1);
    });

    test.each([undefined, null, "null", "", 0, false])(
      "counts as done, also where there is no schema to replay it through: %j",
      async (value) => {
        keepIn(open());
        let runs = 0;
        class Bare extends Task.with({ input: z.object({ id: z.string() }) }) {
          work(): unknown {
            runs += 1;
            return value;
          }
        }
        idempotentBy("id")(Bare);

        const first = await Bare.execute({ id: "1" });
        const second = await Bare.execute({ id: "1" });

        expect(first).toMatchObject({ status: "success", output: value });
        expect(second.metadata).toMatchObject({ code: "duplicate", state: "completed" });
        expect(runs).toBe(1);
      },
    );
  });
});

describe("an output that no text can carry", () => {
  class Connection {
    readonly open = true;
  }
  const unstorable: readonly (readonly [string, () => unknown])[] = [
    ["a function", () => ({ value: () => 1 })],
    ["a symbol", () => ({ value: Symbol("s") })],
    ["an instance", () => ({ value: new Connection() })],
  ];

  onEachStore((open) => {
    test.each(unstorable)("is forgotten, since the work is done: %s", async (_, value) => {
      const store = keepIn(open());
      const events = recordEvents();
      const Give = giving(value);

      const first = await Give.execute({ id: "1" });
      const second = await Give.execute({ id: "1" });

      expect(first.status).toBe("success");
      expect(second).toMatchObject({ status: "skipped", metadata: { code: "duplicate", state: "completed" } });
      expect(ofName(events, "idempotency_output_lost")).toMatchObject([{ payload: { idempotencyKey: KEY, why: "unstorable" } }]);
      expect(ofName(events, "idempotency_completed")).toHaveLength(1);
      expect((await store.get(KEY))?.value).toBe("completed");
      expect([Give.runs, Give.rollbacks]).toEqual([1, 0]);
    });

    test.each(unstorable)("gives who waits for it a clear answer at once: %s", async (_, value) => {
      keepIn(open());
      const atWork = new PausePoint();
      const Give = giving(value, { waitFor: 60 }, () => atWork.pass());
      const first = Give.execute({ id: "1" });
      await atWork.reached;
      const waiting = Give.execute({ id: "1" });
      atWork.resume();

      expect((await first).status).toBe("success");
      expect(await waiting).toMatchObject({ status: "skipped", metadata: { code: "duplicate", state: "completed" } });
      expect(Give.runs).toBe(1);
    });

    test("fails the run where that is wanted, is rolled back, and frees the key before anything is completed", async () => {
      const store = keepIn(open());
      const events = recordEvents();
      const Give = giving(() => ({ value: () => 1 }), { onUnstorable: "fail" });

      const first = await Give.execute({ id: "1" });

      expect(first).toMatchObject({ status: "failed", metadata: { code: "unstorable_output" }, rolledBack: true });
      expect(first.reason).toContain("at output.value");
      expect(ofName(events, "idempotency_completed")).toEqual([]);
      expect(ofName(events, "idempotency_released")).toHaveLength(1);
      expect(await store.get(KEY)).toBeUndefined();
    });

    test("is no matter of circles or big numbers: those come back", async () => {
      keepIn(open());
      const circle: { name: string; self?: object; big: bigint } = { name: "circle", big: 2n ** 70n };
      circle.self = circle;
      const Give = giving(() => ({ value: circle }));

      await Give.execute({ id: "1" });
      const second = await Give.execute({ id: "1" });

      expect(second).toMatchObject({ status: "success", replayed: true });
      const output = second.status === "success" ? (second.output as { value: typeof circle }) : undefined; // what the task gives
      expect(output?.value.self).toBe(output?.value);
      expect(output?.value.big).toBe(2n ** 70n);
    });
  });
});

describe("an output that is too large", () => {
  const MB = 2 ** 20;

  onEachStore((open) => {
    test("is forgotten: the slot says completed and nothing else", async () => {
      const store = keepIn(open());
      const events = recordEvents("idempotency_output_lost");
      const Give = giving(() => ({ value: "x".repeat(20 * MB) }), { maxOutputBytes: MB });

      const first = await Give.execute({ id: "1" });
      const second = await Give.execute({ id: "1" });

      expect(first.status).toBe("success");
      expect(second).toMatchObject({ status: "skipped", metadata: { code: "duplicate", state: "completed" } });
      expect(ofName(events, "idempotency_output_lost")).toMatchObject([{ payload: { why: "too_large" } }]);
      expect((await store.get(KEY))?.value).toBe("completed");
    });

    test("is kept up to the last byte that is allowed", async () => {
      keepIn(open());
      const value = "x".repeat(1_000);
      const bytes = '[{"value":1},""]'.length + value.length;
      const [Fits, TooLarge] = [bytes, bytes - 1].map((maxOutputBytes) =>
        giving(() => ({ value }), { maxOutputBytes, namespace: String(maxOutputBytes) }),
      );
      if (Fits === undefined || TooLarge === undefined) throw new Error("two were made");
      Object.assign(TooLarge, { taskName: "GiveLess" });

      const statuses: string[] = [];
      for (const Give of [Fits, Fits, TooLarge, TooLarge]) statuses.push((await Give.execute({ id: "1" })).status);

      expect(statuses).toEqual(["success", "success", "success", "skipped"]);
    });
  });
});

describe("completed keys without an output", () => {
  const redis = useRedis();

  test("take little of a server's memory", async () => {
    const client = redis.connect();
    keepIn(new RedisStore(client));
    const Charge = chargeTask({ ttl: 3_600 });
    const ids = Array.from({ length: 10_000 }, (_, at) => `pay_${at}`);
    for (let at = 0; at < ids.length; at += 500) {
      await Promise.all(ids.slice(at, at + 500).map((paymentId) => Charge.execute({ paymentId })));
    }

    const sizes = await Promise.all(ids.slice(0, 200).map((id) => client.memory("USAGE", chargeKey(id))));
    const values = new Set(await client.mget(ids.map(chargeKey)));

    expect(Charge.runs).toBe(10_000);
    expect([...values]).toEqual(["completed"]);
    expect(Math.max(...sizes.map(Number))).toBeLessThan(300);
  });

  test("take little of a process's memory", async () => {
    const program = new Program("many-keys.mjs", { keys: 10_000 });

    const { bytesEach, slots } = await program.next<{ bytesEach: number; slots: number }>("measured");

    expect(slots).toBe(10_000);
    expect(bytesEach).toBeLessThan(400);
  });
});

describe("what another process did meanwhile", () => {
  const redis = useRedis();

  test("is seen by the next call: a run in progress is remembered nowhere but in the store", async () => {
    const worker = new Program("charge.mjs", { port: redis.server.port, options: { onDuplicate: "replay" } });
    await worker.next("ready");
    keepIn(new RedisStore(redis.connect()));
    const Charge = chargeTask({ onDuplicate: { processing: "skip", completed: "replay" } });
    worker.send({ input: { paymentId: "pay_1", holdMs: 300 } });
    await worker.next("working");

    const during = await Charge.execute({ paymentId: "pay_1" });
    const { output } = await worker.next("answered");
    const after = await Charge.execute({ paymentId: "pay_1" });
    await worker.kill();

    expect(during.metadata).toMatchObject({ code: "duplicate", state: "processing" });
    expect(after).toMatchObject({ status: "success", replayed: true, output });
    expect(Charge.runs).toBe(0);
  });

  test("is seen by one that waits for it", async () => {
    const worker = new Program("charge.mjs", { port: redis.server.port, options: { onDuplicate: "replay" } });
    await worker.next("ready");
    keepIn(new RedisStore(redis.connect()));
    const Charge = chargeTask({ onDuplicate: "replay" });
    worker.send({ input: { paymentId: "pay_1", holdMs: 300 } });
    await worker.next("working");

    const waited = await Charge.execute({ paymentId: "pay_1" });
    const { output } = await worker.next("answered");
    await worker.kill();

    expect(waited).toMatchObject({ status: "success", replayed: true, output });
    expect(Charge.runs).toBe(0);
  });
});

test("an output stored by an older release that no longer fits answers as a duplicate, and nothing runs again", async () => {
  const store = keepIn(new MemoryStore());
  const Charge = chargeTask({ onDuplicate: "replay" });
  const events = recordEvents("idempotency_output_lost");
  for (const output of ['[{"chargeId":1},42]', '["not ours', '[{"other":1},"x"]']) {
    await store.set(chargeKey("pay_1"), `completed ${JSON.stringify({ run: "r", output })}`, { ttlMs: 60_000 });

    const result = await Charge.execute({ paymentId: "pay_1" });

    expect(result).toMatchObject({ status: "skipped", metadata: { code: "duplicate", state: "completed" } });
  }
  expect(ofName(events, "idempotency_output_lost").map(({ payload }) => payload.why)).toEqual(["unreadable", "unreadable", "unreadable"]);
  expect(Charge.runs).toBe(0);
});
