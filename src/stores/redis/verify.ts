import { randomUUID } from "node:crypto";
import { DefinitionError } from "../../errors.js";
import { systemClock } from "../../support/clock.js";
import type { Store } from "../store.js";
import { isReplyError } from "./one-server.js";
import { serversOf, type RedisClient, type RedisNode, type Server } from "./client.js";

/** What `verify()` found out. */
export interface Verification {
  /** What works but deserves attention, in sentences for people. Empty when all is well. */
  readonly warnings: readonly string[];
}

/** Long enough for the whole proof, and how long a forgotten probe stays. */
const LIFE_MS = 60_000;
const SHORT_MS = 20;
/** How much longer an entry of SHORT_MS may show before it counts as one that does not end. */
const PATIENCE_MS = 2_000;

export async function verify(store: Store, client: RedisClient): Promise<Verification> {
  const key = `taskwright:verify:${randomUUID()}`;
  try {
    const fence = await proveClaim(store, key);
    await proveOwnership(store, key);
    await proveFence(store, key, fence);
    await proveExpiry(store, key);
  } finally {
    await store.delete(key);
  }
  const warnings: string[] = [];
  for (const server of await serversOf(client)) warnings.push(...(await warningsOf(server)));
  return { warnings };
}

async function proveClaim(store: Store, key: string): Promise<number> {
  const first = await store.set(key, "processing", { nx: true, owner: "first", ttlMs: LIFE_MS });
  const second = await store.set(key, "processing", { nx: true, owner: "second", ttlMs: LIFE_MS });
  const repeated = await store.set(key, "processing", { nx: true, owner: "first", ttlMs: LIFE_MS });
  prove(first.ok && !second.ok, "a second claim on a held key is refused");
  prove(!second.ok && second.held?.value === "processing" && second.held.owner === "first", "a refused claim tells who holds the key");
  prove(first.ok && repeated.ok, "a claim repeated by its holder is granted");
  return first.ok ? first.fence : 0;
}

async function proveOwnership(store: Store, key: string): Promise<void> {
  const completed = await store.set(key, "completed", { xx: true, owner: "second", ttlMs: LIFE_MS });
  prove(!completed.ok, "only the holder completes");
  prove(!(await store.renew(key, { owner: "second", ttlMs: LIFE_MS })), "only the holder renews");
  prove(!(await store.delete(key, { owner: "second" })), "only the holder releases");
  prove(await store.renew(key, { owner: "first", ttlMs: LIFE_MS }), "the holder renews");
  prove(await store.delete(key, { owner: "first" }), "the holder releases");
}

async function proveFence(store: Store, key: string, before: number): Promise<void> {
  const claimed = await store.set(key, "processing", { nx: true, owner: "third", ttlMs: LIFE_MS });
  prove(claimed.ok && claimed.fence > before, "the fence grows from claim to claim");
}

async function proveExpiry(store: Store, key: string): Promise<void> {
  await store.set(key, "completed", { xx: true, owner: "third", ttlMs: SHORT_MS });
  const deadline = systemClock.now() + SHORT_MS + PATIENCE_MS;
  while ((await store.get(key)) !== undefined) {
    prove(systemClock.now() < deadline, "an entry ends when its time is up");
    await new Promise<void>((resolve) => systemClock.timer(SHORT_MS, resolve));
  }
}

function prove(holds: boolean, promise: string): void {
  if (holds) return;
  throw new DefinitionError(
    `This Redis does not keep what a store promises: ${promise}. Use Redis 6.2 or newer, or Valkey, without a proxy that changes commands.`,
  );
}

async function warningsOf({ address, node }: Server): Promise<readonly string[]> {
  const name = address === "" ? "The server" : `The server ${address}`;
  const policy = await policyOf(node);
  if (policy === undefined) {
    return [`${name} does not tell its maxmemory-policy (INFO and CONFIG are not allowed). Make sure that it is noeviction.`];
  }
  if (policy === "noeviction") return [];
  return [
    `${name} may drop entries to save memory (maxmemory-policy is ${policy}), and with them claims and completions. Set it to noeviction.`,
  ];
}

async function policyOf(node: RedisNode): Promise<string | undefined> {
  const info = await askOrRefused(node, "info", "memory");
  const [, policy] = /^maxmemory_policy:(\S+)/m.exec(String(info)) ?? [];
  if (policy !== undefined) return policy;
  const pair = await askOrRefused(node, "config", "get", "maxmemory-policy");
  const value: unknown = Object.values(pair ?? []).at(-1); // name and value in a list, or in a record where the client speaks RESP3
  return typeof value === "string" ? value : undefined;
}

/** Managed servers forbid some commands. That is an answer; a broken connection is not. */
async function askOrRefused(node: RedisNode, command: string, ...args: string[]): Promise<unknown> {
  try {
    return await node.call(command, ...args);
  } catch (error) {
    if (isReplyError(error)) return undefined;
    throw error;
  }
}
