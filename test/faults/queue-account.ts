import type { JobState } from "taskwright/queue";
import { quietClient } from "../scenarios/fixtures/stores.js";
import { DECLINED, QUEUE_LEASE_MS } from "./queue-settings.js";

/** What processes write into the ledger, stamped with its time in microseconds. */
export type JobLine = { readonly at: number; readonly pid: number } & (
  | { readonly kind: "call"; readonly call: string; readonly id: string; readonly key: string | undefined }
  | Accepted
  | { readonly kind: "refused"; readonly call: string; readonly code: string; readonly tookMs: number }
  | { readonly kind: "wrong"; readonly error: string }
  | { readonly kind: "start"; readonly run: string; readonly job: string; readonly attempt: number; readonly key: string | undefined }
  | { readonly kind: "end"; readonly run: string; readonly outcome: "success" | "failure" | "stopped" }
  | { readonly kind: "ended"; readonly job: string; readonly state: "completed" | "dead" }
  | Told
  | { readonly kind: "killed" }
  /** Something that may cost leases was done to the server, or befell a process or a call, until then, and took so long. */
  | { readonly kind: "disturbed"; readonly what: string; readonly ms: number }
);

interface Accepted {
  readonly kind: "accepted";
  readonly at: number;
  readonly pid: number;
  readonly call: string;
  readonly job: string;
  readonly coalesced: boolean;
  readonly tookMs: number;
}

/** What a caller who awaited a job was told: a status with the run that had it, or why there is none. */
interface Told {
  readonly kind: "told";
  readonly at: number;
  readonly pid: number;
  readonly job: string;
  readonly what: "success" | "failed" | "timeout" | "unavailable" | "other";
  readonly run?: string;
  readonly detail?: string;
}

/** A job as it stood in the storage when everything was over; undefined when there was none. */
export interface Standing {
  readonly state: JobState;
  readonly reason: string | undefined;
}

/** One attempt that entered its work. */
export interface JobAttempt {
  readonly run: string;
  readonly job: string;
  readonly key: string | undefined;
  readonly pid: number;
  readonly startedAt: number;
  /** Of its work, or of its process. */
  endedAt: number;
  outcome?: "success" | "failure" | "stopped" | "killed";
}

export interface JobAccount {
  readonly attempts: readonly JobAttempt[];
  readonly accepted: readonly Accepted[];
  readonly told: readonly Told[];
  /** How often a call was refused with a typed error, by its code. */
  readonly refused: Readonly<Record<string, number>>;
  /** The longest time that a call took, in milliseconds. */
  readonly longestMs: number;
  /** Jobs that were acknowledged, and are not there any more, or have not come to an end. */
  readonly lost: readonly string[];
  /** Two jobs where one key allows for one. */
  readonly doubles: readonly string[];
  /** One job at work twice, while the first was alive and nothing had cost it its lease. */
  readonly overlaps: readonly string[];
  /** One job at work twice, after the first had lost its lease. */
  readonly overtaken: number;
  /** How often work was done once more though it had succeeded. */
  readonly repeats: number;
  /** The same, where the first was alive and nothing had kept it from telling of its success. */
  readonly needless: readonly string[];
  /** What callers or the storage tell, and is not so. */
  readonly untrue: readonly string[];
  /** Calls that resolved to a job of which it was known that it had ended. */
  readonly stale: readonly string[];
  /** Calls that ended with anything but a job or a typed error. */
  readonly wrong: readonly string[];
}

/** Two stamps of one moment, one before a call and one after, say. */
const SLACK = 50_000;
const LEASE = QUEUE_LEASE_MS * 1_000;

export async function readLines(ledgerPort: number): Promise<readonly JobLine[]> {
  const client = quietClient(ledgerPort);
  const lines = await client.lrange("ledger", 0, -1);
  client.disconnect();
  return lines.map((line) => {
    const space = line.indexOf(" ");
    return { ...(JSON.parse(line.slice(space)) as JobLine), at: Number(line.slice(0, space)) }; // as the processes write them
  });
}

export function jobAccountOf(lines: readonly JobLine[], standing: ReadonlyMap<string, Standing | undefined>): JobAccount {
  const attempts = attemptsOf(lines);
  const accepted = lines.filter((line) => line.kind === "accepted");
  const told = lines.filter((line) => line.kind === "told");
  const refusals = lines.filter((line) => line.kind === "refused");
  const byJob = grouped(attempts, ({ job }) => job);
  const pairs = [...byJob.values()].flatMap(overlapping);
  const again = [...byJob.values()].flatMap(repeated);
  const isDisturbed = disturbances(lines);
  const isExcused = ([first, second]: Pair): boolean =>
    isDisturbed(first.startedAt - LEASE, second.startedAt, (from) => second.startedAt >= Math.min(first.startedAt, from) + LEASE - SLACK);
  const died = new Set(lines.flatMap((line) => (line.kind === "killed" ? [line.pid] : [])));
  return {
    attempts,
    accepted,
    told,
    refused: countBy(refusals.map(({ code }) => code)),
    longestMs: [...accepted, ...refusals].reduce((most, { tookMs }) => Math.max(most, tookMs), 0),
    lost: [...new Set(accepted.map(({ job }) => job))].filter((job) => !hasEnded(standing.get(job))),
    doubles: [...doubledCalls(lines, byJob), ...doubledWorks(attempts, byJob)],
    overlaps: pairs.filter((pair) => !isExcused(pair)).map(describePair),
    overtaken: pairs.filter(isExcused).length,
    repeats: again.length,
    needless: again
      .filter(([first, later]) => !died.has(first.pid) && !isDisturbed(first.startedAt - LEASE, later.startedAt))
      .map(describePair),
    untrue: [...untrueAnswers(told, attempts), ...untrueStandings(standing, byJob)],
    stale: staleAnswers(lines),
    wrong: lines.flatMap((line) => (line.kind === "wrong" ? [line.error] : [])),
  };
}

function hasEnded(standing: Standing | undefined): boolean {
  return standing !== undefined && standing.state !== "pending" && standing.state !== "running";
}

function attemptsOf(lines: readonly JobLine[]): readonly JobAttempt[] {
  const attempts = new Map<string, JobAttempt>();
  for (const line of lines) {
    if (line.kind === "start") {
      const { run, job, key, pid, at } = line;
      attempts.set(run, { run, job, key, pid, startedAt: at, endedAt: Number.POSITIVE_INFINITY });
    } else if (line.kind === "end") {
      Object.assign(attempts.get(line.run) ?? {}, { endedAt: line.at, outcome: line.outcome });
    } else if (line.kind === "killed") {
      for (const attempt of attempts.values())
        if (attempt.pid === line.pid && attempt.outcome === undefined) Object.assign(attempt, { endedAt: line.at, outcome: "killed" });
    }
  }
  return [...attempts.values()];
}

type Pair = readonly [JobAttempt, JobAttempt];

/** Attempts of one job, of which the second began while the first was at work and alive. */
function overlapping(attempts: readonly JobAttempt[]): readonly Pair[] {
  return attempts.flatMap((first, at) =>
    attempts
      .slice(at + 1)
      .flatMap((second): Pair[] => (second.startedAt < first.endedAt && first.outcome !== "killed" ? [[first, second]] : [])),
  );
}

/**
 * Tells whether something was done, or befell somebody, between two moments. A worker renews its lease in time, unless something keeps it
 * from that: so only this excuses an overlap, and not before a lease was over. A lease may have been got long before the work began, where
 * the server stood still in between.
 */
function disturbances(lines: readonly JobLine[]): (since: number, until: number, fits?: (from: number) => boolean) => boolean {
  const all = lines.flatMap((line) => (line.kind === "disturbed" ? [{ from: line.at - line.ms * 1_000, to: line.at }] : []));
  return (since, until, fits = () => true) => all.some(({ from, to }) => to >= since && from <= until && fits(from));
}

/** Until when a job had its key for certain: the end of its success, or else the beginning of its last attempt. */
function heldUntil(attempts: readonly JobAttempt[] = []): number {
  const successes = attempts.filter(({ outcome }) => outcome === "success").map(({ endedAt }) => endedAt);
  const starts = attempts.map(({ startedAt }) => startedAt);
  return successes.length > 0 ? Math.min(...successes) : Math.max(0, ...starts);
}

/** Calls that were made and answered while another job had their key for certain, and yet got one of their own. */
function doubledCalls(lines: readonly JobLine[], byJob: ReadonlyMap<string, readonly JobAttempt[]>): readonly string[] {
  const firstCallOf = new Map<string, { readonly at: number; readonly key: string | undefined }>();
  const idOf = new Map<string, string>();
  const acknowledged = new Map<string, Map<string, number>>();
  const faults: string[] = [];
  for (const line of lines) {
    if (line.kind === "call") {
      idOf.set(line.call, line.id);
      if (!firstCallOf.has(line.id)) firstCallOf.set(line.id, line);
    } else if (line.kind === "accepted") {
      const { at = 0, key } = firstCallOf.get(idOf.get(line.call) ?? "") ?? {};
      if (key === undefined) continue;
      const others = acknowledged.get(key) ?? new Map<string, number>();
      acknowledged.set(key, others);
      for (const [job, since] of others)
        if (job !== line.job && since < at && line.at < heldUntil(byJob.get(job)))
          faults.push(`${line.job} was answered, while ${job} had ${key}`);
      if (!others.has(line.job)) others.set(line.job, line.at);
    }
  }
  return faults;
}

/** Two jobs of one key at work at once, unless the first one's attempt had been taken over by another. */
function doubledWorks(attempts: readonly JobAttempt[], byJob: ReadonlyMap<string, readonly JobAttempt[]>): readonly string[] {
  const keyed = grouped(
    attempts.filter(({ key }) => key !== undefined),
    ({ key }) => key,
  );
  return [...keyed.values()].flatMap((ofKey) =>
    overlapping(ofKey)
      .filter(([first, second]) => first.job !== second.job && !isTakenOver(first, second, byJob))
      .map(describePair),
  );
}

function isTakenOver(first: JobAttempt, second: JobAttempt, byJob: ReadonlyMap<string, readonly JobAttempt[]>): boolean {
  return (byJob.get(first.job) ?? []).some(({ startedAt }) => startedAt > first.startedAt && startedAt < second.startedAt);
}

/** Attempts that came after a success. */
function repeated(attempts: readonly JobAttempt[]): readonly Pair[] {
  const success = attempts.find(({ outcome }) => outcome === "success");
  if (success === undefined) return [];
  return attempts.filter(({ startedAt }) => startedAt > success.endedAt).map((later) => [success, later]);
}

function untrueAnswers(told: readonly Told[], attempts: readonly JobAttempt[]): readonly string[] {
  const byRun = new Map(attempts.map((attempt) => [attempt.run, attempt]));
  return told.flatMap((answer) => {
    const { what, job, run = "" } = answer;
    if (what === "timeout" || what === "unavailable") return [];
    const attempt = byRun.get(run);
    const outcome = what === "success" ? "success" : "failure";
    return what !== "other" && attempt?.job === job && attempt.outcome === outcome ? [] : [JSON.stringify(answer)];
  });
}

function untrueStandings(
  standing: ReadonlyMap<string, Standing | undefined>,
  byJob: ReadonlyMap<string, readonly JobAttempt[]>,
): readonly string[] {
  return [...standing].flatMap(([job, stands]) => {
    const outcomes = (byJob.get(job) ?? []).map(({ outcome }) => outcome);
    if (stands?.state === "completed" && !outcomes.includes("success")) return [`${job} is completed, and its work never was`];
    if (stands?.state === "dead" && stands.reason !== DECLINED) return [`${job} is dead by what is none of its work: ${stands.reason}`];
    if (stands?.state === "dead" && !outcomes.includes("failure")) return [`${job} is dead, and its work never failed`];
    return [];
  });
}

/** A worker had told of the job's end before the call was first made. One that is repeated with its ids is answered as before. */
function staleAnswers(lines: readonly JobLine[]): readonly string[] {
  const ended = new Map<string, number>();
  const idOf = new Map<string, string>();
  const calledAt = new Map<string, number>();
  const faults: string[] = [];
  for (const line of lines) {
    if (line.kind === "ended" && !ended.has(line.job)) ended.set(line.job, line.at);
    if (line.kind === "call") idOf.set(line.call, line.id);
    if (line.kind === "call" && !calledAt.has(line.id)) calledAt.set(line.id, line.at);
    if (line.kind !== "accepted" || !line.coalesced) continue;
    const over = ended.get(line.job) ?? Number.POSITIVE_INFINITY;
    if (over < (calledAt.get(idOf.get(line.call) ?? "") ?? 0)) faults.push(`${line.call} resolved to ${line.job}, which had ended`);
  }
  return faults;
}

function describePair([first, second]: Pair): string {
  const ms = (at: number): number => Math.round((at - first.startedAt) / 1_000);
  return `${second.job} (${second.key}, pid ${second.pid}) began ${ms(second.startedAt)} ms after ${first.job} (${first.key}, pid ${first.pid}, ${first.outcome} after ${ms(first.endedAt)} ms)`;
}

function grouped<T, K>(items: readonly T[], keyOf: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return groups;
}

function countBy(words: readonly string[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const word of words) counts[word] = (counts[word] ?? 0) + 1;
  return counts;
}

export function jobSummary(account: JobAccount): string {
  const { attempts, accepted, told, refused, longestMs, overtaken, repeats } = account;
  const outcomes = countBy(attempts.map(({ outcome }) => outcome ?? "open"));
  return [
    `${accepted.length} enqueues accepted (${accepted.filter(({ coalesced }) => coalesced).length} coalesced), refused ${JSON.stringify(refused)}, longest ${longestMs} ms;`,
    `${new Set(attempts.map(({ job }) => job)).size} jobs at work, ${attempts.length} attempts ${JSON.stringify(outcomes)},`,
    `${overtaken} beside one that had lost its lease, ${repeats} after a success;`,
    `${told.length} answers ${JSON.stringify(countBy(told.map(({ what }) => what)))}`,
  ].join(" ");
}
