import { setTimeout as wait } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DurableRedis } from "../scenarios/fixtures/durable-redis.js";
import { chances, LONG } from "./crew.js";
import { commanding } from "./disturb.js";
import { disturbQueue, expectQueueKept, type Disturbance, type Disturbed } from "./queue-disturb.js";
import { QUEUE_LEASE_MS, TIME_LIMIT_MS } from "./queue-settings.js";

const SEED = 20_261_215;
const ROUNDS = LONG ? 20 : 1;
const LIMIT_MS = LONG ? 1_800_000 : 300_000;

let server: DurableRedis;
beforeAll(async () => {
  server = await DurableRedis.start();
}, 60_000);
afterAll(() => server.remove());

function disturb(what: string, disturbance: (tools: Disturbance) => Promise<void>): Promise<Disturbed> {
  return disturbQueue(what, { backend: "redis", connection: `redis://127.0.0.1:${server.port}`, seed: SEED }, disturbance);
}

describe("a queue on Redis", () => {
  /** Kills it, and starts it again on its data, with or without the last moments. */
  async function restarts(appendfsync: "always" | "everysec"): Promise<Disturbed> {
    return disturb(`Redis restarts, appendfsync ${appendfsync}`, async ({ crew, disturbing }) => {
      for (let round = 0; round < ROUNDS * 2; round += 1) {
        await commanding(server.port, (client) => client.config("SET", "appendfsync", appendfsync));
        await crew.getsIn(5);
        await disturbing("restart", async () => {
          await server.kill();
          await wait(400);
          await server.start();
        });
      }
      await crew.getsIn(5);
    });
  }

  test(
    "whose server is killed and started again with all that it had acknowledged keeps every promise",
    async () => {
      const disturbed = await restarts("always");
      expectQueueKept(disturbed);
    },
    LIMIT_MS,
  );

  test(
    "whose server may forget its last moments when it is killed leaves no key held, and gives every call a job or a typed error",
    async () => {
      const { account, heldKeys, exits } = await restarts("everysec");
      const { lost, doubles, overlaps, stale, wrong } = account;
      console.log(
        `forgotten: ${lost.length} lost, ${doubles.length} doubles, ${overlaps.length} overlaps, ${stale.length} that were open again`,
      );

      expect({ wrong, heldKeys, exits: exits.filter((exit) => exit !== 0) }).toEqual({ wrong: [], heldKeys: [], exits: [] });
      expect(account.accepted.length).toBeGreaterThan(lost.length);
    },
    LIMIT_MS,
  );

  const pauses = [
    { mode: "ALL", ms: TIME_LIMIT_MS / 2 },
    { mode: "WRITE", ms: TIME_LIMIT_MS + 300 },
    { mode: "ALL", ms: QUEUE_LEASE_MS + 700 },
    { mode: "WRITE", ms: QUEUE_LEASE_MS + 700 },
  ] as const;

  test(
    "whose server is paused, for less and more than a call may take, and for more than a lease, keeps every promise",
    async () => {
      const disturbed = await disturb("CLIENT PAUSE", async ({ crew, disturbing }) => {
        for (let round = 0; round < ROUNDS; round += 1) {
          for (const { mode, ms } of pauses) {
            await crew.getsIn(5);
            await disturbing(`pause ${mode}`, async () => {
              await commanding(server.port, (client) => client.call("CLIENT", "PAUSE", ms, mode));
              await wait(ms);
            });
          }
        }
        await crew.getsIn(5);
      });

      expectQueueKept(disturbed);
      expect(disturbed.account.refused["queue_unavailable"]).toBeGreaterThan(0); // calls do not wait for it
    },
    LIMIT_MS,
  );

  test(
    "whose connections are broken again and again, in the middle of enqueues and completions, keeps every promise",
    async () => {
      const chance = chances(SEED);
      let broken = 0;
      const disturbed = await disturb("CLIENT KILL", async ({ crew, disturbing }) => {
        await commanding(server.port, async (client) => {
          while (broken < ROUNDS * 60) {
            await wait(chance() * 100);
            await disturbing("connections are broken", async () => {
              broken += Number(await client.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"));
            });
          }
        });
        await crew.getsIn(5);
      });
      console.log(`${broken} connections were broken`);

      expectQueueKept(disturbed);
    },
    LIMIT_MS,
  );
});
