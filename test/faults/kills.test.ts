import { setTimeout as wait } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { immortalKeys } from "../scenarios/fixtures/stores.js";
import { startRedis, type RedisServer } from "../support/redis.js";
import { chances, LEASE_MS, LONG, type Crew } from "./crew.js";
import { disturb, expectKept, expectNobodyRobbed, heldKeys } from "./disturb.js";

const SEED = 20_261_130;
const KILLS = LONG ? 1_000 : 60;
/** So many processes at once; each is killed and replaced on its own. */
const PLACES = 3;

let server: RedisServer;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

/** Kills the process of one place, again and again, while there are kills left. */
async function killAt(crew: Crew, place: number, chance: () => number, left: { kills: number }): Promise<void> {
  while (left.kills > 0) {
    left.kills -= 1;
    const victim = crew.workers[place];
    await wait(chance() * 100);
    await victim?.moves(); // its work begins, or it has been answered
    await wait(chance() * 60); // at work, at its end, or before the next
    await victim?.kill();
    const next = crew.another();
    crew.workers[place] = next;
    await next.moves();
  }
}

test(
  `${KILLS} workers killed with SIGKILL at any moment: no two at work on a key at once, no success twice, and no key is left behind (seed ${SEED})`,
  async () => {
    const left = { kills: KILLS };
    const startedAt = performance.now();
    const { account } = await disturb(
      `${KILLS} SIGKILLs`,
      { ports: [server.port], seed: SEED, size: PLACES, callers: 3, pauseMs: 30 },
      async (crew) => {
        await Promise.all(crew.workers.map((_, place) => killAt(crew, place, chances(SEED + place), left)));
      },
    );
    console.log(`${KILLS} kills in ${Math.round((performance.now() - startedAt) / 1_000)} s`);
    await wait(LEASE_MS); // what a killed process held goes with its lease, and with nothing else

    expectKept(account);
    expectNobodyRobbed(account);
    expect(account.runs.filter(({ endedAt }) => endedAt === undefined).length).toBeGreaterThan(KILLS / 10); // they were hit at work
    expect(account.runs.filter(({ completed }) => completed === true).length).toBeGreaterThan(KILLS / 2);
    expect(await heldKeys(server.port)).toEqual([]);
    expect(await immortalKeys(server.port)).toEqual([]);
  },
  LONG ? 3_600_000 : 300_000,
);
