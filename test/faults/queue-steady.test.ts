import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { bullmqEngine, type BullmqOptions } from "taskwright/bullmq";
import type { Engine, Verdict } from "taskwright/queue";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { eventually, handlerOf, jobOf, namespaceOf } from "../bullmq/jobs.js";
import { PausePoint } from "../support/builders.js";
import { OwnPostgres } from "./queue-postgres.js";

/** Moments at which PostgreSQL fails, one by one. */

let server: OwnPostgres;
const engines: Engine[] = [];
beforeAll(async () => {
  server = await OwnPostgres.start();
}, 60_000);
afterEach(async () => {
  for (const engine of engines.splice(0)) await engine.close();
});
afterAll(() => server.remove());

function open(namespace: string, options: Partial<BullmqOptions> = {}): Engine {
  const engine = bullmqEngine({ backend: "postgres", connection: server.url, timeLimit: "2s", ...options } as BullmqOptions)(namespace); // of one backend
  engines.push(engine);
  return engine;
}

/** The processes of the server whose requests with these words wait for a lock, once there is one. */
function waiting(words: string): Promise<readonly { readonly pid: number }[]> {
  return eventually(`a request with ${words} to wait for a lock`, async () => {
    await server.ask("SELECT pg_stat_clear_snapshot()"); // a transaction looks only once
    const sql = "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE $1";
    const found = await server.ask<{ pid: number }>(sql, [`%${words}%`]);
    return found.length > 0 && found;
  });
}

/** Breaks the connection on which a request with these words is made by `action`. */
async function whileCut(words: string, action: () => void): Promise<void> {
  await server.ask("BEGIN");
  await server.ask("LOCK TABLE bullmq.job IN ACCESS EXCLUSIVE MODE");
  try {
    action();
    for (const { pid } of await waiting(words)) await server.ask("SELECT pg_terminate_backend($1)", [pid]);
  } finally {
    await server.ask("ROLLBACK");
  }
}

/** Has a job work, and breaks the connection on which its end is written. If it is run again, it succeeds. */
async function withEndCut(verdict: Verdict): Promise<{ readonly engine: Engine; readonly id: string; readonly runs: number }> {
  const engine = open(namespaceOf());
  const atWork = new PausePoint();
  let runs = 0;
  const handler = handlerOf(async () => {
    runs += 1;
    await atWork.pass();
    return runs === 1 ? verdict : { kind: "completed", answer: "done" };
  });
  await engine.work(handler, { concurrency: 1 });
  const job = jobOf({ key: "k" });
  await engine.enqueue([job]);
  await atWork.reached;
  await whileCut("move_to_", () => atWork.resume());
  await engine.settled(job.id, { timeoutMs: 20_000 });
  return { engine, id: job.id, runs };
}

test("work that succeeded is completed, though the connection broke on which that was written", async () => {
  const { engine, id, runs } = await withEndCut({ kind: "completed", answer: "done" });
  expect(await engine.get(id)).toMatchObject({ state: "completed", answer: "done", attempts: 1 });
  expect(runs).toBe(1);
  expect(await engine.holder("k")).toBeUndefined();
});

test("work that failed is dead for its own reason, though the connection broke on which that was written", async () => {
  const { engine, id, runs } = await withEndCut({ kind: "failed", answer: "", reason: "declined", retry: true });
  expect(await engine.get(id)).toMatchObject({ state: "dead", reason: "declined", attempts: 1 });
  expect(runs).toBe(1);
  expect(await engine.holder("k")).toBeUndefined();
});

test("work that is handed back runs again, and that is the same attempt, though the connection broke on which that was written", async () => {
  const { engine, id, runs } = await withEndCut({ kind: "handed_back", delayMs: 0 });
  expect(await engine.get(id)).toMatchObject({ state: "completed", answer: "done", attempts: 1 });
  expect(runs).toBe(2);
  expect(await engine.holder("k")).toBeUndefined();
});

test("a job that reaches a worker which is stopping waits as before, though the connection broke on which it is put back", async () => {
  const namespace = namespaceOf();
  const line = await SlowLine.before(server.port);
  const url = server.url.replace(String(server.port), String(line.port));
  const worker = await open(namespace, { connection: url }).work(handlerOf(), { concurrency: 1 });
  const engine = open(namespace);
  const job = jobOf({ key: "k" });
  await eventually("the worker to wait for a job", () => line.has("LISTEN"));
  line.holdAnswersTo("move_to_active");
  await engine.enqueue([job]);
  await eventually("the job to be taken", async () => (await engine.get(job.id))?.state === "running");
  const stopped = worker.stop({ graceMs: 10_000 });
  await whileCut("move_active_to_wait", () => line.release());
  await stopped;

  expect(await engine.get(job.id)).toMatchObject({ state: "pending", attempts: 0 });
  expect(await engine.holder("k")).toBe(job.id);
  await engine.work(handlerOf(), { concurrency: 1 });
  expect(await engine.settled(job.id, { timeoutMs: 20_000 })).toMatchObject({ state: "completed", attempts: 1 });
  line.close();
});

test("an attempt begins, though the connection broke on which the last one's progress is taken back", async () => {
  const namespace = namespaceOf();
  const line = await SlowLine.before(server.port);
  const url = server.url.replace(String(server.port), String(line.port));
  const atWork = new PausePoint();
  const ran: number[] = [];
  const handler = handlerOf(async ({ attempt, progress }) => {
    ran.push(attempt);
    if (attempt > 1) return { kind: "completed", answer: "done" };
    await progress(50);
    await atWork.pass();
    return { kind: "failed", answer: "", reason: "declined", retry: true };
  });
  const worker = await open(namespace, { connection: url }).work(handler, { concurrency: 1 });
  const engine = open(namespace);
  const job = jobOf({ attempts: 2 });
  await engine.enqueue([job]);
  await atWork.reached;
  line.holdAnswersTo("move_to_active");
  atWork.resume();
  await eventually("the second attempt to be taken", async () => {
    const record = await engine.get(job.id);
    return record?.state === "running" && record.attempts === 2;
  });
  await whileCut("update_progress", () => line.release());

  expect(await engine.settled(job.id, { timeoutMs: 20_000 })).toMatchObject({ state: "completed", attempts: 2 });
  expect(ran).toEqual([1, 2]);
  await worker.stop({ graceMs: 0 });
  line.close();
});

test("who asks for a job while an attempt of it fails is not told of an attempt that nobody has begun", async () => {
  const namespace = namespaceOf();
  const line = await SlowLine.before(server.port);
  const slow = open(namespace, { connection: server.url.replace(String(server.port), String(line.port)) });
  const engine = open(namespace);
  const atWork = new PausePoint();
  const handler = handlerOf(async () => {
    await atWork.pass();
    return { kind: "failed", answer: "", reason: "declined", retry: true };
  });
  await engine.work(handler, { concurrency: 1 });
  const job = jobOf({ attempts: 2, backoff: { type: "fixed", delayMs: 60_000 } });
  await engine.enqueue([job]);
  await atWork.reached;
  line.holdAnswersTo("SELECT state, priority");
  const asked = slow.get(job.id);
  await eventually("the state to be asked for", () => line.has("SELECT state, priority"));
  atWork.resume();
  await eventually("the attempt to fail", async () => (await engine.get(job.id))?.state === "pending");
  line.release();

  expect(await asked).toMatchObject({ state: "pending", attempts: 1 });
  line.close();
});

test("an engine whose first call found no server works once there is one, and its worker takes jobs again soon", async () => {
  const namespace = namespaceOf();
  const worker = await open(namespace).work(handlerOf(), { concurrency: 1 });
  await server.end("immediate");
  const engine = open(namespace);
  const job = jobOf({ key: "k" });
  await expect(engine.enqueue([job])).rejects.toThrow("To enqueue Task failed: PostgreSQL");
  await wait(100); // the worker asks meanwhile, and finds nobody
  await server.start();

  expect(await engine.enqueue([job])).toEqual([{ id: job.id, coalesced: false }]);
  expect(await engine.settled(job.id, { timeoutMs: 10_000 })).toMatchObject({ state: "completed" });
  await worker.stop({ graceMs: 0 });
});

test("a worker that hears of its job only when another has done it leaves it alone", async () => {
  const namespace = namespaceOf();
  const brief = { lease: "1500ms", stallCheck: "300ms" } as const;
  const line = await SlowLine.before(server.port);
  const url = server.url.replace(String(server.port), String(line.port));
  const ran: string[] = [];
  const runs = (who: string) => handlerOf(({ payload }) => (ran.push(`${who} ${payload}`), { kind: "completed", answer: "" }));

  const late = await open(namespace, { ...brief, connection: url }).work(runs("late"), { concurrency: 1 });
  const engine = open(namespace, brief);
  const job = jobOf({ payload: "first" });
  await eventually("the worker to wait for a job", () => line.has("LISTEN"));
  line.holdAnswersTo("move_to_active");
  await engine.enqueue([job]);
  await eventually("the job to be taken", async () => (await engine.get(job.id))?.state === "running");
  const other = await engine.work(runs("other"), { concurrency: 1 });
  expect(await engine.settled(job.id, { timeoutMs: 20_000 })).toMatchObject({ state: "completed" });
  await other.stop({ graceMs: 0 });
  line.release();
  const next = jobOf({ payload: "second" });
  await engine.enqueue([next]);
  await engine.settled(next.id, { timeoutMs: 20_000 });

  expect(ran).toEqual(["other first", "late second"]);
  await late.stop({ graceMs: 0 });
  line.close();
});

test("connections that break in the very moment in which they are made end no process, and cost nothing but the call", async () => {
  const namespace = namespaceOf();
  const line = await SlowLine.before(server.port);
  const engine = open(namespace, { connection: server.url.replace(String(server.port), String(line.port)) });
  line.breakNew(1);
  await expect(engine.enqueue([jobOf()])).rejects.toThrow("PostgreSQL refused it");
  const worker = await engine.work(handlerOf(), { concurrency: 1 });
  await eventually("the worker to wait for a job", () => line.has("LISTEN"));
  line.breakNew(4); // the one by which the worker waits is among them
  await server.dropClients();
  await eventually("four connections to be made and broken", async () => {
    await engine.get("any").catch(() => undefined);
    return line.toBreak === 0;
  });

  const job = jobOf();
  await eventually("an answer", () => engine.enqueue([job]).catch(() => undefined));
  expect(await engine.settled(job.id, { timeoutMs: 20_000 })).toMatchObject({ state: "completed" });
  await worker.stop({ graceMs: 0 });
  line.close();
});

/** What a server says that shuts down, as PostgreSQL frames it. */
const FATAL = ((fields: string): Buffer => {
  const length = Buffer.alloc(4);
  length.writeInt32BE(4 + Buffer.byteLength(fields));
  return Buffer.concat([Buffer.from("E"), length, Buffer.from(fields)]);
})("SFATAL\0C57P01\0Mterminating connection due to administrator command\0\0");

/** The server is ready for the first request. */
const READY = Buffer.from([0x5a, 0, 0, 0, 5, 0x49]);

/** Stands between a client and the server, holds back the answers to some requests, and breaks connections. */
class SlowLine {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #held: (() => void)[] = [];
  toBreak = 0;
  #request: string | undefined;
  #requests = "";

  private constructor(target: number) {
    this.#server = createServer((client) => this.#accept(client, connect(target, "127.0.0.1")));
  }

  static async before(port: number): Promise<SlowLine> {
    const line = new SlowLine(port);
    await new Promise<void>((resolve) => line.#server.listen(0, "127.0.0.1", resolve));
    return line;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port; // it listens on a port, not on a path
  }

  /** Has such a request been sent? */
  has(words: string): boolean {
    return this.#requests.includes(words);
  }

  /** From now on, what comes on a connection after a request with these words is held back. */
  holdAnswersTo(words: string): void {
    this.#request = words;
  }

  /** So many connections are to be ended with the very message in which the server says that it is ready. */
  breakNew(count: number): void {
    this.toBreak = count;
  }

  release(): void {
    this.#request = undefined;
    for (const deliver of this.#held.splice(0)) deliver();
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }

  #accept(client: Socket, server: Socket): void {
    let holds = false;
    let isNew = true;
    client.on("data", (data) => {
      this.#requests += data.toString("latin1");
      holds ||= this.#request !== undefined && data.includes(this.#request);
      server.write(data);
    });
    server.on("data", (data) => {
      const isReady = isNew && data.includes(READY);
      if (isReady) isNew = false;
      if (isReady && this.toBreak > 0) {
        this.toBreak -= 1;
        client.end(Buffer.concat([data, FATAL]));
      } else if (holds && this.#request !== undefined) this.#held.push(() => client.write(data));
      else client.write(data);
    });
    for (const [end, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(end);
      end.on("error", () => other.destroy());
      end.on("close", () => other.destroy());
    }
  }
}
