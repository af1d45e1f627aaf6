import { AsyncLocalStorage } from "node:async_hooks";
import { setTimeout as wait } from "node:timers/promises";
import { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { configure, LeaseLostError, MemoryStore, resetConfiguration, Task, type Result } from "taskwright";
import { RedisStore } from "taskwright/redis";
import { ChaosStore } from "taskwright/testing";
import { ofName, PausePoint, recordEvents } from "../support/builders.js";
import { provideRedis, startRedis } from "../support/redis.js";
import { chargeTask, INPUT, KEY } from "./charge.js";

/** What only real time and real connections can show. Leases are short, and so are the waits. */

/** Holds the event loop still: no timer fires and no answer is read. */
function block(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

let server: Awaited<ReturnType<typeof provideRedis>>;
let client: Redis;

beforeAll(async () => {
  server = await provideRedis();
});
afterAll(() => server.stop());

beforeEach(async () => {
  resetConfiguration();
  client = new Redis(server.url, { keyPrefix: `${process.pid}:${performance.now()}:` });
  await client.ping();
  configure((config) => {
    config.store = new RedisStore(client);
  });
});
afterEach(() => {
  resetConfiguration();
  client.disconnect();
});

describe("an event loop that stands still for longer than the lease", () => {
  test("lets another process in; the run learns that it was superseded and touches nothing of the other's", async () => {
    const events = recordEvents("idempotency_lost", "idempotency_completed");
    const signals: AbortSignal[] = [];
    const { ChargeCustomer } = chargeTask(
      { ttl: 60, lease: "300ms" },
      {
        async work(task) {
          signals.push(task.signal);
          await wait(50);
          block(600);
          await client.set(KEY, "processing owner=another-process", "PX", 60_000, "NX"); // it claims as soon as it can
          await wait(50);
        },
      },
    );

    const result = await ChargeCustomer.execute(INPUT);

    expect(result).toMatchObject({ status: "success", metadata: { superseded: true } });
    expect(ofName(events, "idempotency_lost")).toHaveLength(1);
    expect(ofName(events, "idempotency_completed")).toEqual([]);
    expect(signals[0]?.reason).toBeInstanceOf(LeaseLostError);
    expect(await client.get(KEY)).toBe("processing owner=another-process");
  });

  test("and returns at once does not complete a slot that has run out", async () => {
    const { ChargeCustomer } = chargeTask({ ttl: 60, lease: "200ms" }, { work: () => block(400) });

    expect(await ChargeCustomer.execute(INPUT)).toMatchObject({ status: "success", metadata: { superseded: true } });
    expect(await client.get(KEY)).toBeNull();
  });

  test("for less than the lease loses nothing", async () => {
    const { ChargeCustomer } = chargeTask(
      { ttl: 60, lease: 2 },
      {
        async work() {
          for (let turn = 0; turn < 6; turn += 1) {
            block(500);
            await wait(20);
          }
        },
      },
    );

    expect(await ChargeCustomer.execute(INPUT)).toMatchObject({ status: "success", metadata: {} });
    expect(await client.get(KEY)).toBe("completed");
  });
});

test("work longer than its lease keeps its key in real time", async () => {
  const { ChargeCustomer } = chargeTask({ ttl: 60, lease: 1 }, { work: () => wait(2_500) });
  const first = ChargeCustomer.execute(INPUT);
  await wait(1_800);

  expect(await ChargeCustomer.execute(INPUT)).toMatchObject({ status: "skipped", metadata: { state: "processing" } });
  expect(await first).toMatchObject({ status: "success", metadata: {} });
});

describe("what happens on the timer that all leases share belongs to the run it happens for, and not to the one that set the timer:", () => {
  const OPTIONS = { ttl: 60, lease: 1 } as const;

  test("a task that is run when a signal aborts is in the chain of its own run", async () => {
    class CleanUp extends Task.with() {
      work(): void {}
    }
    const cleanUps: Promise<Result>[] = [];
    const pause = new PausePoint();
    const { ChargeCustomer } = chargeTask(OPTIONS, {
      async work(task) {
        if (task.input.paymentId === "pay_123") task.signal.addEventListener("abort", () => cleanUps.push(CleanUp.execute()));
        await pause.pass();
      },
    });
    const other = ChargeCustomer.execute({ paymentId: "another" }, { context: { tenant: "another" } });
    await pause.reached;
    const run = ChargeCustomer.execute(INPUT, { context: { tenant: "own" } });
    await wait(20);
    await client.set(KEY, "processing owner=another-process", "PX", 60_000);
    await vi.waitFor(() => expect(cleanUps).toHaveLength(1), { timeout: 10_000 });
    pause.resume();
    await other;

    const { runId, chainId } = await run;
    expect(await cleanUps[0]).toMatchObject({ parentId: runId, chainId, context: { tenant: "own" } });
  });

  test("renewals and events are not seen inside another request", async () => {
    const requests = new AsyncLocalStorage<string>();
    const seen: (string | undefined)[] = [];
    const store = new ChaosStore(new MemoryStore());
    const renew = store.renew.bind(store);
    store.renew = (key, options) => {
      if (key === KEY) seen.push(requests.getStore());
      return renew(key, options);
    };
    configure((config) => {
      config.store = store;
      config.telemetry.subscribe("idempotency_lost", () => seen.push(requests.getStore()));
    });
    const pause = new PausePoint();
    const { ChargeCustomer } = chargeTask(OPTIONS, { work: () => pause.pass() });
    const other = requests.run("another request", () => ChargeCustomer.execute({ paymentId: "another" }));
    await pause.reached;
    const run = requests.run("its own request", () => ChargeCustomer.execute(INPUT));
    await vi.waitFor(() => expect(seen.length).toBeGreaterThan(1), { timeout: 10_000 });
    await store.delete(KEY);
    await vi.waitFor(() => expect(store.calls.length).toBeGreaterThan(8), { timeout: 10_000 });
    pause.resume();
    await Promise.all([run, other]);

    expect(seen).not.toContain("another request");
  });
});

describe("a server that hangs", () => {
  test("ends no call later than its time limits, and no work runs without a claim", async () => {
    const own = await startRedis();
    const hanging = new Redis(own.port, { maxRetriesPerRequest: null });
    await hanging.ping();
    configure((config) => {
      config.store = new RedisStore(hanging);
      config.storeTimeout = "300ms";
    });
    const pause = new PausePoint();
    const { ChargeCustomer, seen } = chargeTask({ ttl: 60, lease: 2 }, { work: () => pause.pass() });
    const first = ChargeCustomer.execute(INPUT);
    await pause.reached;
    own.freeze();
    const startedAt = performance.now();

    const second = await ChargeCustomer.execute({ paymentId: "pay_124" });
    const secondTook = performance.now() - startedAt;
    pause.resume();
    const firstResult = await first;
    const firstTook = performance.now() - startedAt;
    own.thaw();
    hanging.disconnect();
    await own.stop();

    expect(second).toMatchObject({ status: "failed", metadata: { code: "store_unavailable" } });
    expect(secondTook).toBeLessThan(3_000);
    expect(firstResult.status).toBe("success");
    expect(firstTook).toBeLessThan(6_000);
    expect(seen.works).toBe(1);
  });
});
