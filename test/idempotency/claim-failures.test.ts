import { describe, expect, test, vi } from "vitest";
import { configure, DefinitionError, StoreUnavailableError } from "taskwright";
import { ofName, PausePoint, recordEvents } from "../support/builders.js";
import { chargeTask, INPUT, KEY, operations } from "./charge.js";
import { onEachStore } from "./world.js";

onEachStore((world) => {
  /** What it takes a run to end, with time passing until it does. */
  async function ended<T>(run: Promise<T>, withinMs: number): Promise<T> {
    let answer: { readonly value: T } | undefined;
    void run.then((value) => (answer = { value }));
    for (let passed = 0; answer === undefined && passed <= withinMs; passed += 500) await world.pass(500);
    if (answer === undefined) throw new Error(`it did not end within ${withinMs} ms`);
    return answer.value;
  }

  const CLAIM_ERROR = { operation: "claim", idempotencyKey: KEY, error: expect.any(Error) };

  describe("a claim that fails", () => {
    test("is made once more, and the run goes on when that is granted", async () => {
      const events = recordEvents();
      world.store.disturb("claim", "fail-before");
      const { ChargeCustomer, seen } = chargeTask();

      const result = await ended(ChargeCustomer.execute(INPUT), 1_000);

      expect(result).toMatchObject({ status: "success", metadata: {} });
      expect(seen.works).toBe(1);
      expect(events.map(({ name }) => name)).toEqual([
        "task_started",
        "idempotency_store_error",
        "idempotency_claimed",
        "idempotency_completed",
        "task_executed",
      ]);
      expect(ofName(events, "idempotency_store_error")[0]?.payload).toEqual(CLAIM_ERROR);
    });

    test("twice fails the run without running its work, by default", async () => {
      const events = recordEvents("idempotency_store_error", "idempotency_claimed", "idempotency_bypassed", "idempotency_released");
      const down = new Error("connection refused");
      world.store.disturb("claim", "fail-before", { times: Infinity, error: down });
      const { ChargeCustomer, seen } = chargeTask();

      const result = await ended(ChargeCustomer.execute(INPUT), 1_000);

      expect(result).toMatchObject({
        status: "failed",
        retryable: true,
        rolledBack: false,
        error: expect.any(StoreUnavailableError),
        metadata: { code: "store_unavailable", idempotencyKey: KEY },
      });
      expect(result).toMatchObject({ error: { cause: down } });
      expect(result.reason).toContain(KEY);
      expect(result.reason).toContain("connection refused");
      expect(seen).toEqual({ works: 0, rollbacks: 0 });
      expect(events.map(({ name, payload }) => [name, payload])).toEqual([
        ["idempotency_store_error", CLAIM_ERROR],
        ["idempotency_store_error", CLAIM_ERROR],
      ]);
    });

    test("twice runs the work without protection where onStoreError is run, and says so", async () => {
      const events = recordEvents("idempotency_bypassed", "idempotency_claimed", "idempotency_completed");
      world.store.disturb("claim", "fail-before", { times: Infinity });
      let claim: unknown = "not looked at";
      const { ChargeCustomer, seen } = chargeTask({ onStoreError: "run" }, { work: (task) => void (claim = task.claim) });

      const result = await ended(ChargeCustomer.execute(INPUT), 1_000);

      expect(result).toMatchObject({ status: "success", metadata: {} });
      expect(seen.works).toBe(1);
      expect(claim).toBeUndefined();
      expect(events.map(({ name, payload }) => [name, payload])).toEqual([["idempotency_bypassed", { why: "store_error" }]]);
      expect(operations(world.store.calls)).not.toContain("complete");
    });

    test.each(["fail", "run"] as const)("because the store throws instead of rejecting follows onStoreError %s", async (onStoreError) => {
      vi.spyOn(world.store, "set").mockImplementation(() => {
        throw new Error("not connected");
      });
      const { ChargeCustomer, seen } = chargeTask({ onStoreError });

      const result = await ended(ChargeCustomer.execute(INPUT), 1_000);

      expect(result.metadata.code).toBe(onStoreError === "fail" ? "store_unavailable" : undefined);
      expect(seen.works).toBe(onStoreError === "fail" ? 0 : 1);
    });
  });

  describe("a claim whose answer is lost", () => {
    test.each(["fail-after", "lose-answer"] as const)("(%s) is granted when it is made again, and the work runs once", async (fault) => {
      world.store.disturb("claim", fault);
      const { ChargeCustomer, seen } = chargeTask();

      const result = await ended(ChargeCustomer.execute(INPUT), 6_000);

      expect(result).toMatchObject({ status: "success", metadata: {} });
      expect(seen.works).toBe(1);
      expect(await world.raw(KEY)).toBe("completed");
      expect(await ChargeCustomer.execute(INPUT)).toMatchObject({ status: "skipped" });
    });

    test.each(["fail-after", "lose-answer"] as const)("(%s) twice is given back, so that the key is not stuck", async (fault) => {
      world.store.disturb("claim", fault, { times: 2 });
      const { ChargeCustomer, seen } = chargeTask();

      const result = await ended(ChargeCustomer.execute(INPUT), 12_000);
      await world.pass(1_000);

      expect(result).toMatchObject({ status: "failed", metadata: { code: "store_unavailable" } });
      expect(seen.works).toBe(0);
      expect(await world.raw(KEY)).toBeUndefined();
      expect(await ChargeCustomer.execute(INPUT)).toHaveProperty("status", "success");
    });

    test("to a store that stays away is left to its lease, and nothing hangs", async () => {
      world.store.disturb("claim", "lose-answer", { times: 2 });
      world.store.disturb("delete", "never-answer", { times: Infinity });
      const { ChargeCustomer } = chargeTask({ lease: 30, ttl: 600 });

      await ended(ChargeCustomer.execute(INPUT), 12_000);
      await world.pass(31_000);

      expect(await world.raw(KEY)).toBeUndefined();
      expect(await ChargeCustomer.execute(INPUT)).toHaveProperty("status", "success");
    });
  });

  describe("a claim that is never answered", () => {
    test.each([
      [undefined, 300, 10_050],
      [2, 300, 4_050],
      [5, 1, 2 * 988 + 50], // what its holder counts on of a lease of a second
    ] as const)(
      "ends within twice the store's time limit (%s s), which is never longer than the lease (%s s)",
      async (storeTimeout, ttl, limitMs) => {
        if (storeTimeout !== undefined)
          configure((config) => {
            config.storeTimeout = storeTimeout;
          });
        world.store.disturb("claim", "never-answer", { times: Infinity });
        const { ChargeCustomer, seen } = chargeTask({ ttl });

        const result = await ended(ChargeCustomer.execute(INPUT), limitMs + 1_000);

        expect(result).toMatchObject({
          status: "failed",
          metadata: { code: "store_unavailable" },
          error: { cause: { code: "store_timeout" } },
        });
        expect(result.durationMs).toBe(limitMs);
        expect(seen.works).toBe(0);
      },
    );

    test("and is called off meanwhile ends with that, and the work does not run", async () => {
      world.store.disturb("claim", "never-answer", { times: Infinity });
      const controller = new AbortController();
      const { ChargeCustomer, seen } = chargeTask();
      const run = ChargeCustomer.execute(INPUT, { signal: controller.signal });
      await world.pass(1_000);
      controller.abort(new Error("closing time"));

      const result = await ended(run, 11_000);

      expect(result).toMatchObject({ status: "failed", metadata: { code: "aborted" }, rolledBack: false });
      expect(seen.works).toBe(0);
    });
  });

  describe("an answer that comes too late", () => {
    test("grants a claim that nobody wants any more: it is given back", async () => {
      const late = world.store.disturb("claim", "delay", { times: 2 });
      const { ChargeCustomer } = chargeTask();
      await ended(ChargeCustomer.execute(INPUT), 12_000);
      expect(await world.raw(KEY)).toBeUndefined();

      late.release();
      await world.pass(1_000);

      expect(await world.raw(KEY)).toBeUndefined();
    });

    test("to the first of two, the second of which was granted, changes nothing", async () => {
      const late = world.store.disturb("claim", "delay-answer");
      const pause = new PausePoint();
      const { ChargeCustomer, seen } = chargeTask({}, { work: () => pause.pass() });
      const run = ChargeCustomer.execute(INPUT);
      await world.pass(6_000);
      await pause.reached;

      late.release();
      await world.pass(1_000);

      expect(await world.raw(KEY)).toMatch(/^processing owner=/);
      pause.resume();
      expect(await run).toMatchObject({ status: "success", metadata: {} });
      expect(seen.works).toBe(1);
    });

    test("to a claim of before a wait, while the one after it is on its way, does not take that away", async () => {
      const pause = new PausePoint();
      const { ChargeCustomer } = chargeTask({ onDuplicate: { processing: "wait" }, waitFor: 60, ttl: 600 }, { work: () => pause.pass() });
      await world.put(KEY, "processing owner=somebody", 60_000);
      const first = world.store.disturb("claim", "delay");
      const run = ChargeCustomer.execute(INPUT);
      await world.pass(6_000); // the first claim was given up, the second was refused, and the run waits
      await world.put(KEY, "processing owner=somebody", 1);
      const last = world.store.disturb("claim", "delay-answer");
      await world.pass(2_000);
      await last.met;

      first.release();
      await world.pass(100);
      last.release();
      await pause.reached;

      expect(await world.raw(KEY)).toMatch(/^processing owner=/);
      pause.resume();
      expect(await run).toMatchObject({ status: "success", metadata: {} });
    });

    test("and takes effect when the run has already failed and freed the key: it is given back", async () => {
      const late = world.store.disturb("claim", "delay");
      const { ChargeCustomer } = chargeTask({}, { work: (task) => task.fail("declined") });
      const result = await ended(ChargeCustomer.execute(INPUT), 6_000);
      expect(result).toMatchObject({ status: "failed", reason: "declined" });
      expect(await world.raw(KEY)).toBeUndefined();

      late.release();
      await world.pass(1_000);

      expect(await world.raw(KEY)).toBeUndefined();
    });

    test("and takes effect when the run was a duplicate of another that has gone since: it is given back", async () => {
      const late = world.store.disturb("claim", "delay");
      await world.put(KEY, "processing owner=somebody", 6_000);
      const { ChargeCustomer } = chargeTask();
      expect(await ended(ChargeCustomer.execute(INPUT), 5_500)).toMatchObject({ status: "skipped" });
      await world.pass(2_000);

      late.release();
      await world.pass(1_000);

      expect(await world.raw(KEY)).toBeUndefined();
    });

    test("and refuses, tells nobody anything", async () => {
      const late = world.store.disturb("claim", "delay", { times: 2 });
      const { ChargeCustomer } = chargeTask();
      await ended(ChargeCustomer.execute(INPUT), 12_000);
      await world.put(KEY, "processing owner=somebody-else", 60_000);
      const calls = world.store.calls.length;

      late.release();
      await world.pass(1_000);

      expect(await world.raw(KEY)).toBe("processing owner=somebody-else");
      expect(world.store.calls).toHaveLength(calls);
    });
  });

  test("the lease of a claim that was granted at the second try begins with that try", async () => {
    const events = recordEvents("idempotency_lost", "idempotency_store_error");
    world.store.disturb("claim", "never-answer");
    const pause = new PausePoint();
    const signals: AbortSignal[] = [];
    const { ChargeCustomer } = chargeTask(
      { ttl: 600, lease: 4 },
      {
        async work(task) {
          signals.push(task.signal);
          await pause.pass();
        },
      },
    );
    const run = ChargeCustomer.execute(INPUT); // its first claim is given up after 4 s
    await world.pass(10_000);
    pause.resume();
    const result = await ended(run, 5_000);

    expect(ofName(events, "idempotency_lost")).toEqual([]);
    expect(signals[0]?.aborted).toBe(false);
    expect(result).toMatchObject({ status: "success", metadata: {} });
  });

  describe("a claim that is refused by an entry that has vanished", () => {
    test("is made again at once, and granted", async () => {
      await world.put(KEY, "processing owner=somebody", 60_000);
      world.store.disturb("claim", "vanish");
      const { ChargeCustomer, seen } = chargeTask();

      expect(await ChargeCustomer.execute(INPUT)).toHaveProperty("status", "success");
      expect(seen.works).toBe(1);
      expect(operations(world.store.calls).filter((operation) => operation === "claim")).toHaveLength(2);
    });

    test("again and again is given up after a bounded number of times", async () => {
      vi.spyOn(world.store, "set").mockImplementation(() => Promise.resolve({ ok: false, held: undefined }));
      const { ChargeCustomer, seen } = chargeTask();

      const result = await ended(ChargeCustomer.execute(INPUT), 5_000);

      expect(result).toMatchObject({ status: "failed", metadata: { code: "store_unavailable" } });
      expect(seen.works).toBe(0);
      expect(vi.mocked(world.store.set).mock.calls.length).toBeLessThanOrEqual(20);
    });
  });

  test("a store that is replaced while a run is on its way does not get what belongs to the other", async () => {
    const first = world.store;
    const held = first.disturb("claim", "delay-answer");
    const { ChargeCustomer } = chargeTask();
    const run = ChargeCustomer.execute(INPUT);
    await held.met;
    const other = Object.assign(Object.create(first) as typeof first, {
      set: vi.fn<typeof first.set>(),
      delete: vi.fn<typeof first.delete>(),
    });
    configure((config) => {
      config.store = other;
    });
    held.release();

    expect(await run).toMatchObject({ status: "success", metadata: {} });
    expect(other.set).not.toHaveBeenCalled();
    expect(await world.raw(KEY)).toBe("completed");
  });

  test("the store's time limit is checked where it is set", () => {
    for (const storeTimeout of [0, -1, "5", Number.NaN]) {
      expect(() =>
        configure((config) => {
          config.storeTimeout = storeTimeout as number;
        }),
      ).toThrow(DefinitionError);
    }
  });
});
