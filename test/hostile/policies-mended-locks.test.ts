import { expect, test, vi } from "vitest";
import { configure, idempotentBy, literal, lockWith, MemoryStore, shutdown, Task, timeout, circuitBreaker, type Store } from "taskwright";

import { deafTask, PausePoint, recordEvents, taskOf } from "../support/builders.js";
import { ManualClock, settle } from "../support/manual-clock.js";
import { useStage } from "./stage.js";

vi.mock("../../src/support/random.js", () => ({ random: () => 0.5 }));

const stage = useStage();

test("lost lock before first attempt: work is not entered", async () => {
  let works = 0;
  const T = taskOf(() => {
    works += 1;
    return "x";
  });
  lockWith(literal("k"), { scope: "l1", ttl: 1 })(T);
  idempotentBy(literal("k"), { namespace: "l1" })(T);
  const d = stage.store.disturb("claim", "delay", { when: ({ key }) => key.startsWith("l1:") });
  stage.store.disturb("renew", "fail-before", { times: Infinity });
  const events = recordEvents("lock_lost", "idempotency_claimed");
  const run = T.execute();
  await stage.clock.advance(2000);
  d.release();
  await stage.clock.advance(100);
  const r = await run;
  expect(events.map(({ name }) => name)).toContain("lock_lost");
  expect({ works, code: r.metadata["code"] }).toEqual({ works: 0, code: "aborted" });
});

test("waiter that came first is woken first", async () => {
  const pause = new PausePoint();
  const order: number[] = [];
  let n = 0;
  const T = taskOf(async (task) => {
    n += 1;
    if (n === 1) return pause.pass();
    order.push(task.context["who"] as number);
  });
  lockWith(literal("k"), { scope: "l3", wait: 60 })(T);
  const first = T.execute();
  await pause.reached;
  const a = T.execute({}, { context: { who: 1 } });
  await stage.clock.advance(5);
  const b = T.execute({}, { context: { who: 2 } });
  await stage.clock.advance(11); // a has asked again
  pause.resume();
  await first;
  await settle();
  await stage.clock.advance(1000);
  await Promise.all([a, b]);
  expect(order).toEqual([1, 2]);
});

test("ttl shorter than grace: second process gets in during grace", async () => {
  const pause = new PausePoint();
  const T = taskOf(() => pause.pass());
  lockWith(literal("k"), { scope: "l5", ttl: 1 })(T);
  const run = T.execute();
  await pause.reached;
  const keys = shutdown({ grace: 5 });
  await stage.clock.advance(3000);
  const held = await stage.store.get("cmdx:lock:l5:k");
  pause.resume();
  await stage.clock.advance(100);
  await run;
  await keys;
  expect(held?.value).toBe("locked");
});

test("same namespace for lock and slot", async () => {
  const T = taskOf(() => "x");
  lockWith(literal("k"), { namespace: "billing" })(T);
  idempotentBy(literal("k"), { namespace: "billing" })(T);
  const events = recordEvents("lock_lost");
  let first: unknown, second: unknown;
  try {
    first = (await T.execute()).status;
    second = (await T.execute()).metadata["code"];
  } catch (e) {
    first = String(e);
    second = "definition";
  }
  expect({ first, second, lost: events.length }).toMatchObject({ second: "definition" });
});

test("event loop stood still between the lock and the work", async () => {
  let works = 0;
  const late = new (class extends ManualClock {
    skip = 0;
    override now() {
      return super.now() + this.skip;
    }
  })();
  configure((c) => {
    c.clock = late;
    c.store = new MemoryStore({ clock: late });
  });
  const T = taskOf(() => {
    works += 1;
  });
  lockWith(literal("k"), { scope: "l7", ttl: 1 })(T);
  idempotentBy(
    () => {
      late.skip += 5000;
      return "k";
    },
    { namespace: "l7" },
  )(T);
  const r = await T.execute();
  expect({ works, code: r.metadata["code"] }).toEqual({ works: 0, code: "aborted" });
});

test("retryAfterMs of lock with no expiry", async () => {
  const inner = new MemoryStore({ clock: stage.clock });
  configure((c) => {
    c.store = {
      get: (k: string) => inner.get(k),
      set: async () => ({ ok: false as const, held: { value: "locked", expiresInMs: Infinity } }),
      delete: (k: string, o?: object) => inner.delete(k, o),
      renew: (k: string, o: never) => inner.renew(k, o),
      entries: (o: never) => inner.entries(o),
    };
  });
  const T = taskOf(() => "x");
  lockWith(literal("k"), { scope: "l8" })(T);
  expect((await T.execute()).metadata["retryAfterMs"]).toBeUndefined();
});

test("stray grant is given back at shutdown", async () => {
  const T = taskOf(() => "x");
  lockWith(literal("k"), { scope: "l9", wait: 60, ttl: 600 })(T);
  const KEY = "cmdx:lock:l9:k";
  await stage.store.set(KEY, "locked", { ttlMs: 6000, owner: "other" });
  const first = stage.store.disturb("claim", "delay");
  const second = stage.store.disturb("claim", "delay-answer");
  const run = T.execute();
  await stage.clock.advance(5100); // first out of time, second asked: refused, its answer is under way
  await stage.store.delete(KEY, { owner: "other" });
  first.release(); // granted late
  await settle();
  expect((await stage.store.get(KEY))?.value).toBe("locked");
  const keys = shutdown({ grace: 0 });
  second.release();
  await stage.clock.advance(300);
  expect(await run).toMatchObject({ metadata: { code: "aborted" } });
  await keys;
  expect(await stage.store.get(KEY)).toBeUndefined();
});

test("abort while claim in flight", async () => {
  const T = taskOf(() => "x");
  lockWith(literal("k"), { scope: "l11" })(T);
  stage.store.disturb("claim", "never-answer", { times: 9 });
  const c = new AbortController();
  const run = T.execute({}, { signal: c.signal });
  await settle();
  c.abort();
  expect(await Promise.race([run, settle().then(() => "waits")])).toMatchObject({ metadata: { code: "aborted" } });
  await stage.clock.advance(20000);
  await run;
});

test("work that never comes to rest, lock lost by maxHold: shutdown does not name it, resume() is possible", async () => {
  const { Deaf, pause } = deafTask();
  lockWith(literal("k"), { scope: "p55", ttl: 30, maxHold: 60 })(Deaf);
  timeout(1)(Deaf);
  const run = Deaf.execute();
  await stage.clock.advance(200_000);
  await run;
  const keys = shutdown({ grace: 1 });
  await stage.clock.advance(60_000);
  const answer = await keys;
  pause.resume();
  await settle();
  expect(answer).toEqual([]);
});

test("two classes of one name with locks share them silently?", async () => {
  const pause = new PausePoint();
  const A = (() =>
    class Charge extends Task.with() {
      work() {
        return pause.pass();
      }
    })();
  const B = (() =>
    class Charge extends Task.with() {
      work() {
        return "b";
      }
    })();
  lockWith(literal("k"))(A);
  lockWith(literal("k"))(B);
  const run = A.execute();
  await settle();
  let answer: string;
  try {
    const r = await B.execute();
    answer = `${r.status} ${String(r.metadata["code"])}`;
  } catch {
    answer = "definition";
  }
  pause.resume();
  await run;
  expect(answer).toBe("definition");
});

test("lost first, answered later, hung: shutdown names nothing", async () => {
  const { Deaf, pause } = deafTask();
  lockWith(literal("w1"), { scope: "wallet", ttl: 30 })(Deaf);
  timeout(60)(Deaf);
  const run = Deaf.execute();
  await stage.clock.advance(0);
  await stage.memory.set("cmdx:lock:wallet:w1", "locked", { ttlMs: 600_000, owner: "another" });
  await stage.clock.advance(60_000);
  await run;
  const keys = shutdown({ grace: 1 });
  await stage.clock.advance(20_000);
  pause.resume();
  expect(await keys).toEqual([]);
});

test("a malformed slot leaves no lock behind", async () => {
  const T = taskOf(() => "x");
  circuitBreaker({ threshold: 1 })(T);
  lockWith(literal("k"), { scope: "q1" })(T);
  idempotentBy(literal("k"), { namespace: "q1" })(T);
  configure((c) => {
    c.store = {
      get: stage.memory.get.bind(stage.memory),
      set: (async (k: string, v: string, o: never) =>
        k.startsWith("q1:") ? { ok: false, held: { value: 7, expiresInMs: 5 } } : stage.memory.set(k, v, o)) as unknown as Store["set"],
      delete: stage.memory.delete.bind(stage.memory),
      renew: stage.memory.renew.bind(stage.memory),
      entries: stage.memory.entries.bind(stage.memory),
    };
  });
  const run = T.execute();
  await stage.clock.advance(20_000);
  expect((await run).status).toBe("failed");
  expect(await stage.memory.get("cmdx:lock:q1:k")).toBeUndefined();
});

test("shutdown called by a listener of lock_acquired", async () => {
  const pause = new PausePoint();
  const T = taskOf(() => pause.pass());
  lockWith(literal("k"), { scope: "l2" })(T);
  let keys: Promise<readonly string[]> | undefined;
  T.telemetry.subscribe("lock_acquired", () => void (keys = shutdown({ grace: 1 })));
  const run = T.execute();
  await stage.clock.advance(20000);
  const answer = await keys;
  const left = await stage.store.get("cmdx:lock:l2:k");
  pause.resume();
  await run;
  expect({ answer, left: left?.value }).toEqual({ answer: [], left: undefined }); // its work was not entered, so it has freed the lock by itself;
});
