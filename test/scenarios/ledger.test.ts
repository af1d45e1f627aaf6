import { setTimeout as wait } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startRedis, type RedisServer } from "../support/redis.js";
import { Program } from "./fixtures/package.js";
import { immortalKeys, quietClient } from "./fixtures/stores.js";
import { expectNothingUnhandled } from "./fixtures/watch.js";

expectNothingUnhandled();

const SEED = 20_260_731;
const WORKERS = 6;
const EXECUTES = 200;
const KEYS = 20;
const LEASE_MS = 1_000;
const TTL_MS = 1_500;
/** The workers do as much of their work as they can in this time. */
const LENGTH_MS = 12_000;

let redis: RedisServer;
let ledger: RedisServer;
beforeAll(async () => {
  [redis, ledger] = await Promise.all([startRedis(), startRedis()]);
});
afterAll(async () => {
  await Promise.all([redis.stop(), ledger.stop()]);
});

type Line =
  | { readonly kind: "start"; readonly key: string; readonly owner: string; readonly fence: number; readonly at: number }
  | {
      readonly kind: "end";
      readonly key: string;
      readonly owner: string;
      readonly outcome: "success" | "skip" | "failure";
      readonly at: number;
    }
  | { readonly kind: "lost" | "completed"; readonly key: string; readonly owner: string; readonly at: number };

/** One run, as the ledger tells it. Times are microseconds of one machine, and so are fences: they say when the claim was granted. */
interface LedgerRun {
  readonly key: string;
  readonly grantedAt: number;
  endedAt?: number;
  outcome?: "success" | "skip" | "failure";
  lost?: true;
  completed?: true;
}

/** The same numbers for the same seed. */
function chances(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** One place among the workers: whoever is killed here is followed by another, who goes on where the place stopped. */
class Place {
  left = EXECUTES;
  readonly answers: Record<string, number>;
  #program: Program;
  #atWork = false;
  #onWork: () => void = () => undefined;

  constructor(answers: Record<string, number>, seed: number) {
    this.answers = answers;
    this.#program = this.#start(seed);
  }

  /** Is there somebody who has begun, and has not finished? */
  get busy(): boolean {
    return this.#atWork && this.left > 0;
  }

  /** Resolves when its next work begins, or after a while without any. */
  async work(): Promise<void> {
    await Promise.race([new Promise<void>((resolve) => (this.#onWork = resolve)), wait(500)]);
  }

  async kill(): Promise<void> {
    await this.#program.kill();
  }

  async replace(seed: number): Promise<void> {
    await this.kill();
    this.#program = this.#start(seed);
  }

  #start(seed: number): Program {
    this.#atWork = false;
    const program = new Program("ledger.mjs", {
      port: redis.port,
      ledgerPort: ledger.port,
      seed,
      keys: KEYS,
      executes: this.left,
      options: { ttl: `${TTL_MS}ms`, lease: `${LEASE_MS}ms` },
    });
    program.onMessage((message) => {
      const { kind, answer } = message as { kind: string; answer: string }; // what the program sends
      if (kind === "working") this.#onWork();
      if (kind !== "progress") return;
      this.#atWork = true;
      this.left -= 1;
      this.answers[answer] = (this.answers[answer] ?? 0) + 1;
    });
    return program;
  }
}

/** Workers on shared keys, of whom one or another is killed. */
async function run(): Promise<{ kills: number; answers: Record<string, number> }> {
  const chance = chances(SEED);
  const answers: Record<string, number> = {};
  const places = Array.from({ length: WORKERS }, (_, at) => new Place(answers, SEED + at));
  const busy = (): Place[] => places.filter((place) => place.busy);
  while (busy().length < WORKERS / 2) await wait(20); // a busy machine starts programs slowly
  const deadline = performance.now() + LENGTH_MS;
  let kills = 0;
  while (performance.now() < deadline && places.some(({ left }) => left > 0)) {
    await wait(chance() * 300);
    const victims = busy();
    const victim = victims[Math.floor(chance() * victims.length)];
    if (victim === undefined) continue;
    kills += 1;
    await victim.work();
    await wait(chance() * 80); // at work, at its end, or before the next
    await victim.replace(SEED + WORKERS + kills);
  }
  await Promise.all(places.map((place) => place.kill()));
  return { kills, answers };
}

async function runsByKey(): Promise<LedgerRun[][]> {
  const client = quietClient(ledger.port);
  const lines = (await client.lrange("ledger", 0, -1)).map((line) => JSON.parse(line) as Line); // as the workers write them
  client.disconnect();
  const runs = new Map<string, LedgerRun>();
  for (const line of lines) {
    const found = runs.get(line.owner);
    if (line.kind === "start") runs.set(line.owner, { key: line.key, grantedAt: line.fence });
    else if (found === undefined) continue; // lost before its work began
    else if (line.kind === "end") Object.assign(found, { endedAt: line.at, outcome: line.outcome });
    else if (line.kind === "lost") found.lost = true;
    else found.completed = true;
  }
  const keys = new Map<string, LedgerRun[]>();
  for (const entry of runs.values()) keys.set(entry.key, [...(keys.get(entry.key) ?? []), entry]);
  return [...keys.values()].map((ofKey) => ofKey.toSorted((a, b) => a.grantedAt - b.grantedAt));
}

/** The store counts lives in whole milliseconds, by a clock that it reads at the beginning of a command: two of them may pass. */
function lifeOf(ms: number): number {
  return (ms - 2) * 1_000;
}

/** What the claim after this run must have waited for. */
function freeFrom({ grantedAt, endedAt, lost, completed }: LedgerRun): number {
  if (completed === true && endedAt !== undefined) return endedAt + lifeOf(TTL_MS); // it was recorded after that
  if (lost === true || endedAt === undefined) return grantedAt + lifeOf(LEASE_MS); // it died or was overtaken: a lease at the least
  return endedAt; // freed after its work had ended, or left to its lease by a kill in between
}

test(
  `of workers that are killed at any moment, no two run one key at once, and none runs it again within the retention (seed ${SEED})`,
  { timeout: 120_000 },
  async () => {
    const { kills, answers } = await run();
    const keys = await runsByKey();

    const runs = keys.flat();
    const count = (fits: (entry: LedgerRun) => boolean): number => runs.filter(fits).length;
    console.log(
      `seed ${SEED}: ${kills} kills; answers ${JSON.stringify(answers)}; ` +
        `${runs.length} runs on ${keys.length} keys, ${count(({ completed }) => completed === true)} completed, ` +
        `${count(({ endedAt }) => endedAt === undefined)} killed at work, ${count(({ lost }) => lost === true)} lost`,
    );

    const early = keys.flatMap((ofKey) =>
      ofKey.slice(1).flatMap((later, at) => {
        const before = ofKey[at];
        return before !== undefined && later.grantedAt < freeFrom(before)
          ? [{ before, later, by: freeFrom(before) - later.grantedAt }]
          : [];
      }),
    );
    expect(early).toEqual([]);
    expect(keys.length).toBeGreaterThan(KEYS / 2);
    expect(kills).toBeGreaterThan(2);
    expect(count(({ endedAt }) => endedAt === undefined)).toBeGreaterThan(0);
    expect(count(({ completed }) => completed === true)).toBeGreaterThan(KEYS / 2);
    expect(await immortalKeys(redis.port)).toEqual([]);
  },
);
