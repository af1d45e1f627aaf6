import { DefinitionError } from "../errors.js";
import { checkInteger, checkOptions, checkWord, describe } from "../support/check.js";
import { toMs, type Duration } from "../support/duration.js";
import type { ConnectionOptions, PostgresConnectionOptions } from "./driver.js";

/** What `bullmqEngine` takes. */
export type BullmqOptions = RedisBackend | PostgresBackend;

interface RedisBackend extends SharedOptions {
  /** @default "redis" */
  readonly backend?: "redis";
  /** A URL, options of ioredis, or a client; a client for workers must have `maxRetriesPerRequest: null`. */
  readonly connection: string | ConnectionOptions;
  /** What all keys on the server begin with. On a cluster it needs a hash tag, `"{bull}"`. @default "bull" */
  readonly prefix?: string;
}

interface PostgresBackend extends SharedOptions {
  readonly backend: "postgres";
  /** A URL, options of `pg`, or a `pg.Pool` whose `search_path` is the schema. */
  readonly connection: PostgresConnectionOptions;
  /** The schema that BullMQ's tables are in. @default "bullmq" */
  readonly schema?: string;
  /** Makes the tables, or brings them up to date, at the first connection. It is yours to do where `connection` is a pool. @default true */
  readonly migrate?: boolean;
}

interface SharedOptions {
  /** How long a call of the storage may take. A little less than the queue's `timeout`, so that an error tells why. @default 4 (seconds, or a text with a unit) */
  readonly timeLimit?: Duration;
  /**
   * How long a worker holds a job without renewing its hold, which it does at half of it. On PostgreSQL no less than 10 s: its calls may
   * wait for each other for seconds.
   *
   * @default 30
   */
  readonly lease?: Duration;
  /** How often jobs whose worker has died are looked for. @default 30 */
  readonly stallCheck?: Duration;
  /** How often the workers of one job may die before it is dead. @default 1 */
  readonly maxStalls?: number;
  /** How often a worker asks whether its jobs are to be cancelled. @default 1 */
  readonly cancelCheck?: Duration;
}

/** The options, complete and in milliseconds. */
export interface Settings {
  readonly backend: "redis" | "postgres";
  readonly connection: unknown;
  readonly prefix: string | undefined;
  readonly schema: string | undefined;
  readonly migrate: boolean;
  readonly timeLimitMs: number;
  readonly leaseMs: number;
  readonly stallCheckMs: number;
  readonly maxStalls: number;
  readonly cancelCheckMs: number;
}

const SHARED = ["backend", "connection", "timeLimit", "lease", "stallCheck", "maxStalls", "cancelCheck"];

/** @throws {DefinitionError} for what cannot be meant. */
export function settingsOf(options: BullmqOptions): Settings {
  checkOptions("bullmqEngine()", options, [...SHARED, "prefix", "schema", "migrate"]);
  const { backend = "redis", connection, timeLimit = 4, lease = 30, stallCheck = 30, maxStalls = 1, cancelCheck = 1 } = options;
  checkWord("backend", backend, ["redis", "postgres"]);
  checkOptions(`bullmqEngine() with the backend "${backend}"`, options, [
    ...SHARED,
    ...(backend === "redis" ? ["prefix"] : ["schema", "migrate"]),
  ]);
  const given: unknown = connection; // callers who write JavaScript give what they like
  if ((typeof given !== "string" || given === "") && (typeof given !== "object" || given === null)) {
    throw new DefinitionError(
      `bullmqEngine() needs a connection, got ${describe(given)}. Give a URL, the options of the client, or a client that is connected.`,
    );
  }
  return {
    backend,
    connection,
    prefix: "prefix" in options ? options.prefix : undefined,
    schema: "schema" in options ? options.schema : undefined,
    migrate: "migrate" in options ? (options.migrate ?? true) : true,
    timeLimitMs: toMs("timeLimit", timeLimit),
    leaseMs: toMs("lease", lease),
    stallCheckMs: toMs("stallCheck", stallCheck),
    maxStalls: checkInteger("maxStalls", maxStalls, 0),
    cancelCheckMs: toMs("cancelCheck", cancelCheck),
  };
}

/**
 * A worker waits for jobs in a call that may take as long as it likes.
 *
 * @throws {DefinitionError} when it was handed a Redis client that gives up before.
 */
export function checkForWorkers({ backend, connection }: Settings): void {
  if (backend !== "redis" || typeof connection !== "object" || connection === null || !("options" in connection)) return;
  const { options } = connection;
  if (typeof options !== "object" || options === null || !("maxRetriesPerRequest" in options)) return;
  if (options.maxRetriesPerRequest === null) return;
  throw new DefinitionError(
    `bullmqEngine(): the client that workers are to use has maxRetriesPerRequest ${describe(options.maxRetriesPerRequest)}, and must have null. ` +
      "Give a URL, or a client of its own: the one of a store gives up sooner.",
  );
}
