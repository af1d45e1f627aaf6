import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { idempotentBy, resetConfiguration, retryOn, Task, type IdempotencyOptions, type Store } from "taskwright";
import { RedisStore, type RedisClient } from "taskwright/redis";
import { Cluster, Redis } from "ioredis";
import { Redis as Redis5 } from "ioredis-5";
import { z } from "zod";
import { PausePoint } from "../support/builders.js";
import { startCluster } from "../support/redis.js";
import { chargeTask } from "./fixtures/charge.js";
import { RedisProxy } from "./fixtures/proxy.js";
import { quietClient, useRedis } from "./fixtures/stores.js";
import { expectNothingUnhandled, keepIn } from "./fixtures/watch.js";

expectNothingUnhandled();
afterEach(() => {
  resetConfiguration();
});

const clients: readonly (readonly [string, (port: number) => RedisClient & { disconnect(): void }])[] = [
  ["ioredis 6", (port) => new Redis(port)],
  ["ioredis 5", (port) => new Redis5(port)],
  ["ioredis 6 with automatic pipelines", (port) => new Redis(port, { enableAutoPipelining: true })],
  ["ioredis 5 with automatic pipelines", (port) => new Redis5(port, { enableAutoPipelining: true })],
];

describe.each(clients)("through %s", (_, connect) => {
  const redis = useRedis();
  let proxy: RedisProxy;
  let client: ReturnType<typeof connect>;
  beforeAll(async () => {
    proxy = await RedisProxy.before(redis.server.port);
    client = connect(proxy.port);
    keepIn(new RedisStore(client));
    const Charge = chargeTask({}, (_, run) => {
      if (run === 1) throw new Error("declined");
    });
    for (let run = 0; run < 2; run += 1) await Charge.execute({ paymentId: "warm_up" }); // from here on the server knows the scripts
    resetConfiguration();
  });
  afterAll(() => {
    client.disconnect();
    proxy.close();
  });

  function charge(options: IdempotencyOptions = {}, failing = false) {
    return chargeTask(options, () => {
      if (failing) throw new Error("declined");
    });
  }

  /** What goes over the line while the body runs. */
  async function trips(body: () => Promise<unknown>, store: Store = new RedisStore(client)): Promise<string[]> {
    keepIn(store);
    const before = proxy.requests.length;
    await body();
    return proxy.requests.slice(before).map(([name = ""]) => name);
  }

  test("a run that is no duplicate costs two round trips: the claim and the completion", async () => {
    const Charge = charge();

    expect(await trips(() => Charge.execute({ paymentId: "pay_1" }))).toEqual(["evalsha", "evalsha"]);
  });

  test("a run costs two also when it fails, or is tried again, or has an output to keep, or a fingerprint", async () => {
    expect(await trips(() => charge({}, true).execute({ paymentId: "pay_1" }))).toEqual(["evalsha", "evalsha"]);
    resetConfiguration();
    const Retried = charge({}, true);
    retryOn(Error, { limit: 2, delay: 0 })(Retried);
    expect(await trips(() => Retried.execute({ paymentId: "pay_1" }))).toEqual(["evalsha", "evalsha"]);
    resetConfiguration();
    expect(await trips(() => charge({ onDuplicate: "replay", fingerprint: true }).execute({ paymentId: "pay_1" }))).toEqual([
      "evalsha",
      "evalsha",
    ]);
  });

  test.each(["skip", "fail", "replay"] as const)("a duplicate of a completed run costs one, when it is to %s", async (onDuplicate) => {
    const Charge = charge({ onDuplicate });
    keepIn(new RedisStore(client));
    await Charge.execute({ paymentId: "pay_1" });

    expect(await trips(() => Charge.execute({ paymentId: "pay_1" }))).toEqual(["evalsha"]);
  });

  test("a duplicate of a run at work costs one, and so does another request with its key", async () => {
    keepIn(new RedisStore(client));
    const atWork = new PausePoint();
    const Charge = chargeTask({ fingerprint: true }, () => atWork.pass());
    const first = Charge.execute({ paymentId: "pay_1" });
    await atWork.reached;

    const duplicate = await trips(() => Charge.execute({ paymentId: "pay_1" }));
    const mismatch = await trips(() => Charge.execute({ paymentId: "pay_1", amountCents: 7 }));
    atWork.resume();
    await first;

    expect([duplicate, mismatch]).toEqual([["evalsha"], ["evalsha"]]);
  });

  test("a run without a key, or with an input that does not fit, costs none", async () => {
    const Charge = charge();
    class Gated extends Task.with({ input: z.object({ id: z.string() }) }) {
      work(): void {}
    }
    idempotentBy("id", { if: () => false })(Gated);

    expect(await trips(() => Charge.execute({ paymentId: " " }))).toEqual([]);
    expect(await trips(() => Charge.execute({ paymentId: 5 } as unknown as { paymentId: string }))).toEqual([]); // what untyped code may give
    expect(await trips(() => Gated.execute({ id: "1" }))).toEqual([]);
  });

  test("a hundred runs at once cost less than two each, and a hundred duplicates less than one", async () => {
    const Charge = charge();
    const all = (prefix: string): Promise<unknown> =>
      Promise.all(Array.from({ length: 100 }, (_, at) => Charge.execute({ paymentId: `${prefix}_${at}` })));
    const store = keepIn(new RedisStore(client));
    await all("warm_up"); // and the store finds out once whether many may go together
    await client.call("ping");

    const [runs, duplicates] = [await trips(() => all("pay"), store), await trips(() => all("pay"), store)];

    expect(runs.length).toBeLessThanOrEqual(100);
    expect(duplicates.length).toBeLessThanOrEqual(50);
    expect(new Set([...runs, ...duplicates])).toEqual(new Set(["evalsha"]));
  });
});

describe("on a cluster", () => {
  let cluster: Awaited<ReturnType<typeof startCluster>>;
  beforeAll(async () => {
    cluster = await startCluster();
  }, 60_000);
  afterAll(async () => {
    await cluster.stop();
  });

  /** How many scripts all nodes have run; what scripts call themselves is counted apart. */
  async function scriptsRun(): Promise<number> {
    let calls = 0;
    for (const { port } of cluster.nodes) {
      const node = quietClient(port);
      const stats = await node.info("commandstats");
      for (const [, count] of stats.matchAll(/^cmdstat_eval(?:sha)?:calls=(\d+)/gm)) calls += Number(count);
      node.disconnect();
    }
    return calls;
  }

  test("a run costs two round trips, and a duplicate one", async () => {
    const client = new Cluster(cluster.nodes.map(({ port }) => ({ host: "127.0.0.1", port })));
    keepIn(new RedisStore(client));
    const Charge = chargeTask();
    const ids = Array.from({ length: 30 }, (_, at) => `pay_${at}`);
    for (const id of ids) await Charge.execute({ paymentId: `warm_up_${id}` }); // every node knows the scripts

    const start = await scriptsRun();
    for (const paymentId of ids) await Charge.execute({ paymentId });
    const afterRuns = await scriptsRun();
    for (const paymentId of ids) await Charge.execute({ paymentId });
    const afterDuplicates = await scriptsRun();
    client.disconnect();

    expect([afterRuns - start, afterDuplicates - afterRuns]).toEqual([60, 30]);
  });
});
