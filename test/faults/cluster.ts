import { createServer } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import type { Redis } from "ioredis";
import { quietClient } from "../scenarios/fixtures/stores.js";
import { startCluster, startRedis, type RedisServer } from "../support/redis.js";
import { commanding } from "./disturb.js";

/** A cluster that notices quickly when a node is gone. */
const NODE_TIMEOUT_MS = 1_000;

export interface FaultCluster {
  readonly nodes: readonly RedisServer[];
  /** Follows the first node. */
  readonly replica: RedisServer;
  readonly ports: readonly number[];
  stop(): Promise<void>;
}

/** Three masters, the first of which has a replica. Each of them is ours to stop. */
export async function startFaultCluster(): Promise<FaultCluster> {
  const cluster = await startCluster();
  const [first] = cluster.nodes;
  if (first === undefined) throw new Error("there are three");
  const replica = await startRedis("--cluster-enabled", "yes", "--cluster-port", String(await freePort()));
  for (const { port } of [...cluster.nodes, replica]) {
    await commanding(port, (client) => client.config("SET", "cluster-node-timeout", NODE_TIMEOUT_MS, "repl-diskless-sync-delay", 0));
  }
  await join(replica, first);
  return {
    nodes: cluster.nodes,
    replica,
    ports: [...cluster.nodes, replica].map(({ port }) => port),
    stop: async () => void (await Promise.all([cluster.stop(), replica.stop()])),
  };
}

async function join(replica: RedisServer, master: RedisServer): Promise<void> {
  const id = await commanding(master.port, (client) => client.call("cluster", "myid"));
  const busPort = await commanding(replica.port, (client) => client.config("GET", "cluster-port"));
  const [, bus] = busPort as [string, string]; // name and value
  await commanding(master.port, (client) => client.call("cluster", "meet", "127.0.0.1", replica.port, bus));
  await commanding(replica.port, async (client) => {
    while (!String(await client.call("cluster", "nodes")).includes(String(id))) await wait(20);
    await client.call("cluster", "replicate", String(id));
    while (!(await client.info("replication")).includes("master_link_status:up")) await wait(20);
  });
}

/** Moves a slot with its keys to another node, as an operator does, while it is in use. */
export async function moveSlot(nodes: readonly RedisServer[], slot: number): Promise<void> {
  const clients = nodes.map(({ port }) => quietClient(port));
  try {
    const source = await holderOf(clients, slot);
    const target = clients.find((client) => client !== source);
    if (target === undefined) throw new Error("there are several nodes");
    const [sourceId, targetId] = [String(await source.call("cluster", "myid")), String(await target.call("cluster", "myid"))];
    await target.call("cluster", "setslot", slot, "importing", sourceId);
    await source.call("cluster", "setslot", slot, "migrating", targetId);
    await wait(100); // half-way: what is new begins on the target
    for (;;) {
      const keys = (await source.call("cluster", "getkeysinslot", slot, 100)) as string[]; // what Redis answers
      if (keys.length === 0) break;
      await source.call("migrate", "127.0.0.1", target.options.port ?? 0, "", 0, 5_000, "keys", ...keys);
    }
    for (const client of [target, source, ...clients]) await client.call("cluster", "setslot", slot, "node", targetId);
  } finally {
    for (const client of clients) client.disconnect();
  }
}

async function holderOf(clients: readonly Redis[], slot: number): Promise<Redis> {
  const [any] = clients;
  const ranges = (await any?.call("cluster", "slots")) as [number, number, [string, number]][]; // what Redis answers
  const port = ranges.find(([from, to]) => from <= slot && slot <= to)?.[2][1];
  const holder = clients.find(({ options }) => options.port === port);
  if (holder === undefined) throw new Error(`Slot ${slot} belongs to none of these nodes`);
  return holder;
}

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const address = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  if (typeof address !== "object" || address === null) throw new Error("it listens on a port");
  return address.port;
}
