import { Redis } from "ioredis";
import { Redis as Redis5 } from "ioredis-5";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { configure, MemoryStore, rateLimit, resetConfiguration, settings, Task, type RateLimitOptions, type Store } from "taskwright";
import { RedisStore } from "taskwright/redis";
import { ofName, recordEvents, warningsOf } from "../support/builders.js";
import { startRedis, type RedisServer } from "../support/redis.js";
import { inMemory } from "../idempotency/world.js";

/** A task with this limit, and how often it was at work. */
function limited(options: RateLimitOptions = { limit: 2, per: 60 }, name = "Send") {
  let works = 0;
  class Send extends Task.with({ name }) {
    work(): void {
      works += 1;
    }
  }
  rateLimit(options)(Send);
  return { Send, works: () => works };
}

/** A store of somebody else's, with the five methods that are asked for. */
function foreign(inner: Store = new MemoryStore()): Store {
  return {
    get: (key) => inner.get(key),
    set: (key, value, options) => inner.set(key, value, options),
    delete: (key, options) => inner.delete(key, options),
    renew: (key, options) => inner.renew(key, options),
    entries: (options) => inner.entries(options),
  };
}

inMemory((world) => {
  describe("a store that fails", () => {
    test("fails the run, whose work is not entered", async () => {
      const events = recordEvents("rate_limit_store_error", "rate_limit_bypassed");
      const { Send, works } = limited();
      const error = new Error("connection refused");
      world.store.disturb("count", "fail-before", { error });

      const result = await Send.execute();

      expect(result).toMatchObject({
        status: "failed",
        retryable: true,
        error: { code: "store_unavailable", cause: error },
        metadata: { code: "store_unavailable", rateLimitKey: "cmdx:rate:Send:*" },
        reason: "Send did not run: it could not be counted under cmdx:rate:Send:* (connection refused)",
      });
      expect(works()).toBe(0);
      expect(events.map(({ name, payload }) => [name, payload])).toEqual([
        ["rate_limit_store_error", { rateLimitKey: "cmdx:rate:Send:*", error }],
      ]);
    });

    test('lets the run go on uncounted under onStoreError "run", and says so', async () => {
      const events = recordEvents("rate_limit_store_error", "rate_limit_bypassed");
      const { Send, works } = limited({ limit: 1, per: 60, onStoreError: "run" });
      world.store.disturb("count", "fail-before", { times: 3 });

      for (let at = 0; at < 3; at += 1) expect(await Send.execute()).toMatchObject({ status: "success" });
      expect(await Send.execute()).toMatchObject({ status: "success" });
      expect(await Send.execute()).toMatchObject({ metadata: { code: "rate_limited" } });

      expect(works()).toBe(4);
      expect(ofName(events, "rate_limit_store_error")).toHaveLength(3);
      expect(ofName(events, "rate_limit_bypassed").map(({ payload }) => payload.why)).toEqual([
        "store_error",
        "store_error",
        "store_error",
      ]);
    });

    test("is asked once for each run: a second call might count the run twice", async () => {
      const { Send } = limited();
      world.store.disturb("count", "fail-after");

      await Send.execute();

      expect(world.store.calls.map(({ operation }) => operation)).toEqual(["count"]);
      expect(await world.raw("cmdx:rate:Send:*")).toBe("1");
    });

    test.each(["lose-answer", "never-answer"] as const)("%s: the run answers when storeTimeout is over", async (fault) => {
      configure((config) => {
        config.storeTimeout = "2s";
      });
      const { Send, works } = limited();
      world.store.disturb("count", fault);

      const running = Send.execute();
      await world.clock.advance(2_000);

      expect(await running).toMatchObject({ metadata: { code: "store_unavailable" }, error: { cause: { code: "store_timeout" } } });
      expect(works()).toBe(0);
    });

    test("an answer that comes too late changes nothing", async () => {
      const { Send, works } = limited({ limit: 5, per: 60, onStoreError: "run" });
      const late = world.store.disturb("count", "delay-answer");

      const running = Send.execute();
      await late.met;
      await world.clock.advance(5_000);
      expect(await running).toMatchObject({ status: "success" });
      late.release();
      await world.clock.advance(0);

      expect(works()).toBe(1);
    });

    test("by throwing instead of rejecting is a store that fails", async () => {
      const { Send } = limited();
      settings({
        store: Object.assign(foreign(), {
          count: () => {
            throw new Error("not connected");
          },
        }),
      })(Send);

      expect(await Send.execute()).toMatchObject({ metadata: { code: "store_unavailable" } });
    });
  });

  describe("a store that cannot count", () => {
    test("has the runs counted in this process", async () => {
      const { Send, works } = limited();
      configure((config) => {
        config.store = foreign();
      });

      const results = [await Send.execute(), await Send.execute(), await Send.execute()];

      expect(results.map(({ status, metadata }) => metadata.code ?? status)).toEqual(["success", "success", "rate_limited"]);
      expect(works()).toBe(2);
      await world.clock.advance(60_000);
      expect(await Send.execute()).toMatchObject({ status: "success" });
    });

    test("gives no rise to the warning that is for those who have configured no store", async () => {
      const { Send } = limited();
      configure((config) => {
        config.store = foreign();
      });

      expect(await warningsOf(() => Send.execute())).toEqual([]);
    });
  });

  test("a task's own store is where its runs are counted", async () => {
    const own = new MemoryStore({ clock: world.clock });
    const { Send } = limited();
    settings({ store: own })(Send);

    await Send.execute();

    expect((await own.get("cmdx:rate:Send:*"))?.value).toBe("1");
    expect(world.store.calls).toEqual([]);
  });
});

describe("several processes on one Redis", () => {
  let server: RedisServer;
  const clients: { disconnect(): void }[] = [];
  beforeAll(async () => {
    server = await startRedis();
  });
  beforeEach(() => {
    resetConfiguration(); // in earnest, by the clock of the machine
  });
  afterEach(() => {
    for (const client of clients.splice(0)) client.disconnect();
    resetConfiguration();
  });
  afterAll(() => server.stop());

  /** The task as another process has it: a class, a store and a connection of its own. */
  function processOf(store: RedisStore, options: RateLimitOptions) {
    const made = limited({ scope: "Shared", ...options }); // one scope, since here they meet in one process
    settings({ store })(made.Send);
    return made;
  }
  const connect = (): Redis => {
    const client = new Redis(server.url, { keyPrefix: "app:", maxRetriesPerRequest: 1, retryStrategy: () => null });
    client.on("error", () => undefined);
    clients.push(client);
    return client;
  };

  test("share one count, also through ioredis 5 and under a keyPrefix", async () => {
    const older = new Redis5(server.url, { keyPrefix: "app:", enableAutoPipelining: true });
    clients.push(older);
    const stores = [new RedisStore(connect()), new RedisStore(connect()), new RedisStore(older)];
    const tasks = stores.map((store) => processOf(store, { limit: 10, per: 60, by: () => "a" }));

    const runs = tasks.flatMap(({ Send }) => Array.from({ length: 15 }, () => Send.execute()));
    const results = await Promise.all(runs);

    expect(results.filter(({ status }) => status === "success")).toHaveLength(10);
    expect(tasks.reduce((sum, { works }) => sum + works(), 0)).toBe(10);
    const raw = new Redis(server.url);
    clients.push(raw);
    expect(await raw.get("app:cmdx:rate:Shared:a")).toBe("45");
    expect(await raw.pttl("app:cmdx:rate:Shared:a")).toBeGreaterThan(50_000);
  });

  test("leave no count without an end, also one that another program has begun without", async () => {
    const client = connect();
    await client.set("cmdx:rate:Shared:b", "7");
    const { Send } = processOf(new RedisStore(client), { limit: 8, per: 60, by: () => "b" });

    expect(await Send.execute()).toMatchObject({ status: "success" });
    expect(await Send.execute()).toMatchObject({ metadata: { code: "rate_limited" } });
    expect(await client.pttl("cmdx:rate:Shared:b")).toBeGreaterThan(50_000);
  });

  test("fail their runs while the server hangs, and go on when it is back", async () => {
    const { Send, works } = processOf(new RedisStore(connect()), { limit: 5, per: 60, by: () => "c" });
    await Send.execute();
    configure((config) => {
      config.storeTimeout = "100ms";
    });

    server.freeze();
    expect(await Send.execute()).toMatchObject({ metadata: { code: "store_unavailable" } });
    server.thaw();
    configure((config) => {
      config.storeTimeout = 5;
    });

    expect(await Send.execute()).toMatchObject({ status: "success" });
    expect(works()).toBe(2);
  });

  test("fail their runs when the server is gone, or run them uncounted if they are told to", async () => {
    const gone = await startRedis();
    const client = new Redis(gone.url, { maxRetriesPerRequest: 0, retryStrategy: () => null });
    client.on("error", () => undefined);
    clients.push(client);
    await client.ping();
    await gone.kill();

    const strict = processOf(new RedisStore(client), { limit: 5, per: 60, by: () => "d" });
    expect(await strict.Send.execute()).toMatchObject({ status: "failed", retryable: true, metadata: { code: "store_unavailable" } });
    const lenient = processOf(new RedisStore(client), { limit: 5, per: 60, by: () => "d", onStoreError: "run" });
    expect(await lenient.Send.execute()).toMatchObject({ status: "success" });
  });
});
