import { describe, expect, test } from "vitest";
import { jobAccountOf, type JobLine, type Standing } from "./queue-account.js";
import { DECLINED, QUEUE_LEASE_MS } from "./queue-settings.js";

/** The account is worth nothing if it does not see what it is to see. */

const LEASE = QUEUE_LEASE_MS * 1_000;
const common = { pid: 1 };
const call = (id: string, at: number, key?: string): JobLine => ({ kind: "call", call: `call ${id}`, id, key, at, ...common });
const accepted = (id: string, at: number, job = id): JobLine => ({
  kind: "accepted",
  call: `call ${id}`,
  job,
  coalesced: job !== id,
  tookMs: 1,
  at,
  ...common,
});
const start = (job: string, run: string, at: number, { pid = 1, key = "k" } = {}): JobLine => ({
  kind: "start",
  run,
  job,
  attempt: 1,
  key,
  at,
  pid,
});
const end = (run: string, at: number, outcome: "success" | "failure" = "success"): JobLine => ({
  kind: "end",
  run,
  outcome,
  at,
  ...common,
});
const told = (job: string, what: "success" | "failed" | "timeout" | "other", run?: string): JobLine => ({
  kind: "told",
  job,
  what,
  ...(run !== undefined && { run }),
  at: 99,
  ...common,
});
const disturbed = (from: number, to: number): JobLine => ({ kind: "disturbed", what: "hangs", ms: (to - from) / 1_000, at: to, ...common });

const COMPLETED: Standing = { state: "completed", reason: undefined };
const standing = (jobs: Record<string, Standing | undefined>): Map<string, Standing | undefined> => new Map(Object.entries(jobs));
const none = standing({});

describe("the account of jobs", () => {
  test.each<[string, Standing | undefined]>([
    ["gone", undefined],
    ["pending", { state: "pending", reason: undefined }],
    ["running", { state: "running", reason: undefined }],
  ])("sees an acknowledged job that is %s when all is over", (_, stands) => {
    expect(jobAccountOf([call("a", 0), accepted("a", 1)], standing({ a: stands })).lost).toEqual(["a"]);
    expect(jobAccountOf([call("a", 0), accepted("a", 1)], standing({ a: COMPLETED })).lost).toEqual([]);
    expect(jobAccountOf([call("a", 0)], standing({ a: stands })).lost).toEqual([]); // nobody was told that it is there
  });

  test("sees two jobs for one key by what callers were told, while the first was pending or running", () => {
    const first = [call("a", 0, "k"), accepted("a", 1), start("a", "a1", 100), end("a1", 200)];
    const among = (...more: JobLine[]): readonly string[] => jobAccountOf([...first, ...more], none).doubles;
    expect(among(call("b", 10, "k"), accepted("b", 20))).toEqual(["b was answered, while a had k"]);
    expect(among(call("b", 110, "k"), accepted("b", 120))).toHaveLength(1);
    expect(among(call("b", 10, "k"), accepted("b", 20, "a"))).toEqual([]); // the same job
    expect(among(call("b", 10, "other"), accepted("b", 20))).toEqual([]);
    expect(among(call("b", 190, "k"), accepted("b", 201))).toEqual([]); // it may have come after the end
  });

  test("lets a job that was made before answer to a call that is repeated with its id", () => {
    const lines = [call("b", 0, "k"), call("a", 10, "k"), accepted("a", 11), start("a", "a1", 100), call("b", 20, "k"), accepted("b", 30)];
    expect(jobAccountOf(lines, none).doubles).toEqual([]);
  });

  test("sees two jobs of one key at work at once, unless the first had been taken over", () => {
    const both = [start("a", "a1", 0), start("b", "b1", 10), end("a1", 20), end("b1", 30)];
    expect(jobAccountOf(both, none).doubles).toHaveLength(1);
    const taken = [start("a", "a1", 0), start("a", "a2", 5, { pid: 2 }), end("a2", 8), start("b", "b1", 10), end("a1", 20), end("b1", 30)];
    expect(jobAccountOf(taken, none).doubles).toEqual([]);
    expect(jobAccountOf([start("a", "a1", 0), end("a1", 5), start("b", "b1", 10)], none).doubles).toEqual([]);
  });

  test("sees one job at work twice, unless something was done that may cost leases, and a lease had passed", () => {
    const twice = (second: number): JobLine[] => [start("a", "a1", 0), start("a", "a2", second, { pid: 2 }), end("a1", second + 10)];
    expect(jobAccountOf(twice(10), none).overlaps).toHaveLength(1);
    expect(jobAccountOf(twice(LEASE + 1), none).overlaps).toHaveLength(1); // a worker that is undisturbed renews its lease
    const excused = jobAccountOf([...twice(LEASE + 1), disturbed(100, LEASE)], none);
    expect([excused.overlaps.length, excused.overtaken]).toEqual([0, 1]);
    expect(jobAccountOf([...twice(LEASE / 2), disturbed(100, 200)], none).overlaps).toHaveLength(1); // the lease was not over
    expect(jobAccountOf([...twice(LEASE + 1), disturbed(3 * LEASE, 4 * LEASE)], none).overlaps).toHaveLength(1); // too late
  });

  test("does not count one that has died as at work", () => {
    const killed: JobLine = { kind: "killed", at: 20, pid: 1 };
    const account = jobAccountOf([start("a", "a1", 0), killed, start("a", "a2", LEASE, { pid: 2 })], none);
    expect([account.overlaps, account.overtaken]).toEqual([[], 0]);
    expect(account.attempts[0]?.outcome).toBe("killed");
  });

  test("sees work that is done again after a success, and whether anything had kept the first from telling of it", () => {
    const again = [start("a", "a1", 0), end("a1", 10), start("a", "a2", 2 * LEASE)];
    const killed: JobLine = { kind: "killed", at: 20, pid: 1 };
    const counts = (...lines: JobLine[]): readonly number[] => {
      const { repeats, needless } = jobAccountOf(lines, none);
      return [repeats, needless.length];
    };
    expect(counts(...again)).toEqual([1, 1]);
    expect(counts(...again, killed)).toEqual([1, 0]);
    expect(counts(...again, disturbed(5, LEASE))).toEqual([1, 0]);
    expect(counts(...again, disturbed(3 * LEASE, 4 * LEASE))).toEqual([1, 1]);
    expect(counts(start("a", "a1", 0), end("a1", 10, "failure"), start("a", "a2", 20))).toEqual([0, 0]);
  });

  test("sees what a caller is told and is not so", () => {
    const lines = [start("a", "a1", 0), end("a1", 10), start("b", "b1", 0, { key: "other" }), end("b1", 10, "failure")];
    const untrue = (line: JobLine): number => jobAccountOf([...lines, line], none).untrue.length;
    expect([untrue(told("a", "success", "a1")), untrue(told("b", "failed", "b1")), untrue(told("a", "timeout"))]).toEqual([0, 0, 0]);
    expect(untrue(told("a", "success", "b1"))).toBe(1); // the run of another job
    expect(untrue(told("b", "success", "b1"))).toBe(1); // it has failed
    expect(untrue(told("a", "failed", "a1"))).toBe(1); // it has succeeded
    expect(untrue(told("a", "success", "a9"))).toBe(1); // there was no such run
    expect(untrue(told("a", "other"))).toBe(1); // unknown, unreadable, dead by nothing of its own
  });

  test("sees what the storage tells and is not so", () => {
    const untrue = (stands: Standing, ...lines: JobLine[]): number => jobAccountOf(lines, standing({ a: stands })).untrue.length;
    const success = [start("a", "a1", 0), end("a1", 10)];
    const failure = [start("a", "a1", 0), end("a1", 10, "failure")];
    expect([untrue(COMPLETED, ...success), untrue({ state: "dead", reason: DECLINED }, ...failure)]).toEqual([0, 0]);
    expect(untrue(COMPLETED, ...failure)).toBe(1);
    expect(untrue({ state: "dead", reason: DECLINED }, ...success)).toBe(1);
    expect(untrue({ state: "dead", reason: "Connection terminated" }, ...success, ...failure)).toBe(1);
  });

  test("sees a call that resolves to a job which is known to have ended", () => {
    const ended: JobLine = { kind: "ended", job: "a", state: "completed", at: 50, ...common };
    expect(jobAccountOf([ended, call("b", 60, "k"), accepted("b", 70, "a")], none).stale).toHaveLength(1);
    expect(jobAccountOf([call("b", 40, "k"), ended, accepted("b", 70, "a")], none).stale).toEqual([]); // it ended meanwhile
    const repeated = [call("b", 40, "k"), ended, call("b", 60, "k"), accepted("b", 70, "a")]; // and this is what the first would have said
    expect(jobAccountOf(repeated, none).stale).toEqual([]);
  });

  test("sees calls that end with neither a job nor a typed error, and how long they took", () => {
    const wrong: JobLine = { kind: "wrong", error: "TypeError", at: 1, ...common };
    const refused: JobLine = { kind: "refused", call: "call a", code: "queue_unavailable", tookMs: 1_234, at: 2, ...common };
    expect(jobAccountOf([wrong, refused], none)).toMatchObject({
      wrong: ["TypeError"],
      longestMs: 1_234,
      refused: { queue_unavailable: 1 },
    });
  });
});
