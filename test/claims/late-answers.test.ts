import { afterEach, expect, test } from "vitest";
import {
  configure,
  idempotentBy,
  LeaseLostError,
  literal,
  MemoryStore,
  resetConfiguration,
  retryOn,
  type SetOptions,
  type SetResult,
} from "taskwright";
import { ChaosStore } from "taskwright/testing";
import { PausePoint, recordEvents, taskOf, useManualClock } from "../support/builders.js";
import { ManualClock } from "../support/manual-clock.js";

afterEach(() => {
  resetConfiguration();
});

/** A clock that can stand still for everybody but the world: then time has passed, and no timer has fired yet. */
class StallingClock extends ManualClock {
  #stalledMs = 0;

  override now(): number {
    return super.now() + this.#stalledMs;
  }

  stall(ms: number): void {
    this.#stalledMs += ms;
  }
}

/** A store whose first grant is read only after the event loop has stood still. */
class HeldUpStore extends MemoryStore {
  readonly #clock: StallingClock;
  readonly #ms: number;
  claims = 0;

  constructor(clock: StallingClock, ms: number) {
    super({ clock });
    this.#clock = clock;
    this.#ms = ms;
  }

  override async set(key: string, value: string, options: SetOptions): Promise<SetResult> {
    const answer = await super.set(key, value, options);
    if (options.nx === true) this.claims += 1;
    if (this.claims === 1 && options.nx === true) this.#clock.stall(this.#ms);
    return answer;
  }
}

test("a grant that is read when its lease is over counts as late, also before the alarm has rung: it is asked for again", async () => {
  const clock = new StallingClock();
  const store = new HeldUpStore(clock, 3_500);
  configure((config) => {
    config.clock = clock;
    config.store = store;
  });
  const events = recordEvents("idempotency_store_error", "idempotency_claimed");
  const left: (number | undefined)[] = [];
  const Sample = taskOf(async () => {
    left.push((await store.get("cmdx:idem:Sample:key"))?.expiresInMs);
  });
  idempotentBy(literal("key"), { ttl: 3, lease: 3 })(Sample);
  const run = Sample.execute();
  await clock.advance(60);

  expect(await run).toMatchObject({ status: "success", metadata: {} });
  expect(left).toEqual([3_000]); // the lease of the second grant
  expect(events.map(({ name }) => name)).toEqual(["idempotency_store_error", "idempotency_claimed"]);
});

test("a renewal's refusal that comes late is heeded", async () => {
  const clock = useManualClock();
  const chaos = new ChaosStore(new MemoryStore({ clock }));
  configure((config) => {
    config.store = chaos;
    config.storeTimeout = 1;
  });
  const pause = new PausePoint();
  let reason: unknown;
  const Sample = taskOf(async (task) => {
    task.signal.addEventListener("abort", () => {
      reason = task.signal.reason;
    });
    await pause.pass();
  });
  idempotentBy(literal("key"), { ttl: 300, lease: 300 })(Sample);
  const events = recordEvents("idempotency_lost");
  const run = Sample.execute();
  await pause.reached;
  const late = chaos.disturb("renew", "delay-answer");
  await chaos.delete("cmdx:idem:Sample:key");
  await clock.advance(100_000 + 1_000); // the renewal is refused, and its answer does not come in time
  expect(reason).toBeUndefined();
  late.release();
  await clock.advance(0);

  expect(reason).toBeInstanceOf(LeaseLostError);
  expect(events).toMatchObject([{ payload: { why: "refused" } }]);
  pause.resume();
  await run;
});

test.each([
  ["in the wait between two attempts", 0.4],
  ["in the attempt itself", 0],
])("no further attempt begins when the lease has run out %s, also before the alarm has rung", async (where, delay) => {
  const clock = new StallingClock();
  const store = new MemoryStore({ clock });
  configure((config) => {
    config.clock = clock;
    config.store = store;
  });
  const events = recordEvents("idempotency_lost", "task_retried");
  let attempts = 0;
  const Sample = taskOf(() => {
    attempts += 1;
    if (delay === 0) clock.stall(3_500);
    throw new Error("connection reset");
  });
  idempotentBy(literal("key"), { ttl: 3, lease: 3 })(Sample);
  retryOn(Error, { limit: 1, delay })(Sample);
  const run = Sample.execute();
  await clock.advance(0);
  if (delay > 0) clock.stall(3_500);
  await clock.advance(delay * 1_000);

  expect(await run, where).toMatchObject({ status: "failed", metadata: { code: "aborted" } });
  expect(attempts).toBe(1);
  expect(events).toMatchObject([{ name: "idempotency_lost", payload: { why: "expired" } }]);
});
