import { setTimeout as wait } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { configure, resetConfiguration, type Claim, type Result, type TelemetryEvent } from "taskwright";
import { RedisStore } from "taskwright/redis";
import { ofName, recordEvents } from "../support/builders.js";
import { chargeKey, chargeTask } from "./fixtures/charge.js";
import { DurableRedis } from "./fixtures/durable-redis.js";
import { immortalKeys, quietClient } from "./fixtures/stores.js";
import { expectNothingUnhandled, keepIn } from "./fixtures/watch.js";

expectNothingUnhandled();
afterEach(() => {
  resetConfiguration();
});

let server: DurableRedis;
beforeAll(async () => {
  server = await DurableRedis.start();
});
afterAll(async () => {
  await server.remove();
});

const CALLERS = 48;
const OUTAGES = 3;
const STORE_TIMEOUT_MS = 500;
const WORK_MS = 20;
/** Two claims and the pause between them, the work, and a completion that is tried for three limits, its last call included. */
const LONGEST_MS = 2 * STORE_TIMEOUT_MS + 50 + WORK_MS + 4 * STORE_TIMEOUT_MS;
/** For a machine that is busy with other tests. */
const PATIENCE_MS = 2_000;

interface WorkDone {
  readonly key: string;
  readonly runId: string;
  readonly claim: Claim | undefined;
  readonly startedAt: number;
  readonly endedAt: number;
}

interface Answer {
  readonly result: Result;
  readonly key: string;
  readonly answeredAt: number;
  readonly tookMs: number;
}

/** Calls without a break, each caller with keys that others use as well, while the server is killed and started again. */
async function burst() {
  const works: WorkDone[] = [];
  const answers: Answer[] = [];
  const rejections: unknown[] = [];
  const Charge = chargeTask({ lease: 20 }, async (task) => {
    const startedAt = performance.now();
    await wait(WORK_MS);
    works.push({ key: task.claim?.key ?? "", runId: task.runId, claim: task.claim, startedAt, endedAt: performance.now() });
  });
  let calls = 0;
  let over = false;
  const caller = async (): Promise<void> => {
    while (!over) {
      // Neighbours call one key at about the same time, and once more much later.
      const at = calls++;
      const paymentId = `pay_${at % 10 === 9 ? Math.floor(at / 200) : Math.floor(at / 3)}`;
      const calledAt = performance.now();
      try {
        const result = await Charge.execute({ paymentId });
        answers.push({ result, key: chargeKey(paymentId), answeredAt: performance.now(), tookMs: performance.now() - calledAt });
        if (result.status === "failed") await wait(20); // nobody asks again at once
      } catch (rejection) {
        rejections.push(rejection);
      }
    }
  };
  const callers = Array.from({ length: CALLERS }, caller);
  for (let outage = 0; outage < OUTAGES; outage += 1) {
    await wait(1_200);
    await server.kill();
    await wait(400);
    await server.start();
  }
  await wait(1_200);
  over = true;
  await Promise.all(callers);
  return { works, answers, rejections };
}

function table(answers: readonly Answer[], events: readonly TelemetryEvent[]): string {
  const rows = new Map<string, number[]>();
  for (const { result, tookMs } of answers) {
    const kind = [
      result.status,
      result.metadata.code,
      result.metadata["state"],
      result.metadata["superseded"] === true ? "superseded" : "",
    ];
    const name = kind.filter((part) => part !== undefined && part !== "").join(" ");
    rows.set(name, [...(rows.get(name) ?? []), tookMs]);
  }
  const lines = [...rows].map(
    ([name, took]) =>
      `${name.padEnd(36)} ${String(took.length).padStart(6)} ${Math.max(...took)
        .toFixed(0)
        .padStart(9)} ms`,
  );
  const errors = new Map<string, number>();
  for (const { payload } of ofName(events, "idempotency_store_error"))
    errors.set(payload.operation, (errors.get(payload.operation) ?? 0) + 1);
  const failures = [...errors].map(([operation, count]) => `${operation}: ${count}`).join(", ");
  return [`${"answer".padEnd(36)} ${"calls".padStart(6)} ${"longest".padStart(12)}`, ...lines, `store calls that failed: ${failures}`].join(
    "\n",
  );
}

test(
  "a burst of calls through three crashes of the server answers every call in time, runs nothing unclaimed and nothing twice",
  { timeout: 120_000 },
  async () => {
    const client = quietClient(server.port, { retryStrategy: () => 30, maxRetriesPerRequest: null });
    keepIn(new RedisStore(client));
    configure((config) => {
      config.storeTimeout = `${STORE_TIMEOUT_MS}ms`;
    });
    const events = recordEvents("idempotency_claimed", "idempotency_completed", "idempotency_lost", "idempotency_store_error");

    const { works, answers, rejections } = await burst();
    client.disconnect();
    console.log(table(answers, events));

    expect(rejections).toEqual([]);
    expect(Math.max(...answers.map(({ tookMs }) => tookMs))).toBeLessThan(LONGEST_MS + PATIENCE_MS);
    // The crashes met calls at both of their steps, and there was work before and after them.
    const failed = new Set(ofName(events, "idempotency_store_error").map(({ payload }) => payload.operation));
    expect([...failed]).toEqual(expect.arrayContaining(["claim", "complete"]));
    expect(works.length).toBeGreaterThan(50);

    const claimed = new Set(ofName(events, "idempotency_claimed").map(({ runId }) => runId));
    expect(works.filter(({ claim, runId }) => claim === undefined || !claimed.has(runId))).toEqual([]);
    const allowed = ["success ", "skipped duplicate", "failed store_unavailable"];
    expect(
      answers.map(({ result }) => `${result.status} ${result.metadata.code ?? ""}`).filter((answer) => !allowed.includes(answer)),
    ).toEqual([]);

    // The server kept its word and no lease ran out, so nobody may find his slot gone.
    expect(answers.filter(({ result }) => result.metadata["superseded"] === true)).toEqual([]);
    expect(ofName(events, "idempotency_lost")).toEqual([]);
    expect(overlaps(works)).toEqual([]);
    expect(runsAfterSuccess(works, answers, events)).toEqual([]);
    expect(await immortalKeys(server.port)).toEqual([]);
  },
);

/** Works on one key of which the second began before the first had ended. */
function overlaps(works: readonly WorkDone[]): string[] {
  return works
    .flatMap((one) =>
      works.filter((other) => other !== one && other.key === one.key && other.startedAt >= one.startedAt && other.startedAt < one.endedAt),
    )
    .map(({ key }) => key);
}

/** Works that began after another run with their key had answered with a success that the store has recorded. */
function runsAfterSuccess(works: readonly WorkDone[], answers: readonly Answer[], events: readonly TelemetryEvent[]): string[] {
  const recorded = new Set(ofName(events, "idempotency_completed").map(({ runId }) => runId));
  const successes = answers.filter(({ result }) => result.status === "success" && recorded.has(result.runId));
  return works
    .filter(({ key, startedAt }) => successes.some((success) => success.key === key && success.answeredAt < startedAt))
    .map(({ key }) => key);
}
