import { randomUUID } from "node:crypto";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { MemoryStore, type Store, type StoreEntry } from "taskwright";
import { RedisStore } from "taskwright/redis";
import { ManualClock } from "taskwright/testing";
import { provideRedis } from "../support/redis.js";
import { isLong } from "./bounds.js";

const SEED = 20_261_130;
const SEQUENCES = isLong ? 3_000 : 60;
const STEPS = 40;
/** All lives are odd multiples of this and all pauses even ones, so that no entry is ever near its end while it is compared. */
const UNIT_MS = 50_000;

/** Makes every key with the prefix older: KEYS[] none, ARGV[1] pattern, ARGV[2] milliseconds. */
const AGE = `
for _, key in ipairs(redis.call('KEYS', ARGV[1])) do
  local left = redis.call('PTTL', key) - ARGV[2]
  if left > 0 then redis.call('PEXPIRE', key, left) else redis.call('DEL', key) end
end
`;

/** Numbers that look like chance and are the same for the same seed (mulberry32). */
function chance(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

type Step = (store: Store) => Promise<unknown>;

/** One random step on one of two keys, as one of three owners or as nobody. */
function randomStep(pick: (below: number) => number): { readonly label: string; readonly step: Step } {
  const key = ["pay_1", "pay:2"][pick(2)] ?? "";
  const owner = ["a", "b", "c", undefined][pick(4)];
  const ttlMs = UNIT_MS * (1 + 2 * pick(3));
  const value = ["processing", "completed", 'completed {"output":"[1] owner=x"}', "ends owner=me"][pick(4)] ?? "";
  const held = { ...(owner !== undefined && { owner }) };
  const steps: readonly { readonly label: string; readonly step: Step }[] = [
    { label: `claim ${key} ${owner} ${ttlMs}`, step: async (store) => store.set(key, value, { ttlMs, nx: true, ...held }) },
    { label: `complete ${key} ${owner} ${ttlMs}`, step: async (store) => store.set(key, value, { ttlMs, xx: true, ...held }) },
    { label: `put ${key} ${owner} ${ttlMs}`, step: async (store) => store.set(key, value, { ttlMs, ...held }) },
    { label: `renew ${key} ${owner ?? "a"} ${ttlMs}`, step: async (store) => store.renew(key, { owner: owner ?? "a", ttlMs }) },
    { label: `delete ${key} ${owner}`, step: async (store) => store.delete(key, held) },
    { label: `get ${key}`, step: async (store) => store.get(key) },
  ];
  return steps[[0, 0, 0, 1, 1, 2, 3, 3, 4, 5][pick(10)] ?? 0] ?? { label: "get", step: async (store) => store.get(key) };
}

/** An answer without what differs by nature: the fence, and the milliseconds that a server takes. */
function comparable(answer: unknown): unknown {
  if (typeof answer !== "object" || answer === null) return answer;
  if ("ok" in answer) return "held" in answer ? { ok: answer.ok, held: comparable(answer.held) } : { ok: answer.ok };
  const { expiresInMs, ...entry } = answer as StoreEntry; // what a store answers that is neither yes, no nor a result
  return { ...entry, units: Math.ceil(expiresInMs / UNIT_MS) };
}

describe("the store that is explored and the store of many processes", () => {
  let server: Awaited<ReturnType<typeof provideRedis>>;
  let control: Redis;
  beforeAll(async () => {
    server = await provideRedis();
    control = new Redis(server.url);
  });
  afterAll(async () => {
    control.disconnect();
    await server.stop();
  });

  test(`answer alike to ${SEQUENCES} random sequences of ${STEPS} steps (seed ${SEED})`, async () => {
    const pick = chance(SEED);
    for (let sequence = 0; sequence < SEQUENCES; sequence += 1) {
      const clock = new ManualClock();
      const memory = new MemoryStore({ clock, sweepEveryMs: 1_000_000_000 });
      const keyPrefix = `${randomUUID()}:`;
      const client = new Redis(server.url, { keyPrefix });
      const redis = new RedisStore(client);
      const story: string[] = [];
      for (let at = 0; at < STEPS; at += 1) {
        if (pick(6) === 0) {
          const ms = UNIT_MS * 2 * (1 + pick(2));
          story.push(`${ms} ms pass`);
          await clock.advance(ms);
          await control.eval(AGE, 0, `${keyPrefix}*`, ms);
        }
        const { label, step } = randomStep(pick);
        story.push(label);
        const [mine, theirs] = [await step(memory), await step(redis)];
        expect(comparable(theirs), `sequence ${sequence}: ${story.join("; ")}`).toEqual(comparable(mine));
      }
      await control.eval(AGE, 0, `${keyPrefix}*`, Number.MAX_SAFE_INTEGER);
      client.disconnect();
    }
  });
});
