import { quietClient } from "../scenarios/fixtures/stores.js";
import { LEASE_MS, TTL_MS } from "./crew.js";

/** What workers write into the ledger, stamped with its time in microseconds. */
export type Line = { readonly at: number; readonly pid: number } & (
  | { readonly kind: "start"; readonly key: string; readonly owner: string; readonly fence: number; readonly run: string }
  | {
      readonly kind: "end";
      readonly owner: string;
      readonly outcome: "success" | "skip" | "failure" | "stopped";
      readonly accepted: boolean;
    }
  | { readonly kind: "lost"; readonly owner: string; readonly why: "refused" | "expired" | "max_hold" }
  | { readonly kind: "completed"; readonly owner: string }
  | { readonly kind: "sent"; readonly run: string }
  | { readonly kind: "freed"; readonly keys: readonly string[] }
  | Answer
);

export interface Answer {
  readonly kind: "answer";
  readonly at: number;
  readonly pid: number;
  readonly task: string;
  readonly run: string;
  readonly status: "success" | "skipped" | "failed";
  readonly code?: string;
  readonly state?: string;
  readonly superseded: boolean;
  readonly tookMs: number;
}

/** One run that entered its work. Fences are the time at which the claim was granted, in microseconds of the same machine. */
export interface LedgerRun {
  readonly run: string;
  readonly key: string | undefined;
  readonly pid: number;
  readonly grantedAt: number;
  readonly startedAt: number;
  endedAt?: number;
  outcome?: "success" | "skip" | "failure" | "stopped";
  refusedByFence?: true;
  lost?: "refused" | "expired" | "max_hold";
  completed?: true;
  answer?: Answer;
}

export interface Account {
  readonly runs: readonly LedgerRun[];
  readonly answers: readonly Answer[];
  /** How many runs got through the rate limit. */
  readonly sent: number;
  /** Keys that `shutdown` had to free. */
  readonly freed: readonly string[];
  /** Two runs on one key, the second of which was let in before the first was at its end or its lease over. */
  readonly overlaps: readonly Pair[];
  /** A run that was let in within the retention of a success before it. */
  readonly repeats: readonly Pair[];
  /** Answers that do not fit what the ledger knows of the run, and works without a claim. */
  readonly untrue: readonly string[];
}

export interface Pair {
  readonly before: LedgerRun;
  readonly later: LedgerRun;
}

/**
 * The store counts lives in whole milliseconds, and reads its clock once for them and once for the fence: in microseconds, a life may seem
 * to end so much early. Holders allow for more: a hundredth of the lease and two milliseconds.
 */
const WHOLE_MS = 2_000;
const LEASE = LEASE_MS * 1_000 - WHOLE_MS;
const TTL = TTL_MS * 1_000 - WHOLE_MS;

export async function readAccount(ledgerPort: number): Promise<Account> {
  const client = quietClient(ledgerPort);
  const lines = await client.lrange("ledger", 0, -1);
  client.disconnect();
  return accountOf(
    lines.map((line) => {
      const space = line.indexOf(" ");
      return { ...(JSON.parse(line.slice(space)) as Line), at: Number(line.slice(0, space)) }; // as the workers write them
    }),
  );
}

export function accountOf(lines: readonly Line[]): Account {
  const runs = runsOf(lines);
  const answers = lines.filter((line) => line.kind === "answer");
  const sentBy = new Set(lines.flatMap((line) => (line.kind === "sent" ? [line.run] : [])));
  const pairs = neighbours([...runs.values()]);
  return {
    runs: [...runs.values()],
    answers,
    sent: sentBy.size,
    freed: lines.flatMap((line) => (line.kind === "freed" ? line.keys : [])),
    overlaps: pairs.filter(({ before, later }) => before.completed !== true && later.grantedAt < heldUntil(before)),
    repeats: pairs.filter(({ before, later }) => before.completed === true && later.grantedAt < (before.endedAt ?? 0) + TTL),
    untrue: [
      ...[...runs.values()].filter((run) => run.key === undefined).map(({ run }) => `${run} worked without a claim`),
      ...answers.flatMap((answer) => {
        const fault = faultOf(answer, runs.get(answer.run), sentBy.has(answer.run));
        return fault === undefined ? [] : [`${JSON.stringify(answer)}: ${fault}`];
      }),
    ],
  };
}

function runsOf(lines: readonly Line[]): Map<string, LedgerRun> {
  const runs = new Map<string, LedgerRun>();
  for (const line of lines) {
    if (line.kind === "start") {
      runs.set(line.run, { run: line.run, key: line.key, pid: line.pid, grantedAt: line.fence, startedAt: line.at });
    } else if (line.kind === "answer") {
      const found = runs.get(line.run);
      if (found !== undefined) found.answer = line;
    } else if (line.kind === "end" || line.kind === "lost" || line.kind === "completed") {
      const found = runs.get(line.owner);
      if (found !== undefined) note(found, line); // else it was lost before its work began
    }
  }
  return runs;
}

function note(run: LedgerRun, line: Extract<Line, { kind: "end" | "lost" | "completed" }>): void {
  if (line.kind === "lost") {
    if (!wasRelease(run, line)) run.lost = line.why;
  } else if (line.kind === "completed") run.completed = true;
  else {
    run.endedAt = line.at;
    run.outcome = line.outcome;
    if (!line.accepted) run.refusedByFence = true;
  }
}

/**
 * After the work, and where there was no success to record, only the release can have been refused: the client has sent it twice, and
 * another run has taken the key in between. The key was the run's until its end all the same, and nobody's before that.
 */
function wasRelease({ key, endedAt, outcome }: LedgerRun, { why }: Extract<Line, { kind: "lost" }>): boolean {
  return why === "refused" && endedAt !== undefined && !remembers(key, outcome);
}

/** Is a success of it recorded under the key? */
function remembers(key: string | undefined, outcome: LedgerRun["outcome"]): boolean {
  return key?.startsWith("cmdx:idem:") === true && outcome === "success";
}

/** Runs that follow each other on one key, by the order in which they were let in. */
function neighbours(runs: readonly LedgerRun[]): readonly Pair[] {
  const pairs: Pair[] = [];
  const lastOf = new Map<string | undefined, LedgerRun>();
  for (const later of runs.toSorted((a, b) => a.grantedAt - b.grantedAt)) {
    const before = lastOf.get(later.key);
    if (before !== undefined) pairs.push({ before, later });
    lastOf.set(later.key, later);
  }
  return pairs;
}

/** The earliest moment from which another run may have its key, by what the ledger knows. */
function heldUntil({ key, grantedAt, endedAt, outcome, lost }: LedgerRun): number {
  const leaseOver = grantedAt + LEASE;
  if (endedAt === undefined) return leaseOver; // it died at its work
  if (lost !== undefined) return remembers(key, outcome) ? leaseOver : Math.min(endedAt, leaseOver); // it lets go as soon as it has ended
  return remembers(key, outcome) ? Math.max(endedAt, leaseOver) : endedAt; // it was not recorded, or it died before it could say so
}

/** What a caller may be told, and what must be true then. */
function faultOf({ task, status, code, superseded }: Answer, run: LedgerRun | undefined, sent: boolean): string | undefined {
  const worked = run !== undefined || sent;
  const told = [status, code, superseded && "superseded"].filter((part) => part !== undefined && part !== false).join(" ");
  switch (told) {
    case "success":
    case "success superseded":
      return sent || run?.outcome === "success" ? undefined : "its work has no success in the ledger";
    case "skipped":
      return run?.outcome === "skip" ? undefined : "its work has not skipped";
    case "failed":
      return run?.outcome === "failure" ? undefined : "its work has not failed";
    case "failed aborted":
      return run === undefined || run.outcome === "stopped" || run.outcome === undefined ? undefined : "its work had come to its end";
    case "skipped duplicate":
    case "failed locked":
    case "failed rate_limited":
    case "failed store_unavailable":
      return worked ? "its work has begun all the same" : undefined;
    default:
      return `no answer that ${task} may give`;
  }
}

/** What the answers were, and how long the longest took. */
export function summary({ runs, answers, overlaps, repeats, sent }: Account): string {
  const count = (fits: (run: LedgerRun) => boolean): number => runs.filter(fits).length;
  const kinds = new Map<string, number>();
  for (const { status, code } of answers) {
    const kind = code === undefined ? status : `${status} ${code}`;
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  }
  const table = [...kinds].map(([kind, times]) => `${kind} ${times}`).join(", ");
  const longest = answers.reduce((most, { tookMs }) => Math.max(most, tookMs), 0);
  return [
    `${answers.length} answers (${table}), longest ${longest} ms;`,
    `${runs.length} works under a claim, ${count(({ completed }) => completed === true)} completed,`,
    `${count(({ endedAt }) => endedAt === undefined)} cut off at work, ${count(({ lost }) => lost !== undefined)} lost,`,
    `${count(({ answer }) => answer?.superseded === true)} superseded, ${count(({ refusedByFence }) => refusedByFence === true)} refused by fence;`,
    `${sent} sent; ${overlaps.length} overlaps, ${repeats.length} repeats`,
  ].join(" ");
}
