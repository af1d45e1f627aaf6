import { afterEach, describe, expect, test } from "vitest";
import {
  circuitBreaker,
  circuitOf,
  configure,
  idempotentBy,
  literal,
  lockWith,
  MemoryStore,
  rateLimit,
  resume,
  shutdown,
  timeout,
  type Store,
  type Task,
} from "taskwright";
import { inMemory } from "../idempotency/world.js";
import { deafTask, PausePoint, swallow, taskOf } from "../support/builders.js";
import { settle } from "../support/manual-clock.js";

const LOCK = "cmdx:lock:card:c1";

inMemory((world) => {
  afterEach(() => {
    resume();
  });

  /** A task under a lock, whose circuit one failure opens. It fails until `bank.isDown` says otherwise. */
  function charge(work: (task: Task) => unknown, { coolOff = 10, wait = 0 } = {}) {
    const bank = { isDown: true };
    const Charge = taskOf((task) => {
      if (bank.isDown) throw new Error("bank down");
      return work(task);
    });
    circuitBreaker({ threshold: 1, coolOff })(Charge);
    lockWith(literal("c1"), { scope: "card", wait })(Charge);
    return { Charge, bank };
  }

  describe("a half-open circuit", () => {
    test("is not stuck when its probe is locked out: the next run is the probe", async () => {
      const { Charge, bank } = charge(() => "charged");
      await Charge.execute();
      bank.isDown = false;
      await world.pass(10_000);
      await world.put(LOCK, "locked owner=another", 1_000);

      expect(await Charge.execute()).toMatchObject({ metadata: { code: "locked" } });
      expect(circuitOf(Charge)).toMatchObject({ state: "half_open", retryAfterMs: 0 });
      await world.pass(1_000);
      expect(await Charge.execute()).toMatchObject({ status: "success" });
      expect(circuitOf(Charge)).toMatchObject({ state: "closed" });
    });

    test("is not stuck when its probe waits for a lock for longer than the cool-off", async () => {
      const { Charge, bank } = charge(() => "charged", { coolOff: 1, wait: 60 });
      await Charge.execute();
      bank.isDown = false;
      await world.pass(1_000);
      await world.put(LOCK, "locked owner=another", 5_000);
      const probe = Charge.execute();
      await world.pass(1_500);
      const second = Charge.execute();
      await world.pass(5_000);

      expect([(await probe).status, (await second).status]).toEqual(["success", "success"]);
      expect(circuitOf(Charge)).toMatchObject({ state: "closed", retryAfterMs: 0 });
    });

    test("is not stuck when a probe that was given up has the lock which the next one needs", async () => {
      const pause = new PausePoint();
      const { Charge, bank } = charge(() => pause.pass(), { coolOff: 1 });
      await Charge.execute();
      bank.isDown = false;
      await world.pass(1_000);
      const slow = Charge.execute();
      await pause.reached;
      await world.pass(1_000);

      expect(await Charge.execute()).toMatchObject({ metadata: { code: "locked" } });
      expect(circuitOf(Charge)).toMatchObject({ state: "half_open", retryAfterMs: 0 });
      pause.resume();
      expect(await slow).toMatchObject({ status: "success" });
      expect(circuitOf(Charge)).toMatchObject({ state: "closed" });
    });

    test("stays half-open when a shutdown calls its probe off", async () => {
      const { Charge, bank } = charge(
        (task) => new Promise((_, reject) => task.signal.addEventListener("abort", () => reject(task.signal.reason as Error))),
      );
      await Charge.execute();
      bank.isDown = false;
      await world.pass(10_000);
      const probe = Charge.execute();
      await settle();
      const keys = shutdown();
      await world.pass(100);

      expect(await probe).toMatchObject({ metadata: { code: "aborted" } });
      expect(await keys).toEqual([]);
      expect(circuitOf(Charge)).toMatchObject({ state: "half_open", retryAfterMs: 0 });
    });

    test("opens again when its probe runs out of time, and hears nothing of its late success", async () => {
      const pause = new PausePoint();
      const { Charge, bank } = charge(() => pause.pass());
      timeout(1)(Charge);
      await Charge.execute();
      bank.isDown = false;
      await world.pass(10_000);
      const probe = Charge.execute();
      await world.pass(1_000);

      expect(await probe).toMatchObject({ metadata: { code: "timeout" } });
      expect(circuitOf(Charge)).toMatchObject({ state: "open", retryAfterMs: 10_000 });
      pause.resume();
      await settle();
      expect(circuitOf(Charge)).toMatchObject({ state: "open" });
    });
  });

  describe("a circuit around another", () => {
    test("counts what comes through to its run, and not what the run has only looked at", async () => {
      const Inner = taskOf(() => {
        throw new Error("bank down");
      });
      circuitBreaker({ threshold: 1 })(Inner);
      const Looks = taskOf(async () => (await Inner.execute()).status);
      circuitBreaker({ threshold: 1 })(Looks);
      const Throws = taskOf(async () => void (await Inner.executeBang()));
      circuitBreaker({ threshold: 1 })(Throws);
      await Looks.execute();
      await Throws.execute(); // the inner circuit is open by now: its refusal is an error here

      expect([circuitOf(Looks)?.state, circuitOf(Throws)?.state]).toEqual(["closed", "open"]);
    });

    test("of the same scope lets its probe call the inner task, and both close it together", async () => {
      let isDown = true;
      const shared = { threshold: 1, coolOff: 10, scope: "bank" };
      const Inner = taskOf(() => {
        if (isDown) throw new Error("bank down");
      });
      circuitBreaker(shared)(Inner);
      const Outer = taskOf(async () => void (await Inner.executeBang()));
      circuitBreaker(shared)(Outer);
      await Outer.execute();
      isDown = false;
      await world.pass(10_000);

      expect(await Outer.execute()).toMatchObject({ status: "success" });
      expect(circuitOf(Inner)).toMatchObject({ circuit: "bank", state: "closed" });
    });

    test("is none to a run that the attempt around it has called off: that counts as nothing", async () => {
      const { Deaf, pause } = deafTask();
      circuitBreaker({ threshold: 1 })(Deaf);
      const Outer = taskOf(() => Deaf.execute());
      timeout(1)(Outer);
      const run = Outer.execute();
      await world.pass(1_000);
      await run;
      await settle();

      expect(circuitOf(Deaf)?.state).toBe("closed");
      pause.resume();
    });
  });

  test("a listener that runs the task again is refused by the circuit of which it is told", async () => {
    const { Charge } = charge(() => "charged");
    const codes: Promise<unknown>[] = [];
    Charge.telemetry.subscribe("circuit_opened", () => void codes.push(Charge.execute().then(({ metadata }) => metadata.code)));
    await Charge.execute();

    expect(await Promise.all(codes)).toEqual(["circuit_open"]);
  });

  describe("a rate limit", () => {
    test("on a store that cannot count keeps its counts apart from the keys of that store", async () => {
      const { store } = world;
      const plain: Store = {
        get: (key) => store.get(key),
        set: (key, value, options) => store.set(key, value, options),
        delete: (key, options) => store.delete(key, options),
        renew: (key, options) => store.renew(key, options),
        entries: (options) => store.entries(options),
      };
      configure((config) => {
        config.store = plain;
      });
      const Charge = taskOf(() => "charged");
      rateLimit({ limit: 2, per: 60 })(Charge);
      idempotentBy(() => crypto.randomUUID(), { ttl: 60 })(Charge);
      const answers = [await Charge.execute(), await Charge.execute(), await Charge.execute()];

      expect(answers.map(({ status, metadata }) => metadata.code ?? status)).toEqual(["success", "success", "rate_limited"]);
      const { entries } = await store.entries({ prefix: "" });
      expect(entries.map(({ value }) => value)).toEqual(["completed", "completed"]);
    });

    test("obeys a halt that its gate has swallowed, and counts nothing", async () => {
      let works = 0;
      const Charge = taskOf(() => (works += 1));
      rateLimit({
        limit: 1,
        per: 60,
        if: (task) => {
          swallow(() => task.skip("not today"));
          return true;
        },
      })(Charge);

      expect(await Charge.execute()).toMatchObject({ status: "skipped", reason: "not today" });
      expect([works, world.store.calls]).toEqual([0, []]);
    });

    test("whose store never answers ends with the attempt around it, and leaves no timer of its own", async () => {
      const Charge = taskOf(() => "charged");
      rateLimit({ limit: 1, per: 60 })(Charge);
      const Outer = taskOf(() => Charge.execute());
      timeout(1)(Outer);
      world.store.disturb("count", "never-answer");
      const run = Outer.execute();
      await world.pass(1_000);

      expect(await run).toMatchObject({ metadata: { code: "timeout" }, durationMs: 1_000 });
      await world.pass(10_000);
      expect(world.clock.pending).toBe(0);
    });

    test("gives the memory of five thousand keys back once their windows are over", async () => {
      const store = new MemoryStore({ clock: world.clock });
      configure((config) => {
        config.store = store;
      });
      let key = 0;
      const Charge = taskOf(() => "charged");
      rateLimit({ limit: 1, per: 60, by: () => (key += 1) })(Charge);
      for (let batch = 0; batch < 10; batch += 1) await Promise.all(Array.from({ length: 500 }, () => Charge.execute()));
      expect(store.size).toBe(5_000);
      await world.pass(120_000);

      expect([store.size, world.clock.pending]).toEqual([0, 0]);
    });
  });
});
