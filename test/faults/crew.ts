import { existsSync, renameSync } from "node:fs";
import { join } from "node:path";
import { buildSync } from "esbuild";
import type { IdempotencyOptions, LockOptions } from "taskwright";
import { builtPackage, Program } from "../scenarios/fixtures/package.js";

/** `npm run prove` sets it: as much as the long version has. */
export const LONG: boolean = process.env["TASKWRIGHT_PROVE"] === "long";
export const LEASE_MS = 800;
export const TTL_MS = 1_500;
/** So many runs may send, in all of a test. */
export const LIMIT = 25;

/** What a worker process is told. Times in its options are texts, since they travel as JSON. */
export interface WorkerSettings {
  readonly ports: readonly number[];
  readonly cluster: boolean;
  readonly ledgerPort: number;
  readonly seed: number;
  readonly keys: number;
  /** How many calls are under way at once in each process. */
  readonly callers: number;
  readonly workMs: number;
  /** The length of one work in twenty. */
  readonly longMs: number;
  readonly pauseMs: number;
  readonly limit: number;
  readonly storeTimeout: `${number}ms`;
  readonly grace: `${number}ms`;
  readonly idempotency: IdempotencyOptions;
  readonly lock: LockOptions;
}

const USUAL: Omit<WorkerSettings, "ports" | "ledgerPort" | "seed"> = {
  cluster: false,
  keys: 16,
  callers: 5,
  workMs: 50,
  longMs: 1_200,
  pauseMs: 10,
  limit: LIMIT,
  storeTimeout: "400ms",
  grace: "3000ms",
  idempotency: { ttl: `${TTL_MS}ms`, lease: `${LEASE_MS}ms` },
  lock: { ttl: `${LEASE_MS}ms`, wait: "100ms" },
};

/** The same numbers for the same seed. */
export function chances(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const BUNDLE = "faults-worker.bundle.mjs";
const BANNER = 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);'; // for CommonJS in it

/** The worker's program in one file, with the built package in it: many are started, and so each takes half the time. */
function bundled(): string {
  const folder = join(builtPackage(), "programs");
  const file = join(folder, BUNDLE);
  if (existsSync(file)) return BUNDLE;
  const fresh = `${file}.${process.pid}`;
  const input = join(folder, "faults-worker.mjs");
  const alone = { tsconfigRaw: "{}" }; // the package that was built, not the sources that the repository's paths lead to
  buildSync({ entryPoints: [input], outfile: fresh, bundle: true, platform: "node", format: "esm", banner: { js: BANNER }, ...alone });
  renameSync(fresh, file);
  return BUNDLE;
}

/** A machine that does much else meanwhile ends processes late. */
const END_LIMIT_MS = 30_000;

/** One worker process. */
export class Worker {
  readonly #program: Program;
  #successes = 0;
  #onMessage: () => void = () => undefined;

  constructor(settings: WorkerSettings) {
    this.#program = new Program(bundled(), settings);
    this.#program.onMessage((message) => {
      const { kind, succeeded } = message as { kind: string; succeeded?: boolean }; // what the program sends
      if (kind === "answered" && succeeded === true) this.#successes += 1;
      this.#onMessage();
    });
  }

  get pid(): number {
    return this.#program.pid;
  }

  /** Resolves when its next work begins, or its next run is answered. */
  moves(): Promise<void> {
    return new Promise((resolve) => (this.#onMessage = resolve));
  }

  /** Resolves when it has had so many more successes. */
  async succeeds(times: number): Promise<void> {
    const enough = this.#successes + times;
    while (this.#successes < enough) await this.moves();
  }

  kill(): Promise<void> {
    return this.#program.kill();
  }

  /** Asks it to end, as a deploy does, and answers with its exit code, or with what it said if it did not end. */
  terminate(): Promise<number | string | null> {
    process.kill(this.#program.pid, "SIGTERM");
    return this.#program.end(END_LIMIT_MS);
  }

  /** Has it call no more, and waits until it ends by itself. Fails the test when it does not, or ends in another way. */
  async stop(): Promise<Record<string, number>> {
    this.#program.send({});
    const { storeErrors } = await this.#program.next<{ storeErrors: Record<string, number> }>("done");
    const code = await this.#program.end(END_LIMIT_MS);
    if (code !== 0) throw new Error(`A worker ended with ${code}:\n${this.#program.output}`);
    return storeErrors;
  }
}

/** Worker processes that call without a break. */
export class Crew {
  readonly workers: Worker[];
  readonly #settings: Omit<WorkerSettings, "seed">;
  #seed: number;

  private constructor(size: number, settings: Omit<WorkerSettings, "seed">, seed: number) {
    this.#settings = settings;
    this.#seed = seed;
    this.workers = Array.from({ length: size }, () => this.another());
  }

  /** Resolves when each of them is at its calls. */
  static async start(
    size: number,
    settings: Partial<WorkerSettings> & Pick<WorkerSettings, "ports" | "ledgerPort" | "seed">,
  ): Promise<Crew> {
    const { seed, ...others } = settings;
    const crew = new Crew(size, { ...USUAL, ...others }, seed);
    await crew.succeed(1);
    return crew;
  }

  /** One more process, with a seed of its own. */
  another(): Worker {
    this.#seed += 1;
    return new Worker({ ...this.#settings, seed: this.#seed });
  }

  /** Resolves when each of them has had so many more successes. */
  async succeed(times: number): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.succeeds(times)));
  }

  /** Ends all, and answers with what failed in the store, by operation. */
  async stop(): Promise<Record<string, number>> {
    const all: Record<string, number> = {};
    for (const errors of await Promise.all(this.workers.map((worker) => worker.stop()))) {
      for (const [operation, times] of Object.entries(errors)) all[operation] = (all[operation] ?? 0) + times;
    }
    return all;
  }
}
