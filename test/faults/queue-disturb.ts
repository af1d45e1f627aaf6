import { randomUUID } from "node:crypto";
import { Task } from "taskwright";
import { bullmqEngine, type BullmqOptions } from "taskwright/bullmq";
import { Queue } from "taskwright/queue";
import { expect } from "vitest";
import { z } from "zod";
import { quietClient } from "../scenarios/fixtures/stores.js";
import { startRedis } from "../support/redis.js";
import { eventually } from "../bullmq/jobs.js";
import { jobAccountOf, jobSummary, readLines, type JobAccount, type JobLine, type Standing } from "./queue-account.js";
import { QueueCrew } from "./queue-crew.js";
import { IMPATIENT, TIMEOUT_MS } from "./queue-settings.js";

/** What a test does to the server, with what it needs. */
export interface Disturbance {
  readonly crew: QueueCrew;
  /** Says in the ledger that something is done which may cost leases, from its beginning to its end. */
  disturbing(what: string, body: () => Promise<unknown>): Promise<void>;
  killed(pid: number): Promise<void>;
}

export interface Disturbed {
  readonly account: JobAccount;
  /** Keys that nobody could have when all jobs had ended. */
  readonly heldKeys: readonly string[];
  /** How each process ended: 0, unless something is wrong. */
  readonly exits: readonly unknown[];
}

/** All jobs have come to an end by then. */
const DRAIN_LIMIT_MS = 120_000;

type Backend = { readonly backend: "redis" | "postgres"; readonly connection: string };

/** Has a crew at work on a queue while its server is disturbed, and reads the ledger when all jobs have come to an end. */
export async function disturbQueue(
  what: string,
  { seed, size = 2, ...backend }: Backend & { readonly seed: number; readonly size?: number },
  disturbance: (tools: Disturbance) => Promise<void>,
): Promise<Disturbed> {
  const ledger = await startRedis();
  const engine: BullmqOptions = { ...backend, ...IMPATIENT };
  const namespace = `faults-${randomUUID()}`;
  try {
    const crew = await QueueCrew.start(size, { engine, namespace, ledgerPort: ledger.port, seed });
    await disturbance({ crew, ...scribe(ledger.port) });
    const troubles = await crew.idle();
    const outsider = new Queue({ engine: bullmqEngine({ ...backend, timeLimit: "20s" }), namespace, timeout: "25s" });
    await drained(outsider, ledger.port);
    const exits = await crew.end();
    const lines = await readLines(ledger.port);
    const account = jobAccountOf(lines, await standingOf(outsider, lines));
    const heldKeys = await keysHeld(outsider, lines);
    await outsider.close();
    console.log(
      `${what} (seed ${seed}): ${jobSummary(account)}; ${heldKeys.length} keys held; workers were told: ${JSON.stringify(troubles)}`,
    );
    return { account, heldKeys, exits };
  } finally {
    await ledger.stop();
  }
}

/** What is promised while the storage forgets nothing, whatever else happens. */
export function expectQueueKept({ account, heldKeys, exits }: Disturbed): void {
  const { lost, doubles, overlaps, needless, untrue, stale, wrong } = account;
  expect({ lost, doubles, overlaps, needless, untrue, stale, wrong, heldKeys }).toEqual({
    lost: [],
    doubles: [],
    overlaps: [],
    needless: [],
    untrue: [],
    stale: [],
    wrong: [],
    heldKeys: [],
  });
  expect(account.longestMs).toBeLessThan(TIMEOUT_MS + OUTER_MS);
  expect(exits.filter((exit) => exit !== 0)).toEqual([]);
}

/** How late a process may be that shares a busy machine with others. */
const OUTER_MS = 3_000;

/** Writes the test's own lines. */
function scribe(ledgerPort: number): Pick<Disturbance, "disturbing" | "killed"> {
  const write = async (line: object): Promise<void> => {
    const client = quietClient(ledgerPort);
    const [seconds, micros] = await client.time();
    await client.rpush("ledger", `${Number(seconds) * 1_000_000 + Number(micros)} ${JSON.stringify({ pid: process.pid, ...line })}`);
    client.disconnect();
  };
  return {
    async disturbing(what, body) {
      const began = performance.now();
      await body();
      await write({ kind: "disturbed", what, ms: Math.ceil(performance.now() - began) });
    },
    killed: (pid) => write({ kind: "killed", pid }),
  };
}

class Act extends Task.with({ name: "Act", input: z.object({ key: z.string().optional() }) }) {
  work(): void {}
}

/** Every job that somebody may have enqueued, acknowledged or not. */
function idsOf(lines: readonly JobLine[]): readonly string[] {
  return [...new Set(lines.flatMap((line) => (line.kind === "call" ? [line.id] : line.kind === "accepted" ? [line.job] : [])))];
}

async function drained(queue: Queue, ledgerPort: number): Promise<void> {
  const ended = new Set<string>();
  const ids = idsOf(await readLines(ledgerPort));
  await eventually(
    "all jobs to come to an end",
    async () => {
      for (const id of ids) {
        if (ended.has(id)) continue;
        const job = await queue.job(id);
        if (job?.state === "pending" || job?.state === "running") return false;
        ended.add(id);
      }
      return true;
    },
    DRAIN_LIMIT_MS,
  );
}

async function standingOf(queue: Queue, lines: readonly JobLine[]): Promise<ReadonlyMap<string, Standing | undefined>> {
  const standing = new Map<string, Standing | undefined>();
  for (const id of idsOf(lines)) {
    const job = await queue.job(id);
    standing.set(id, job && { state: job.state, reason: job.reason });
  }
  return standing;
}

/** Tries each key. No worker is there any more, so what is enqueued holds its key. */
async function keysHeld(queue: Queue, lines: readonly JobLine[]): Promise<readonly string[]> {
  const keys = new Set(lines.flatMap((line) => (line.kind === "call" && line.key !== undefined ? [line.key] : [])));
  const entries = [...keys].map((key) => ({ input: { key }, uniqueKey: key }));
  const handles = await queue.enqueueMany(Act, entries);
  return [...keys].filter((_, at) => handles[at]?.coalesced !== false);
}
