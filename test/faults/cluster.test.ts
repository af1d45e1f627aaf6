import { setTimeout as wait } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { onlyMortalKeys } from "../scenarios/fixtures/stores.js";
import { startCluster } from "../support/redis.js";
import { LEASE_MS, LIMIT, LONG } from "./crew.js";
import { commanding, disturb, expectKept, expectNobodyRobbed } from "./disturb.js";
import { moveSlot, startFaultCluster } from "./cluster.js";

const SEED = 20_261_106;
const ROUNDS = LONG ? 20 : 1;
const TIMEOUT_MS = LONG ? 900_000 : 180_000;
const KEYS = 16;

describe("a cluster", () => {
  let cluster: Awaited<ReturnType<typeof startCluster>>;
  beforeAll(async () => {
    cluster = await startCluster();
  }, 120_000);
  afterEach(async () => {
    for (const { port } of cluster.nodes) {
      await onlyMortalKeys(port);
      await commanding(port, (client) => client.flushall());
    }
  });
  afterAll(() => cluster.stop());

  const ports = () => cluster.nodes.map(({ port }) => port);

  test.each([
    ["for longer than the store's time limit", 600],
    ["for longer than a lease", LEASE_MS + 300],
  ])(
    "of which a node hangs %s, and comes back, breaks no promise",
    async (how, ms) => {
      const settings = { ports: ports(), cluster: true, seed: SEED, keys: KEYS };
      const { account } = await disturb(`a node of a cluster hangs ${how}`, settings, async (crew) => {
        for (let round = 0; round < ROUNDS; round += 1) {
          for (const node of cluster.nodes) {
            node.freeze();
            await wait(ms);
            node.thaw();
          }
          await crew.succeed(2);
        }
      });

      expectKept(account);
    },
    TIMEOUT_MS,
  );

  test(
    "whose slots move from node to node while runs have keys in them, breaks no promise and takes no key away",
    async () => {
      const settings = { ports: ports(), cluster: true, seed: SEED, keys: KEYS };
      const { account } = await disturb("slots move", settings, async (crew) => {
        for (let round = 0; round < ROUNDS; round += 1) {
          for (const slot of await slotsInUse()) await moveSlot(cluster.nodes, slot);
        }
        await crew.succeed(2);
      });

      expectKept(account);
      expectNobodyRobbed(account);
    },
    TIMEOUT_MS,
  );

  /** Where the keys of the crew are: of its charges, of its locks, and the one count. */
  async function slotsInUse(): Promise<number[]> {
    const ids = Array.from({ length: KEYS }, (_, at) => `id_${at}`);
    const keys = [...ids.flatMap((id) => [`cmdx:idem:Charge:${id}`, `cmdx:lock:Withdraw:${id}`]), "cmdx:rate:Send:all"];
    return commanding(ports()[0] ?? 0, async (client) => {
      const slots: number[] = [];
      for (const key of keys) slots.push(Number(await client.call("cluster", "keyslot", key)));
      return slots;
    });
  }
});

test(
  "a cluster that loses a master goes on with its replica: no work runs without a claim, and no caller is told anything untrue",
  async () => {
    const cluster = await startFaultCluster();
    try {
      const settings = { ports: cluster.ports, cluster: true, seed: SEED, keys: KEYS };
      const { account, storeErrors } = await disturb("a master is killed, its replica promoted", settings, async (crew) => {
        await cluster.nodes[0]?.kill();
        await promoted(cluster.replica.port);
        await crew.succeed(3);
      });

      expect(account.untrue).toEqual([]);
      expect(account.sent).toBeLessThanOrEqual(LIMIT * 2);
      expect(storeErrors["claim"]).toBeGreaterThan(0);
      // Only what was written in the last moment may be forgotten, and each key of it once.
      expect(account.overlaps.length + account.repeats.length).toBeLessThanOrEqual(KEYS * 2);
    } finally {
      await cluster.stop();
    }
  },
  TIMEOUT_MS,
);

async function promoted(port: number): Promise<void> {
  await commanding(port, async (client) => {
    while (!(await client.info("replication")).includes("role:master")) await wait(50);
    while (!String(await client.call("cluster", "info")).includes("cluster_state:ok")) await wait(50);
  });
}
