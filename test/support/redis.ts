import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { accessSync, constants } from "node:fs";
import { createServer } from "node:net";
import { delimiter, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { Redis } from "ioredis";

/** Real servers for the tests: started on free ports of 127.0.0.1, with nothing kept on disk, and gone when the test process is. */

const PROGRAMS = ["redis-server", "valkey-server"];
const START_LIMIT_MS = 15_000;

/** A server that is ours to stop, kill and start again. */
export class RedisServer {
  readonly port: number;
  readonly #settings: readonly string[];
  #guard: ChildProcess | undefined;
  #pid = 0;

  constructor(port: number, settings: readonly string[]) {
    this.port = port;
    this.#settings = settings;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  async start(): Promise<void> {
    const guard = spawn("sh", ["-c", GUARD, "guard", program(), "--port", String(this.port), ...this.#settings], {
      stdio: ["pipe", "pipe", "ignore"],
    });
    guard.unref();
    this.#guard = guard;
    const [line] = (await once(guard.stdout, "data")) as [Buffer];
    guard.stdout.destroy();
    this.#pid = Number(line.toString());
    await answers(this.port).catch(async (error: unknown) => {
      await this.stop();
      throw error;
    });
  }

  /** Ends the server at once, as a crash would. */
  async kill(): Promise<void> {
    this.#signal("SIGKILL");
    await this.stop();
  }

  async stop(): Promise<void> {
    const guard = this.#guard;
    if (guard === undefined) return;
    this.#guard = undefined;
    guard.stdin?.end();
    if (guard.exitCode === null) await once(guard, "exit");
  }

  /** Stops the server's whole process, as a machine that hangs would: connections stay open and nothing answers. */
  freeze(): void {
    this.#signal("SIGSTOP");
  }

  thaw(): void {
    this.#signal("SIGCONT");
  }

  /** Only to a server of which the process is known: 0 would be the caller's own group. */
  #signal(signal: NodeJS.Signals): void {
    if (this.#guard === undefined || !(this.#pid > 0)) throw new Error("The Redis server is not running");
    process.kill(this.#pid, signal);
  }
}

/**
 * Starts the server, says its process id, and waits for the test process to let go of the pipe, which it does however it ends.
 * Then the server ends and its folder goes.
 */
const GUARD = `
dir=$(mktemp -d)
"$@" --dir "$dir" >/dev/null 2>&1 &
server=$!
echo $server
cat >/dev/null
kill -CONT $server 2>/dev/null
kill $server 2>/dev/null
wait $server 2>/dev/null
rm -rf "$dir"
`;

const SETTINGS = ["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--protected-mode", "no"];

/** Starts a server of our own. */
export async function startRedis(...settings: string[]): Promise<RedisServer> {
  const server = new RedisServer(await freePort(), [...SETTINGS, ...settings]);
  await server.start();
  return server;
}

/** The server for ordinary tests: the one that REDIS_URL names, else one of our own. */
export async function provideRedis(): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const url = process.env["REDIS_URL"];
  if (url !== undefined && url !== "") return { url, stop: () => Promise.resolve() };
  return startRedis();
}

/** Masters that share the slots. Resolves once each of them knows that the cluster is whole. */
export async function startCluster(size = 3): Promise<{ readonly nodes: readonly RedisServer[]; stop(): Promise<void> }> {
  const nodes = await Promise.all(Array.from({ length: size }, () => startClusterNode()));
  const clients = nodes.map((node) => new Redis(node.port));
  const [first] = clients;
  await Promise.all(clients.map((client, at) => client.call("cluster", "addslots", ...slots(at, size))));
  for (const [at, client] of clients.entries()) await client.call("cluster", "set-config-epoch", at + 1);
  for (const { port } of nodes.slice(1)) await first?.call("cluster", "meet", "127.0.0.1", port);
  for (const client of clients) await whole(client, size);
  for (const client of clients) client.disconnect();
  return { nodes, stop: async () => void (await Promise.all(nodes.map((node) => node.stop()))) };
}

async function startClusterNode(): Promise<RedisServer> {
  const port = await freePort({ withBus: true });
  const server = new RedisServer(port, [...SETTINGS, "--cluster-enabled", "yes", "--cluster-node-timeout", "30000"]);
  await server.start();
  return server;
}

const SLOTS = 16_384;

function slots(part: number, parts: number): number[] {
  const [from, to] = [Math.floor((SLOTS * part) / parts), Math.floor((SLOTS * (part + 1)) / parts)];
  return Array.from({ length: to - from }, (_, at) => from + at);
}

async function whole(client: Redis, size: number): Promise<void> {
  await until("the cluster to be whole", async () => {
    const info = String(await client.call("cluster", "info"));
    return info.includes("cluster_state:ok") && info.includes("cluster_slots_ok:16384") && info.includes(`cluster_known_nodes:${size}`);
  });
}

async function answers(port: number): Promise<void> {
  const client = new Redis(port, { lazyConnect: true, retryStrategy: () => 10, maxRetriesPerRequest: null });
  client.on("error", () => {}); // it is not up yet
  await until(`a Redis on port ${port}`, async () => (await client.ping()) === "PONG");
  client.disconnect();
}

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + START_LIMIT_MS;
  while (!(await Promise.race([holds(), wait(START_LIMIT_MS, false)]))) {
    if (performance.now() > deadline) throw new Error(`Waited ${START_LIMIT_MS} ms for ${what}, in vain.`);
    await wait(20);
  }
}

function program(): string {
  for (const name of PROGRAMS) {
    for (const folder of (process.env["PATH"] ?? "").split(delimiter)) {
      if (runs(join(folder, name))) return name;
    }
  }
  throw new Error(`These tests need a real Redis: put ${PROGRAMS.join(" or ")} on the PATH (Debian: apt-get install redis-server).`);
}

function runs(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** A free port; with `withBus`, one whose cluster bus, 10000 above it, is free as well. */
async function freePort({ withBus = false } = {}): Promise<number> {
  for (;;) {
    const port = withBus ? 10_000 + Math.floor(Math.random() * 20_000) : 0;
    const free = await bind(port);
    if (free === undefined) continue;
    if (!withBus || (await bind(free + 10_000)) !== undefined) return free;
  }
}

/** Takes a port for a moment, and tells which; undefined when it is in use. */
function bind(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(undefined));
    server.listen(port, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : undefined));
    });
  });
}
