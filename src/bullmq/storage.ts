import { nextTick } from "../queue/cron.js";
import { systemClock } from "../support/clock.js";
import { Queue, type ConnectionOptions } from "./driver.js";
import type { Settings } from "./options.js";
import { guardedPostgresBackend } from "./postgres-backend.js";
import { SteadyWorker } from "./steady-worker.js";
import type { JobAnswer, JobData, StoredJob } from "./stored-job.js";

/** BullMQ's classes as they are used here. Their types differ from backend to backend, their methods do not. */
export type BullQueue = Queue<JobData, JobAnswer>;
export type BullWorker = SteadyWorker;

/** How long a worker waits before it asks again for a job, while nobody answers at the storage's port. */
const ASK_AGAIN_MS = 1_000;

/** Ticks of a cron expression are reckoned as every engine reckons them. */
const scheduling = {
  repeatStrategy: (after: number, { pattern, tz }: { pattern?: string; tz?: string }) =>
    pattern === undefined ? undefined : nextTick(pattern, tz, after),
};

/** BullMQ's name of the queue for a namespace. It takes no colon. */
export function queueNameOf(namespace: string): string {
  return namespace.replace(/[%:]/g, encodeURIComponent);
}

export function openQueue(name: string, settings: Settings): BullQueue {
  return new Queue<JobData, JobAnswer>(name, { ...sharedOptions(settings), settings: scheduling }, factoryOf(settings));
}

export function openWorker(
  name: string,
  settings: Settings,
  concurrency: number,
  processor: (job: StoredJob, token: string) => Promise<JobAnswer>,
): BullWorker {
  const options = {
    ...sharedOptions(settings, { maxRetriesPerRequest: null }),
    settings: scheduling,
    concurrency,
    lockDuration: settings.leaseMs,
    stalledInterval: settings.stallCheckMs,
    maxStalledCount: settings.maxStalls,
    runRetryDelay: ASK_AGAIN_MS,
  };
  return new SteadyWorker(name, (job, token = "") => processor(job, token), options, factoryOf(settings));
}

/** `forWorkers` are options that a Redis client of a worker must have; one that is handed over ready has its own. */
function sharedOptions(settings: Settings, forWorkers: object = {}): { connection: ConnectionOptions; prefix?: string } {
  const { backend, connection, prefix } = settings;
  const given = backend === "redis" ? redisConnection(connection, forWorkers) : postgresConnection(settings);
  // Checked by its kind in `settingsOf`; what is in it is between the user and the client.
  return { connection: given as ConnectionOptions, ...(prefix !== undefined && { prefix }) };
}

function redisConnection(connection: unknown, forWorkers: object): unknown {
  if (typeof connection === "string") return { url: connection, ...forWorkers };
  return isPlainOptions(connection) ? { ...connection, ...forWorkers } : connection;
}

function postgresConnection({ connection, schema, migrate }: Settings): unknown {
  const own = { ...(schema !== undefined && { schema }), migrate };
  if (typeof connection === "string") return { connectionString: connection, ...own };
  return isPlainOptions(connection) ? { ...own, ...connection } : connection;
}

/** Options, and not a client or a pool. */
function isPlainOptions(value: unknown): value is object {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

/** The last argument of BullMQ's constructors; without one they take Redis. */
function factoryOf({ backend }: Settings): undefined {
  const factory: unknown = backend === "redis" ? undefined : guardedPostgresBackend;
  return factory as undefined; // as these classes take by default, see above
}

/**
 * Drops the connections of what could not be closed in peace. Which of the two ways works depends on whether there ever was a
 * connection; neither is waited for without end.
 */
export async function letGo(bull: BullQueue | BullWorker, limitMs: number): Promise<void> {
  if (await within(bull.getBackend().close(true), limitMs)) return;
  await within(bull.disconnect(), limitMs);
}

/** Has it come to an end, well or badly, within that time? */
export async function within(end: Promise<unknown>, ms: number): Promise<boolean> {
  let off = (): void => {};
  const late = new Promise<false>((resolve) => (off = systemClock.timer(ms, () => resolve(false))));
  const ended = end.then(
    () => true,
    () => true,
  );
  const answer = await Promise.race([ended, late]);
  off();
  return answer;
}
