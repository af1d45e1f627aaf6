import { afterEach, beforeAll, afterAll, describe, expect, test, vi } from "vitest";
import { keyFor, MemoryStore, releaseSlot, resetConfiguration, slots, type SlotInfo, type SlotsOptions, type Store } from "taskwright";
import { RedisStore } from "taskwright/redis";
import { Cluster } from "ioredis";
import { PausePoint } from "../support/builders.js";
import { startCluster } from "../support/redis.js";
import { chargeKey, chargeTask } from "./fixtures/charge.js";
import { useRedis } from "./fixtures/stores.js";
import { expectNothingUnhandled, keepIn } from "./fixtures/watch.js";

expectNothingUnhandled();
afterEach(() => {
  vi.restoreAllMocks();
  resetConfiguration();
});

const KEY = chargeKey("pay_1");

describe("a key that is stuck", () => {
  async function found(store: Store, options: SlotsOptions = {}): Promise<SlotInfo[]> {
    const all: SlotInfo[] = [];
    for await (const slot of slots(store, options)) all.push(slot);
    return all;
  }

  /** Finds one stuck claim among many completed ones, by what the duplicate's result says, and frees it. */
  async function findAndFree(store: Store): Promise<object> {
    keepIn(store);
    const atWork = new PausePoint();
    const Charge = chargeTask({}, ({ claim }, run) => (claim?.key === KEY && run <= 251 ? atWork.pass() : undefined));
    await Promise.all(Array.from({ length: 250 }, (_, at) => Charge.execute({ paymentId: `other_${at}` })));
    const stuck = Charge.execute({ paymentId: "pay_1" });
    await atWork.reached;

    const { metadata } = await Charge.execute({ paymentId: "pay_1" });
    const [key, owner] = [metadata["idempotencyKey"] as string, metadata["firstRunId"] as string]; // texts, as the next lines show
    const everything = new Set((await found(store)).map((slot) => slot.key));
    const processing = await found(store, { task: Charge, state: "processing" });
    const old = await found(store, { state: "processing", olderThan: "1h" });
    const others = await found(store, { task: "Refund" });
    const byStranger = await releaseSlot(key, { owner: "stranger", store });
    const byOwner = await releaseSlot(key, { owner, store });
    const next = await Charge.execute({ paymentId: "pay_1" });
    atWork.resume();
    await stuck;

    const freed = { byStranger, byOwner, next: next.status };
    return { key, keyFor: await keyFor(Charge, { paymentId: "pay_1" }), everything: everything.size, processing, old, others, freed };
  }
  const expected = {
    key: KEY,
    keyFor: KEY,
    everything: 251,
    processing: [{ key: KEY, state: "processing" }],
    old: [],
    others: [],
    freed: { byStranger: false, byOwner: true, next: "success" },
  };

  test("is found and freed in memory", async () => {
    expect(await findAndFree(new MemoryStore())).toMatchObject(expected);
  });

  const redis = useRedis();
  test.each([undefined, "shop*[1]:"])(
    "is found and freed on Redis, page by page and never with KEYS, under the client's prefix %s",
    async (keyPrefix) => {
      const client = redis.connect(keyPrefix === undefined ? {} : { keyPrefix });
      expect(await findAndFree(new RedisStore(client))).toMatchObject(expected);

      const used = await client.info("commandstats");
      expect(used).toContain("cmdstat_scan:");
      expect(used).not.toContain("cmdstat_keys:");
    },
  );

  describe("on a cluster", () => {
    let cluster: Awaited<ReturnType<typeof startCluster>> | undefined;
    beforeAll(async () => {
      cluster = await startCluster();
    }, 60_000);
    afterAll(async () => {
      await cluster?.stop();
    });

    test.each([undefined, "shop:"])("is found and freed, on whichever node it is, under the client's prefix %s", async (keyPrefix) => {
      const ports = cluster?.nodes.map(({ port }) => port) ?? [];
      const client = new Cluster(
        ports.map((port) => ({ host: "127.0.0.1", port })),
        keyPrefix === undefined ? {} : { keyPrefix },
      );
      const found = await findAndFree(new RedisStore(client));
      client.disconnect();

      expect(found).toMatchObject(expected);
    });
  });
});
