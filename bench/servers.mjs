/** A Redis for the rows that need one: that of REDIS_URL, or one of our own on a free port, which ends with this process. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { Redis } from "ioredis";

let started;

/** @returns {Promise<{ url: string; version: string }>} The same server for everybody who asks. */
export function redis() {
  return (started ??= start());
}

/** The server, if anybody has asked for it. */
export function redisIfStarted() {
  return started;
}

/** A client that sends what is asked in one turn of the event loop in one write, as a busy service is advised to. */
export async function client() {
  const { url } = await redis();
  return new Redis(url, { enableAutoPipelining: true });
}

async function start() {
  const url = process.env["REDIS_URL"] || (await ownServer());
  const probe = new Redis(url, { retryStrategy: () => 20, maxRetriesPerRequest: null });
  probe.on("error", () => undefined); // it may not be up yet
  const info = await probe.info("server");
  probe.disconnect();
  return { url, version: /redis_version:(\S+)/.exec(info)?.[1] ?? "unknown" };
}

async function ownServer() {
  const port = await freePort();
  const settings = ["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"];
  const server = spawn("redis-server", settings, { stdio: "ignore" });
  server.on("error", () => {
    console.error("The rows with Redis need redis-server on the PATH, or REDIS_URL.");
    process.exit(1);
  });
  process.on("exit", () => server.kill());
  server.unref();
  await wait(100);
  return `redis://127.0.0.1:${port}`;
}

async function freePort() {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  return port;
}
