import { setTimeout as wait } from "node:timers/promises";
import { expect, test } from "vitest";
import { startPostgres } from "../support/postgres.js";
import { startRedis } from "../support/redis.js";
import { chances, LONG } from "./crew.js";
import { disturbQueue, expectQueueKept, type Disturbance } from "./queue-disturb.js";

const SEED = 20_261_207;
const KILLS = LONG ? 300 : 20;
/** So many processes at once; each is killed and replaced on its own. */
const PLACES = 3;

/** Kills the process of one place, again and again, while there are kills left. */
async function killAt({ crew, killed }: Disturbance, place: number, left: { kills: number }): Promise<void> {
  const chance = chances(SEED + place);
  while (left.kills > 0) {
    left.kills -= 1;
    const victim = crew.processes[place];
    await wait(chance() * 100);
    await victim?.hears(); // its work begins, or a call is accepted
    await wait(chance() * 60); // at work, at its end, or before the next
    await victim?.kill();
    await killed(victim?.pid ?? 0);
    const next = crew.another();
    crew.processes[place] = next;
    await next.hears();
  }
}

test.each([
  ["redis", startRedis],
  ["postgres", startPostgres],
] as const)(
  `${KILLS} processes killed at any moment, with the queue on %s: no job is lost, none is two, none is at work twice, no key is left behind (seed ${SEED})`,
  async (backend, start) => {
    const server = await start();
    const left = { kills: KILLS };
    const startedAt = performance.now();
    const disturbed = await disturbQueue(
      `${KILLS} SIGKILLs, ${backend}`,
      { backend, connection: server.url, seed: SEED, size: PLACES },
      async (tools) => {
        await Promise.all(tools.crew.processes.map((_, place) => killAt(tools, place, left)));
      },
    );
    console.log(`${KILLS} kills on ${backend} in ${Math.round((performance.now() - startedAt) / 1_000)} s`);
    await server.stop();

    expectQueueKept(disturbed);
    const { attempts } = disturbed.account;
    expect(attempts.filter(({ outcome }) => outcome === "killed").length).toBeGreaterThan(KILLS / 3); // they were hit at work
  },
  LONG ? 3_600_000 : 300_000,
);
