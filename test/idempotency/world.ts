import { randomUUID } from "node:crypto";
import { Redis } from "ioredis";
import { configure, MemoryStore, resetConfiguration, type Store } from "taskwright";
import { RedisStore } from "taskwright/redis";
import { ChaosStore, ManualClock } from "taskwright/testing";
import { afterAll, afterEach, beforeAll, beforeEach, describe } from "vitest";
import { provideRedis } from "../support/redis.js";

/** A store that can be looked into and disturbed, under a clock that stands still. New for every test. */
export interface World {
  readonly clock: ManualClock;
  /** What tasks use: the real store, with calls that are counted and can be made to go wrong. */
  readonly store: ChaosStore;
  /** What stands in the slot, with its owner behind it, as in Redis. */
  raw(key: string): Promise<string | undefined>;
  /** What is left of the slot's life, in milliseconds. */
  life(key: string): Promise<number | undefined>;
  /** Writes a slot as another program would. */
  put(key: string, text: string, lifeMs: number): Promise<void>;
  /** Lets time pass, for the runs and for the store. */
  pass(ms: number): Promise<void>;
}

/** Declares the tests twice: with the store of one process, and with a real Redis. */
export function onEachStore(body: (world: World) => void): void {
  describe("on a MemoryStore", () => {
    inWorld(new MemoryWorld(), body);
  });
  describe("on Redis", () => {
    const world = new RedisWorld();
    beforeAll(() => world.open());
    afterAll(() => world.close());
    inWorld(world, body);
  });
}

/** For behaviour in which the kind of store plays no part. */
export function inMemory(body: (world: World) => void): void {
  inWorld(new MemoryWorld(), body);
}

function inWorld(world: BaseWorld, body: (world: World) => void): void {
  beforeEach(() => world.begin());
  afterEach(async () => {
    world.store.calm();
    resetConfiguration();
    await world.end();
  });
  body(world);
}

abstract class BaseWorld implements World {
  clock: ManualClock = new ManualClock();
  store: ChaosStore = new ChaosStore(new MemoryStore());

  async begin(): Promise<void> {
    resetConfiguration();
    this.clock = new ManualClock();
    this.store = new ChaosStore(await this.makeStore());
    configure((config) => {
      config.clock = this.clock;
      config.store = this.store;
    });
  }

  abstract makeStore(): Store | Promise<Store>;
  abstract end(): Promise<void>;
  abstract raw(key: string): Promise<string | undefined>;
  abstract life(key: string): Promise<number | undefined>;
  abstract put(key: string, text: string, lifeMs: number): Promise<void>;
  abstract pass(ms: number): Promise<void>;
}

class MemoryWorld extends BaseWorld {
  #store = new MemoryStore();

  makeStore(): Store {
    return (this.#store = new MemoryStore({ clock: this.clock }));
  }

  end(): Promise<void> {
    return Promise.resolve();
  }

  async raw(key: string): Promise<string | undefined> {
    const entry = await this.#store.get(key);
    return entry?.owner === undefined ? entry?.value : `${entry.value} owner=${entry.owner}`;
  }

  async life(key: string): Promise<number | undefined> {
    return (await this.#store.get(key))?.expiresInMs;
  }

  async put(key: string, text: string, lifeMs: number): Promise<void> {
    const [value, owner] = text.split(" owner=");
    await this.#store.set(key, value ?? "", { ttlMs: lifeMs, ...(owner !== undefined && { owner }) });
  }

  pass(ms: number): Promise<void> {
    return this.clock.advance(ms);
  }
}

/**
 * Makes every key that fits a pattern older, and gives a life that nobody has changed since the last time back what real time took of it:
 * a machine that is busy ages nothing. KEYS[1] what stood when the last time was over, ARGV[1] the pattern, ARGV[2] milliseconds.
 */
const AGE = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
for _, key in ipairs(redis.call('KEYS', ARGV[1])) do
  local ends = redis.call('PEXPIRETIME', key)
  local seen = redis.call('HMGET', KEYS[1], key .. ' ends', key .. ' left')
  local left = (tonumber(seen[1]) == ends and tonumber(seen[2]) or ends - now) - ARGV[2]
  if left > 0 then
    redis.call('PEXPIREAT', key, now + left)
    redis.call('HSET', KEYS[1], key .. ' ends', now + left, key .. ' left', left)
  else
    redis.call('DEL', key)
  end
end
redis.call('PEXPIRE', KEYS[1], 600000)
`;
/** Time passes on both sides in steps: short enough that the server answers before anybody's patience ends. */
const STEPS = 50;
const LONGEST_STEP_MS = 1_000;

class RedisWorld extends BaseWorld {
  #server: { readonly url: string; stop(): Promise<void> } | undefined;
  #client: Redis | undefined;
  #control: Redis | undefined;
  #prefix = "";

  async open(): Promise<void> {
    this.#server = await provideRedis();
    this.#control = new Redis(this.#server.url);
    await warm(new RedisStore(this.#control));
  }

  async close(): Promise<void> {
    this.#control?.disconnect();
    await this.#server?.stop();
  }

  makeStore(): Store {
    this.#prefix = `${randomUUID()}:`;
    this.#client = new Redis(this.#server?.url ?? "", { keyPrefix: this.#prefix });
    return new RedisStore(this.#client);
  }

  async end(): Promise<void> {
    await this.#quiet(); // what goes on in the background may still speak
    this.#client?.disconnect();
    await this.#age(Number.MAX_SAFE_INTEGER);
    await this.#control?.del(`age of ${this.#prefix}`);
  }

  async raw(key: string): Promise<string | undefined> {
    return (await this.#control?.get(this.#prefix + key)) ?? undefined;
  }

  async life(key: string): Promise<number | undefined> {
    const left = (await this.#control?.pttl(this.#prefix + key)) ?? -2;
    return left === -2 ? undefined : left;
  }

  async put(key: string, text: string, lifeMs: number): Promise<void> {
    await this.#control?.set(this.#prefix + key, text, "PX", lifeMs);
  }

  async pass(ms: number): Promise<void> {
    const step = Math.max(1, Math.min(LONGEST_STEP_MS, Math.floor(ms / STEPS)));
    await this.#quiet();
    for (let left = ms; left > 0; left -= step) {
      const now = Math.min(step, left);
      await this.#age(now);
      await this.clock.advance(now);
      await this.#quiet();
    }
  }

  async #age(ms: number): Promise<void> {
    await this.#control?.eval(AGE, 1, `age of ${this.#prefix}`, `${this.#prefix}*`, ms);
  }

  /** Everything that was asked of the server has been answered, and what follows from the answers too. */
  async #quiet(): Promise<void> {
    for (let turn = 0; turn < 2; turn += 1) {
      await this.#client?.ping();
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

/** Makes the server know every script, so that each call is one round trip. */
async function warm(store: Store): Promise<void> {
  const key = randomUUID();
  await store.set(key, "processing", { ttlMs: 10_000, nx: true, owner: "warm" });
  await store.renew(key, { owner: "warm", ttlMs: 10_000 });
  await store.set(key, "completed", { ttlMs: 10_000, xx: true, owner: "warm" });
  await store.set(key, "completed", { ttlMs: 10_000 });
  await store.get(key);
  await store.delete(key);
}
