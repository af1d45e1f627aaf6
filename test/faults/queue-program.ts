// One of several processes on a queue that is disturbed. They enqueue jobs on keys that they share, work on them, and await their results.
// Whatever happens to them they write into a ledger on a server of its own, in the order in which it happens.
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { configure, Task, type Schema } from "taskwright";
import { bullmqEngine } from "taskwright/bullmq";
import { NoResultError, Queue, QueueUnavailableError, type JobHandle, type Worker } from "taskwright/queue";
import { Redis } from "ioredis";
import type { JobLine } from "./queue-account.js";
import { DECLINED, type QueueSettings } from "./queue-settings.js";

const settings = JSON.parse(process.argv[2] ?? "{}") as QueueSettings; // as the test that starts it gives them
const ledger = new Redis(settings.ledgerPort, "127.0.0.1");

// The same numbers for the same seed: a linear congruential generator.
let state = settings.seed;
function chance(): number {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return state / 2 ** 32;
}

/** A line is stamped with the ledger's own time, in microseconds. */
const STAMP = `
local time = redis.call('TIME')
return redis.call('RPUSH', KEYS[1], string.format('%.0f ', time[1] * 1000000 + time[2]) .. ARGV[1])`;
type Written<L> = L extends unknown ? Omit<L, "at" | "pid"> : never;
const write = (line: Written<JobLine>): Promise<unknown> => ledger.eval(STAMP, 1, "ledger", JSON.stringify({ ...line, pid: process.pid }));
const tell = (message: object): void => void process.send?.(message);

/** Takes what comes: programs start sooner without a library that validates. */
const schema: Schema<{ readonly key?: string }> = {
  "~standard": { version: 1, vendor: "test", validate: (value) => ({ value: value as { readonly key?: string } }) }, // what `enqueue` gives
};

class Act extends Task.with({ name: "Act", input: schema }) {
  async work(): Promise<string> {
    const { id: job = "", attempt = 0 } = this.job ?? {};
    const [length, fate, listens] = [chance(), chance(), chance() < 0.5];
    await write({ kind: "start", run: this.runId, job, attempt, key: this.input.key });
    tell({ kind: "working" });
    const ms = length > 0.95 ? settings.longMs : length * settings.workMs;
    await sleep(ms, undefined, listens ? { signal: this.signal } : {}).catch(() => undefined);
    const outcome = listens && this.signal.aborted ? "stopped" : fate < 0.8 ? "success" : "failure";
    await write({ kind: "end", run: this.runId, outcome });
    if (outcome === "stopped") throw this.signal.reason;
    if (outcome === "failure") throw new Error(DECLINED);
    return this.runId;
  }
}

configure(({ telemetry }) => {
  telemetry.subscribe("job_completed", ({ jobId }) => write({ kind: "ended", job: jobId, state: "completed" }));
  telemetry.subscribe("job_dead", ({ jobId }) => write({ kind: "ended", job: jobId, state: "dead" }));
});

const troubles: Record<string, number> = {};
const queue = new Queue({
  engine: bullmqEngine(settings.engine),
  namespace: settings.namespace,
  timeout: settings.timeout,
  onError: ({ message }) => (troubles[message] = (troubles[message] ?? 0) + 1),
});
let over = false;

async function startWorker(): Promise<Worker> {
  for (;;) {
    try {
      return await queue.work([Act], { concurrency: settings.concurrency });
    } catch (error) {
      if (!(error instanceof QueueUnavailableError)) throw error;
    }
  }
}

interface Wanted {
  readonly id: string;
  readonly key: string | undefined;
}

/** One call, and the calls that repeat it with the same ids while it is refused. */
async function enqueue(wanted: readonly Wanted[]): Promise<readonly JobHandle<typeof Act>[]> {
  for (;;) {
    const calls = wanted.map(({ id, key }) => ({ call: randomUUID(), id, key }));
    await Promise.all(calls.map((call) => write({ kind: "call", ...call })));
    const startedAt = performance.now();
    try {
      const handles = await hand(wanted);
      const tookMs = await timed(startedAt);
      const lines = handles.map(({ id, coalesced }, at) => ({ call: calls[at]?.call ?? "", job: id, coalesced, tookMs }));
      await Promise.all(lines.map((line) => write({ kind: "accepted", ...line })));
      return handles;
    } catch (error) {
      if (!(error instanceof QueueUnavailableError)) {
        await write({ kind: "wrong", error: error instanceof Error ? (error.stack ?? "") : String(error) });
        return [];
      }
      await write({ kind: "refused", call: calls[0]?.call ?? "", code: error.code, tookMs: await timed(startedAt) });
      await sleep(chance() * settings.pauseMs);
    }
  }
}

/** How long a call took. Where the storage is slow, leases are lost, and that is told. */
async function timed(startedAt: number): Promise<number> {
  const ms = Math.round(performance.now() - startedAt);
  if (ms > settings.slowMs) await write({ kind: "disturbed", what: "a slow call", ms });
  return ms;
}

async function hand(wanted: readonly Wanted[]): Promise<readonly JobHandle<typeof Act>[]> {
  const entries = wanted.map(({ id, key }) => ({
    input: key === undefined ? {} : { key },
    id,
    attempts: 3,
    backoff: 0.05,
    ...(key !== undefined && { uniqueKey: key }),
  }));
  const [only] = entries;
  if (only === undefined || entries.length > 1) return queue.enqueueMany(Act, entries);
  const { input, ...options } = only;
  return [await queue.enqueue(Act, input, options)];
}

async function awaitResult(handle: JobHandle<typeof Act>): Promise<void> {
  const job = handle.id;
  try {
    const result = await handle.result({ timeout: "20s" });
    if (result.status === "success") return void (await write({ kind: "told", job, what: "success", run: String(result.output) }));
    await write({ kind: "told", job, what: result.status === "failed" ? "failed" : "other", run: result.runId });
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    const isTimeout = error instanceof NoResultError && error.why === "timeout";
    const what = isTimeout ? "timeout" : error instanceof QueueUnavailableError ? "unavailable" : "other";
    await write({ kind: "told", job, what, detail });
  }
}

async function caller(): Promise<void> {
  while (!over) {
    const wanted = Array.from({ length: chance() < 0.1 ? 5 : 1 }, () => ({
      id: randomUUID(),
      key: chance() < 0.85 ? `key_${Math.floor(settings.keys * chance() ** 2)}` : undefined,
    }));
    const [first] = await enqueue(wanted);
    tell({ kind: "accepted" });
    if (first !== undefined && chance() < 0.4) await awaitResult(first);
    if (!over) await sleep(chance() * settings.pauseMs);
  }
}

/** A process that has no time loses leases, and that is told. */
const BEAT_MS = 100;
let beat = performance.now();
const heart = setInterval(() => {
  const ms = Math.round(performance.now() - beat - BEAT_MS);
  beat = performance.now();
  if (ms > settings.slowMs) void write({ kind: "disturbed", what: "no time", ms });
}, BEAT_MS);

const orphaned = (): never => process.exit(1);
process.once("disconnect", orphaned);
const callers = startWorker().then(() => Promise.all(Array.from({ length: settings.callers }, caller)));
/** First the callers are to stop, then, when all jobs have come to an end, the worker. */
process.on("message", ({ kind }: { readonly kind: "idle" | "end" }) => void (kind === "idle" ? idle() : end()));

async function idle(): Promise<void> {
  over = true;
  await callers;
  tell({ kind: "idle", troubles });
}

async function end(): Promise<void> {
  process.off("disconnect", orphaned);
  process.removeAllListeners("message");
  clearInterval(heart);
  await queue.close({ grace: "5s" });
  process.disconnect();
  await ledger.quit();
}
