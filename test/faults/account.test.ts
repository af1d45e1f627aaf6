import { describe, expect, test } from "vitest";
import { accountOf, type Line } from "./account.js";
import { LEASE_MS, TTL_MS } from "./crew.js";

/** The account is worth nothing if it does not see what it is to see. */

const KEY = "cmdx:idem:Charge:id_1";
const LEASE = LEASE_MS * 1_000;

const start = (run: string, at: number, key = KEY): Line => ({ kind: "start", key, owner: run, fence: at, run, at, pid: 1 });
const end = (owner: string, at: number, outcome: "success" | "failure" = "success"): Line => ({
  kind: "end",
  owner,
  outcome,
  accepted: true,
  at,
  pid: 1,
});
const completed = (owner: string, at: number): Line => ({ kind: "completed", owner, at, pid: 1 });
const lost = (owner: string, at: number, why: "expired" | "refused" = "expired"): Line => ({ kind: "lost", owner, why, at, pid: 1 });
const LOCK = "cmdx:lock:W:1";
const answer = (run: string, status: "success" | "skipped" | "failed", code?: string): Line => ({
  kind: "answer",
  task: "Charge",
  run,
  status,
  ...(code !== undefined && { code }),
  superseded: false,
  tookMs: 1,
  at: 9,
  pid: 1,
});

describe("the account of a ledger", () => {
  test.each<[string, Line[]]>([
    ["while another is at work", [start("a", 0), start("b", 10), end("a", 20)]],
    ["before the lease of one that died is over", [start("a", 0), start("b", LEASE - 3_000)]],
    ["before the lease of one that has lost it is over", [start("a", 0), lost("a", 10), end("a", 20), start("b", LEASE - 3_000)]],
    [
      "while one is at work that has lost its lease, before it is over",
      [start("a", 0), lost("a", 10), start("b", 15), end("a", 20, "failure")],
    ],
    [
      "while another is at work whose release is refused later",
      [start("a", 0, LOCK), start("b", 10, LOCK), end("a", 20), lost("a", 30, "refused")],
    ],
    [
      "before the lease of a success whose recording was refused is over",
      [start("a", 0), end("a", 20), lost("a", 30, "refused"), start("b", LEASE - 3_000)],
    ],
    ["before the lease of a success that nobody recorded is over", [start("a", 0), end("a", 20), start("b", LEASE - 3_000)]],
  ])("sees a run that was let in %s", (_, lines) => {
    const { overlaps } = accountOf(lines);
    expect(overlaps.map(({ before, later }) => [before.run, later.run])).toEqual([["a", "b"]]);
  });

  test("sees a run within the retention of a success, and lets one after it pass", () => {
    const first = [start("a", 0), end("a", 20), completed("a", 30)];
    expect(accountOf([...first, start("b", 20 + TTL_MS * 1_000 - 3_000)]).repeats).toHaveLength(1);
    expect(accountOf([...first, start("b", 20 + TTL_MS * 1_000)]).repeats).toEqual([]);
  });

  test.each<[string, Line[]]>([
    ["after a failure", [start("a", 0), end("a", 20, "failure"), start("b", 20)]],
    ["after the lease of one that died", [start("a", 0), start("b", LEASE)]],
    [
      "after the lease of one that has lost it, and is still at work",
      [start("a", 0), lost("a", 10), start("b", LEASE), end("a", LEASE + 9)],
    ],
    ["after one that had lost its lease has ended and let go", [start("a", 0), lost("a", 10), end("a", 20, "failure"), start("b", 25)]],
    ["on another key", [start("a", 0), start("b", 10, "cmdx:idem:Charge:id_2"), end("a", 20)]],
    ["after one under a lock, which remembers nothing", [start("a", 0, LOCK), end("a", 20), start("b", 20, LOCK)]],
    [
      "after a release that was sent twice, and refused then",
      [start("a", 0, LOCK), end("a", 20), start("b", 25, LOCK), lost("a", 30, "refused")],
    ],
  ])("lets a run pass that was let in %s", (_, lines) => {
    expect(accountOf(lines)).toMatchObject({ overlaps: [], repeats: [] });
  });

  test("sees answers that are not true", () => {
    expect(accountOf([answer("a", "success")]).untrue).toEqual([expect.stringContaining("no success in the ledger")]);
    expect(accountOf([start("a", 0), end("a", 1, "failure"), answer("a", "success")]).untrue).toHaveLength(1);
    expect(accountOf([start("a", 0), end("a", 1), answer("a", "failed", "store_unavailable")]).untrue).toEqual([
      expect.stringContaining("begun all the same"),
    ]);
    expect(accountOf([start("a", 0), end("a", 1), answer("a", "skipped", "duplicate")]).untrue).toHaveLength(1);
    expect(accountOf([answer("a", "failed", "definition")]).untrue).toEqual([expect.stringContaining("no answer that Charge may give")]);
    expect(accountOf([start("a", 0), end("a", 1), answer("a", "success")]).untrue).toEqual([]);
  });

  test("sees work without a claim", () => {
    const { key: _, ...unclaimed } = { ...start("a", 0), key: undefined };
    expect(accountOf([unclaimed as unknown as Line]).untrue).toEqual(["a worked without a claim"]); // as JSON leaves it out
  });
});
