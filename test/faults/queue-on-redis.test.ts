import { setTimeout as wait } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DurableRedis } from "../scenarios/fixtures/durable-redis.js";
import { chances, LONG } from "./crew.js";
import { commanding } from "./disturb.js";
import { disturbQueue, expectQueueKept, type Disturbance, type Disturbed } from "./queue-disturb.js";
import { QUEUE_LEASE_MS, TIME_LIMIT_MS } from "./queue-settings.js";

const SEED = 20_261_215;
const ROUNDS = LONG ? 20 : 1;
const LIMIT_MS = LONG ? 1_800_000 : 240_000;

let server: DurableRedis;
beforeAll(async () => {
  server = await DurableRedis.start();
}, 60_000);
afterAll(() => server.remove());

function disturb(what: string, disturbance: (tools: Disturbance) => Promise<void>): Promise<Disturbed> {
  return disturbQueue(what, { backend: "redis", connection: `redis://127.0.0.1:${server.port}`, seed: SEED }, disturbance);
}

describe("a queue on Redis", () => {
  test.each(["always", "everysec"])(
    "whose server is killed and started again on its data, with appendfsync %s, keeps every promise: a process that dies leaves the system what it has written",
    async (appendfsync) => {
      const disturbed = await disturb(`Redis restarts, appendfsync ${appendfsync}`, async ({ crew, disturbing }) => {
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

      expectQueueKept(disturbed);
    },
    LIMIT_MS,
  );

  const pauses = (["ALL", "WRITE"] as const).flatMap((mode) =>
    [TIME_LIMIT_MS / 2, TIME_LIMIT_MS + 300, QUEUE_LEASE_MS + 700].map((ms) => ({ mode, ms })),
  );

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
