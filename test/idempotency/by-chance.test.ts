import fc from "fast-check";
import { expect, test } from "vitest";
import {
  configure,
  idempotentBy,
  MemoryStore,
  resetConfiguration,
  resume,
  shutdown,
  Task,
  type EventName,
  type Result,
  type TelemetryEvent,
} from "taskwright";
import { ChaosStore, ManualClock, type Fault, type StoreOperation } from "taskwright/testing";
import { z } from "zod";

/** Calls, work and failures of the store put together by chance, held against what must be true whatever happens. */

const TTL_MS = 60_000;
const LEASE_MS = 10_000;
const MAX_HOLD_MS = 30_000;
/** By then everything has an end: the last call, the longest work, the longest wait and every time limit. */
const END_MS = 240_000;

interface Call {
  readonly id: string;
  readonly at: number;
  readonly worksMs: number;
  readonly end: "return" | "fail" | "throw" | "skip";
  readonly listens: boolean;
  readonly abortAfterMs: number | undefined;
}
interface Mishap {
  readonly at: number;
  readonly operation: StoreOperation;
  readonly fault: Fault;
  readonly times: number;
  readonly lastsMs: number;
}

const call: fc.Arbitrary<Call> = fc.record({
  id: fc.constantFrom("a", "b"),
  at: fc.oneof(
    fc.integer({ min: 0, max: 60_000 }),
    fc.integer({ min: 0, max: 60 }).map((seconds) => seconds * 1_000),
  ),
  worksMs: fc.constantFrom(0, 100, 4_000, 12_000, 45_000),
  end: fc.constantFrom("return", "return", "fail", "throw", "skip"),
  listens: fc.boolean(),
  abortAfterMs: fc.option(fc.constantFrom(0, 50, 5_000), { nil: undefined, freq: 4 }),
});
const mishap: fc.Arbitrary<Mishap> = fc.record({
  at: fc.integer({ min: 0, max: 90_000 }),
  operation: fc.constantFrom("claim", "complete", "delete", "renew"),
  fault: fc.constantFrom("fail-before", "fail-after", "lose-answer", "never-answer", "delay", "delay-answer"),
  times: fc.constantFrom(1, 2, 5),
  lastsMs: fc.constantFrom(500, 3_000, 20_000),
});

interface Happening {
  readonly what: "begins" | "ends" | EventName;
  readonly runId: string;
  readonly id: string;
  readonly at: number;
}

async function play(
  calls: readonly Call[],
  mishaps: readonly Mishap[],
  processing: "skip" | "wait",
  during: (clock: ManualClock, store: MemoryStore) => void = () => undefined,
) {
  resetConfiguration();
  const clock = new ManualClock();
  const memory = new MemoryStore({ clock });
  const store = new ChaosStore(memory);
  const log: Happening[] = [];
  configure((config) => {
    config.clock = clock;
    config.store = store;
    config.storeTimeout = 2;
    for (const name of ["idempotency_claimed", "idempotency_completed", "idempotency_lost", "idempotency_released"] as const)
      config.telemetry.subscribe(name, (event) => log.push(ofEvent(event, clock)));
  });
  class Charge extends Task.with({ input: z.object({ id: z.string(), call: z.custom<Call>() }) }) {
    async work(): Promise<void> {
      const { id, call } = this.input;
      const note = (what: "begins" | "ends"): unknown => log.push({ what, runId: this.runId, id, at: clock.now() });
      note("begins");
      await new Promise<void>((resolve) => {
        clock.timer(call.worksMs, resolve);
        if (call.listens) this.signal.addEventListener("abort", () => resolve());
      });
      note("ends");
      if (call.listens && this.signal.aborted) throw this.signal.reason as Error;
      if (call.end === "fail") this.fail("declined");
      if (call.end === "skip") this.skip("nothing to do");
      if (call.end === "throw") throw new Error("declined");
    }
  }
  idempotentBy("id", { ttl: "60s", lease: "10s", maxHold: "30s", waitFor: "25s", onDuplicate: { processing, completed: "skip" } })(Charge);

  const results: { readonly result: Result; readonly at: number; readonly call: Call }[] = [];
  for (const one of calls) {
    clock.timer(one.at, () => {
      const controller = new AbortController();
      if (one.abortAfterMs !== undefined) clock.timer(one.abortAfterMs, () => controller.abort());
      void Charge.execute({ id: one.id, call: one }, { signal: controller.signal }).then((result) =>
        results.push({ result, at: clock.now(), call: one }),
      );
    });
  }
  for (const { at, operation, fault, times, lastsMs } of mishaps) {
    clock.timer(at, () => {
      const disturbance = store.disturb(operation, fault, { times });
      clock.timer(lastsMs, () => disturbance.end());
    });
  }
  during(clock, memory);
  await clock.advance(END_MS);
  store.calm();
  await clock.advance(TTL_MS + LEASE_MS);
  return { log, results, left: await memory.entries({ prefix: "cmdx:idem:" }), pending: clock.pending };
}

function ofEvent({ name, runId = "", payload }: TelemetryEvent, clock: ManualClock): Happening {
  const key = String(Reflect.get(payload, "idempotencyKey"));
  return { what: name, runId, id: key.slice(-1), at: clock.now() };
}

function check(calls: readonly Call[], { log, results, left, pending }: Awaited<ReturnType<typeof play>>): void {
  const has = (what: Happening["what"], runId: string): Happening | undefined =>
    log.find((happening) => happening.what === what && happening.runId === runId);

  // Everybody is answered, and in time.
  expect(results).toHaveLength(calls.length);
  for (const { result, call } of results) {
    const waits = 25_000 + 4_100; // for another run, and for a claim
    expect(result.durationMs).toBeLessThanOrEqual(waits + call.worksMs + 6_100);
  }

  log.forEach((begin, place) => {
    if (begin.what !== "begins") return;
    const before = log.slice(0, place).filter(({ id }) => id === begin.id);
    // Nobody works without a claim of their own.
    expect(before.some(({ what, runId }) => what === "idempotency_claimed" && runId === begin.runId)).toBe(true);
    // Nobody works while another does, unless that one has learned that its claim is lost.
    for (const other of before.filter(({ what }) => what === "begins")) {
      const isOver = before.some(({ what, runId }) => what === "ends" && runId === other.runId);
      const isLost = before.some(({ what, runId }) => what === "idempotency_lost" && runId === other.runId);
      expect(isOver || isLost).toBe(true);
    }
    // Nobody works while a completion is remembered.
    for (const done of before.filter(({ what }) => what === "idempotency_completed"))
      expect(begin.at - done.at).toBeGreaterThanOrEqual(TTL_MS);
  });

  for (const { result, call } of results) {
    const { runId } = result;
    const [begun, completed, released] = [has("begins", runId), has("idempotency_completed", runId), has("idempotency_released", runId)];
    const superseded = result.metadata["superseded"] === true;
    // What is told of a run is true of it.
    expect({
      refusedButBegun: ["duplicate", "store_unavailable"].includes(String(result.metadata.code)) && begun !== undefined,
      successWithoutReturn: result.status === "success" && call.end !== "return",
      completedButNoSuccess: completed !== undefined && (result.status !== "success" || released !== undefined || superseded),
      releasedButSuccess: released !== undefined && result.status === "success",
      supersededButNotLost: superseded && has("idempotency_lost", runId) === undefined,
    }).toEqual({
      refusedButBegun: false,
      successWithoutReturn: false,
      completedButNoSuccess: false,
      releasedButSuccess: false,
      supersededButNotLost: false,
    });
    expect(log.filter((happening) => happening.runId === runId && happening.what === "idempotency_lost").length).toBeLessThanOrEqual(1);
  }

  // Nothing is left: no slot that never ends, and no timer but the store's sweep.
  expect(left.entries).toEqual([]);
  expect(pending).toBeLessThanOrEqual(1);
}

test.each(["skip", "wait"] as const)(
  "whatever happens, one run works for each key, and all are answered (duplicates %s)",
  { timeout: 120_000 },
  async (processing) => {
    await fc.assert(
      fc.asyncProperty(fc.array(call, { minLength: 1, maxLength: 8 }), fc.array(mishap, { maxLength: 8 }), async (calls, mishaps) => {
        check(calls, await play(calls, mishaps, processing));
      }),
      { numRuns: 60 },
    );
    resetConfiguration();
  },
);

test("a run that works for longer than maxHold lets the next one in, and learns of it first", async () => {
  const long: Call = { id: "a", at: 0, worksMs: 45_000, end: "return", listens: false, abortAfterMs: undefined };
  const next: Call = { ...long, at: MAX_HOLD_MS + LEASE_MS, worksMs: 0 };
  const played = await play([long, next], [], "skip");

  check([long, next], played);
  expect(played.results.map(({ result }) => [result.status, result.metadata["superseded"]])).toEqual([
    ["success", undefined],
    ["success", true],
  ]);
  resetConfiguration();
});

test("a shutdown at any moment leaves no key behind, answers everybody and lets nobody begin", { timeout: 120_000 }, async () => {
  const moment = fc.oneof(
    fc.integer({ min: 0, max: 70_000 }),
    fc.integer({ min: 0, max: 60 }).map((seconds) => seconds * 1_000),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(call, { minLength: 1, maxLength: 8 }), moment, fc.constantFrom(0, 1, 5, 20), async (calls, at, grace) => {
      let freed: readonly string[] | undefined;
      let after: Awaited<ReturnType<MemoryStore["entries"]>> | undefined;
      const played = await play(calls, [], "wait", (clock, store) => {
        clock.timer(at, () => {
          void shutdown({ grace }).then(async (keys) => {
            freed = keys;
            after = await store.entries({ prefix: "cmdx:idem:" });
          });
        });
      });
      resume();

      check(calls, played);
      expect(freed).toBeDefined();
      expect(after?.entries.filter(({ value }) => value.startsWith("processing"))).toEqual([]);
      expect(played.log.filter((happening) => happening.what === "begins" && happening.at > at)).toEqual([]);
    }),
    { numRuns: 60 },
  );
  resetConfiguration();
});
