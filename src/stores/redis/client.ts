/**
 * What a RedisStore needs of a client. `Redis` and `Cluster` of ioredis 5 and 6 have this shape, Sentinel included, so no
 * client library is imported here.
 */
export interface RedisClient extends RedisNode {
  readonly options: { readonly keyPrefix?: string | undefined; readonly enableAutoPipelining?: boolean | undefined };
  evalsha(sha: string, keyCount: number, ...keysAndArguments: (string | number)[]): Promise<unknown>;
  eval(script: string, keyCount: number, ...keysAndArguments: (string | number)[]): Promise<unknown>;
  pipeline(commands: unknown[][]): { exec(): Promise<[error: Error | null, reply: unknown][] | null> };
}

/** One server: the client itself, or a node of a cluster. */
export interface RedisNode {
  call(command: string, ...args: (string | number)[]): Promise<unknown>;
}

/** A client that knows several servers. */
export interface RedisCluster extends RedisClient {
  nodes(role: "master"): readonly ClusterNode[];
}

export interface ClusterNode extends RedisNode {
  readonly options: { readonly host?: string | undefined; readonly port?: number | undefined };
}

/** One of the servers behind a client, under a name that tells it from the others. */
export interface Server {
  readonly address: string;
  readonly node: RedisNode;
}

export function isCluster(client: RedisClient): client is RedisCluster {
  return "nodes" in client && typeof client.nodes === "function";
}

/** Every server that takes writes, in an order that stays. */
export async function serversOf(client: RedisClient): Promise<readonly Server[]> {
  if (!isCluster(client)) return [{ address: "", node: client }];
  await client.call("info", "server"); // a cluster that is still connecting knows none of its nodes
  const servers = client.nodes("master").map((node) => ({ address: `${node.options.host ?? ""}:${node.options.port ?? ""}`, node }));
  return servers.toSorted((a, b) => (a.address < b.address ? -1 : 1));
}

/** What the client puts before every key of a command, but neither before a pattern nor off a key in an answer. */
export function keyPrefixOf(client: RedisClient): string {
  return String(client.options.keyPrefix ?? ""); // in truth, ioredis takes a Buffer, too
}
