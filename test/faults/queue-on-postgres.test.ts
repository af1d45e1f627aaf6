import { setTimeout as wait } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { chances, LONG } from "./crew.js";
import { disturbQueue, expectQueueKept, type Disturbance, type Disturbed } from "./queue-disturb.js";
import { OwnPostgres, type End } from "./queue-postgres.js";
import { QUEUE_LEASE_MS, TIME_LIMIT_MS } from "./queue-settings.js";

const SEED = 20_261_214;
const ROUNDS = LONG ? 20 : 1;
const LIMIT_MS = LONG ? 1_800_000 : 300_000;

let server: OwnPostgres;
beforeAll(async () => {
  server = await OwnPostgres.start();
}, 60_000);
afterAll(() => server.remove());

function disturb(what: string, disturbance: (tools: Disturbance) => Promise<void>): Promise<Disturbed> {
  return disturbQueue(what, { backend: "postgres", connection: server.url, seed: SEED }, disturbance);
}

const ends: readonly End[] = ["immediate", "killed", "backend killed"];

describe("a queue on PostgreSQL", () => {
  test(
    "whose server is ended in three ways, and started again on its data, keeps every promise",
    async () => {
      const disturbed = await disturb("PostgreSQL restarts", async ({ crew, disturbing }) => {
        for (let round = 0; round < ROUNDS; round += 1) {
          for (const how of ends) {
            await crew.getsIn(3);
            await disturbing(how, async () => {
              await server.end(how);
              await wait(300);
              await server.start();
            });
          }
        }
        await crew.getsIn(3);
      });

      expectQueueKept(disturbed);
      expect(disturbed.account.refused["queue_unavailable"]).toBeGreaterThan(0); // it was met at enqueues
    },
    LIMIT_MS,
  );

  const hangs = [TIME_LIMIT_MS / 2, TIME_LIMIT_MS + 300, QUEUE_LEASE_MS + 700];

  test(
    "whose server hangs, for less and more than a call may take, and for more than a lease, keeps every promise",
    async () => {
      const disturbed = await disturb("PostgreSQL hangs", async ({ crew, disturbing }) => {
        for (let round = 0; round < ROUNDS; round += 1) {
          for (const ms of hangs) {
            await crew.getsIn(3);
            await disturbing("hangs", async () => {
              await server.freeze();
              await wait(ms);
              server.thaw();
            });
          }
        }
        await crew.getsIn(3);
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
      const disturbed = await disturb("pg_terminate_backend", async ({ crew, disturbing }) => {
        while (broken < ROUNDS * 60) {
          await wait(chance() * 150);
          await disturbing("connections are broken", async () => (broken += await server.dropClients()));
        }
        await crew.getsIn(3);
      });
      console.log(`${broken} connections were broken`);

      expectQueueKept(disturbed);
    },
    LIMIT_MS,
  );

  test(
    "whose table somebody else has locked, for less and more than a call may take, or a lease lasts, keeps every promise",
    async () => {
      const disturbed = await disturb("LOCK TABLE", async ({ crew, disturbing }) => {
        for (let round = 0; round < ROUNDS; round += 1) {
          for (const ms of [TIME_LIMIT_MS / 2, QUEUE_LEASE_MS + 700]) {
            await crew.getsIn(3);
            await disturbing("the table is locked", async () => {
              await server.ask("BEGIN");
              await server.ask("LOCK TABLE bullmq.job IN ACCESS EXCLUSIVE MODE");
              await wait(ms);
              await server.ask("COMMIT");
            });
          }
        }
        await crew.getsIn(3);
      });

      expectQueueKept(disturbed);
      expect(disturbed.account.refused["queue_unavailable"]).toBeGreaterThan(0); // calls do not wait for it
    },
    LIMIT_MS,
  );
});
