import { afterEach, describe, expect, test } from "vitest";
import {
  DuplicateError,
  idempotentBy,
  MemoryStore,
  resetConfiguration,
  Task,
  type DuplicateRules,
  type Result,
  type Store,
} from "taskwright";
import { RedisStore } from "taskwright/redis";
import { z } from "zod";
import { ofName, PausePoint, recordEvents } from "../support/builders.js";
import { chargeKey, chargeTask } from "./fixtures/charge.js";
import { Program } from "./fixtures/package.js";
import { inTurn, onEachStore, useRedis } from "./fixtures/stores.js";
import { expectNothingUnhandled, keepIn } from "./fixtures/watch.js";

expectNothingUnhandled();
afterEach(() => {
  resetConfiguration();
});

const KEY = chargeKey("pay_1");

function count(results: readonly Result[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status, metadata } of results) {
    const kind = metadata.code === undefined ? status : `${status} ${metadata.code}`;
    counts[kind] = (counts[kind] ?? 0) + 1;
  }
  return counts;
}

describe("ten calls with one key in one turn", () => {
  /** Ten calls while the first of them is at work. */
  async function tenCalls(store: Store, onDuplicate: "skip" | "replay") {
    keepIn(store);
    const atWork = new PausePoint();
    const Charge = chargeTask({ onDuplicate }, () => atWork.pass());
    const calls = Array.from({ length: 10 }, () => Charge.execute({ paymentId: "pay_1" }));
    await atWork.reached;
    atWork.resume();
    return { results: await Promise.all(calls), runs: Charge.runs };
  }

  const redis = useRedis();
  const stores: readonly (readonly [string, () => Store])[] = [
    ["in memory", () => new MemoryStore()],
    ["on Redis", () => new RedisStore(redis.connect())],
    ["over two stores on one Redis", () => inTurn(new RedisStore(redis.connect()), new RedisStore(redis.connect()))],
    ["on Redis with automatic pipelines", () => new RedisStore(redis.connect({ enableAutoPipelining: true }))],
  ];

  test.each(stores)("make one run %s, and nine duplicates", async (_, open) => {
    const { results, runs } = await tenCalls(open(), "skip");

    expect(count(results)).toEqual({ success: 1, "skipped duplicate": 9 });
    expect(runs).toBe(1);
  });

  test.each(stores)("make one run %s, and nine replays of its output", async (_, open) => {
    const { results, runs } = await tenCalls(open(), "replay");

    const outputs = results.map((result) => (result.status === "success" ? [result.output, result.replayed] : result.reason));
    expect(outputs.toSorted((a, b) => Number(a?.[1]) - Number(b?.[1]))).toEqual([
      [{ chargeId: "ch_1" }, false],
      ...Array.from({ length: 9 }, () => [{ chargeId: "ch_1" }, true]),
    ]);
    expect(runs).toBe(1);
  });

  test.each(stores)("make one run for each key, when they have a hundred keys %s", async (_, open) => {
    keepIn(open());
    const Charge = chargeTask();
    const ids = Array.from({ length: 1_000 }, (_, at) => `pay_${at % 100}`);

    const results = await Promise.all(ids.map((paymentId) => Charge.execute({ paymentId })));

    expect(count(results)).toEqual({ success: 100, "skipped duplicate": 900 });
    expect(Charge.runs).toBe(100);
  });
});

describe("two processes with one key within a millisecond", () => {
  const redis = useRedis();
  const ROUNDS = 20;

  test("make one run, whoever comes first", async () => {
    const workers = [1, 2].map(() => new Program("charge.mjs", { port: redis.server.port }));
    await Promise.all(workers.map((worker) => worker.next("ready")));
    const gaps: number[] = [];
    const outcomes: string[][] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const at = Date.now() + 40; // both wait for the same moment
      for (const worker of workers) worker.send({ input: { paymentId: `pay_${round}`, holdMs: 5 }, at });
      const answers = await Promise.all(workers.map((worker) => worker.next<{ status: string; calledAt: number }>("answered")));
      const [one = 0, other = 0] = answers.map(({ calledAt }) => calledAt);
      gaps.push(Math.abs(one - other));
      outcomes.push(answers.map(({ status }) => status).toSorted());
    }
    await Promise.all(workers.map((worker) => worker.kill()));

    expect(outcomes).toEqual(Array.from({ length: ROUNDS }, () => ["skipped", "success"]));
    expect(Math.min(...gaps)).toBeLessThan(1); // so the test did what its name says
  });
});

describe("a run that starts itself again inside its work", () => {
  interface Inner {
    readonly result: Result;
  }
  /** A task whose work executes the same key once more, directly or through another task. */
  function reentrant(processing: DuplicateRules["processing"] & string, { through = false } = {}) {
    const inner: Inner[] = [];
    const atInner = async (run: number): Promise<void> => {
      if (run === 1) inner.push({ result: await Charge.execute({ paymentId: "pay_1" }) });
    };
    class Between extends Task.with({ input: z.object({ run: z.number() }) }) {
      work(): Promise<void> {
        return atInner(this.input.run);
      }
    }
    const Charge = chargeTask({ onDuplicate: { processing }, waitFor: 60 }, async (_, run) => {
      await (through ? Between.execute({ run }) : atInner(run));
    });
    return { Charge, inner };
  }

  onEachStore((open) => {
    test.each([
      ["skip", "skipped"],
      ["fail", "failed"],
    ] as const)("meets itself as a duplicate, under %s", async (rule, status) => {
      keepIn(open());
      const { Charge, inner } = reentrant(rule);

      const outer = await Charge.execute({ paymentId: "pay_1" });

      expect(inner).toMatchObject([{ result: { status, metadata: { code: "duplicate", state: "processing", firstRunId: outer.runId } } }]);
      expect(outer.status).toBe("success");
      expect(Charge.runs).toBe(1);
    });

    test.each([false, true])("does not wait for itself, though told to wait (through another task: %s)", async (through) => {
      keepIn(open());
      const { Charge, inner } = reentrant("wait", { through });
      const events = recordEvents("idempotency_duplicate");

      const outer = await Charge.execute({ paymentId: "pay_1" });

      expect(inner).toMatchObject([{ result: { status: "failed", metadata: { code: "duplicate", state: "processing" } } }]);
      const [{ result } = { result: outer }] = inner;
      expect(result.status === "failed" && result.error).toBeInstanceOf(DuplicateError);
      expect(result.reason).toContain("a run around this one");
      expect(result.durationMs).toBeLessThan(10_000);
      expect(ofName(events, "idempotency_duplicate")).toHaveLength(1);
      expect(outer.status).toBe("success");
    });

    test("may start other keys of its own task, which wait for nobody", async () => {
      keepIn(open());
      class Tree extends Task.with({ input: z.object({ depth: z.number() }) }) {
        static runs = 0;
        async work(): Promise<void> {
          Tree.runs += 1;
          if (this.input.depth > 0) await Tree.executeBang({ depth: this.input.depth - 1 });
        }
      }
      idempotentBy(({ input }: Tree) => input.depth, { onDuplicate: { processing: "wait" } })(Tree);

      const result = await Tree.execute({ depth: 5 });

      expect(result.status).toBe("success");
      expect(Tree.runs).toBe(6);
    });
  });
});

describe("two runs that wait for each other's keys", () => {
  onEachStore((open) => {
    test("come to an end when their time of waiting is up", async () => {
      keepIn(open());
      const both = [new PausePoint(), new PausePoint()] as const;
      const inner: Result[] = [];
      const Charge = chargeTask({ onDuplicate: { processing: "wait" }, waitFor: "100ms" }, async (_, run) => {
        if (run > 2) return;
        await both[run === 1 ? 0 : 1].pass();
        inner.push(await Charge.execute({ paymentId: run === 1 ? "pay_2" : "pay_1" }));
      });
      const outer = [Charge.execute({ paymentId: "pay_1" }), Charge.execute({ paymentId: "pay_2" })];
      await Promise.all(both.map(({ reached }) => reached));

      for (const point of both) point.resume();
      const results = await Promise.all(outer);

      expect(results.map(({ status }) => status)).toEqual(["success", "success"]);
      expect(inner.some(({ status, metadata }) => status === "failed" && metadata.code === "duplicate")).toBe(true);
      expect(Charge.runs).toBe(2);
    });
  });
});

test("a claim that its own holder repeats is granted again and moves its end", async () => {
  const store = new MemoryStore();
  await store.set(KEY, "processing", { nx: true, owner: "one", ttlMs: 1_000 });

  const repeated = await store.set(KEY, "processing", { nx: true, owner: "one", ttlMs: 5_000 });
  const other = await store.set(KEY, "processing", { nx: true, owner: "two", ttlMs: 5_000 });

  expect(repeated.ok).toBe(true);
  expect(other).toMatchObject({ ok: false, held: { owner: "one" } });
  expect((await store.get(KEY))?.expiresInMs).toBeGreaterThan(1_000);
});
