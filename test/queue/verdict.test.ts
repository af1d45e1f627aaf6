import { afterEach, describe, expect, test } from "vitest";
import { resetConfiguration, use, type Outcome, type Result } from "taskwright";
import { verdictOf } from "../../src/queue/verdict.js";
import { taskOf } from "../support/builders.js";

afterEach(resetConfiguration);

const live = new AbortController().signal;
const success = await taskOf(() => "done").execute();
const failedWith = (metadata: object): Promise<Result> => taskOf((task) => task.fail("no", metadata)).execute();

/** The result of a run that a layer has turned away with this. */
async function refusedBy(outcome: Outcome): Promise<Result> {
  const Refused = taskOf(() => "done");
  use(() => outcome)(Refused);
  return Refused.execute();
}
const refusedWith = (metadata: object): Promise<Result> =>
  refusedBy({ status: "failed", by: "refused", error: new Error("no"), reason: "no", retryable: true, metadata });

describe("what a result means for its job", () => {
  test("a success that comes after the cancellation counts: it was too late", () => {
    expect(verdictOf(success, "answer", AbortSignal.abort("cancelled"))).toEqual({ kind: "completed", answer: "answer" });
  });

  test("any failure after the cancellation is the cancelled job's", async () => {
    expect(verdictOf(await failedWith({}), "answer", AbortSignal.abort("cancelled"))).toEqual({ kind: "cancelled", answer: "answer" });
  });

  test.each([
    ["rate_limited", 2_000, 2_000],
    ["circuit_open", 30_000, 15_000],
    ["locked", 5, 100],
  ])("%s costs no attempt: it comes again after %i ms, within bounds", async (code, retryAfterMs, delayMs) => {
    expect(verdictOf(await refusedWith({ code, retryAfterMs }), "", live)).toEqual({ kind: "handed_back", delayMs });
  });

  test("a duplicate of what is completed completes the job, and one of what is at work does not", async () => {
    const skipped = (state: string): Promise<Result> => refusedBy({ status: "skipped", metadata: { code: "duplicate", state } });
    expect(verdictOf(await skipped("completed"), "a", live)).toEqual({ kind: "completed", answer: "a" });
    expect(verdictOf(await skipped("processing"), "a", live)).toEqual({ kind: "handed_back", delayMs: 100 });
  });

  test("a duplicate that fails is handed back while the first is at work, and fails once that is completed", async () => {
    expect(verdictOf(await refusedWith({ code: "duplicate", state: "processing", retryAfterMs: 700 }), "", live)).toEqual({
      kind: "handed_back",
      delayMs: 700,
    });
    expect(verdictOf(await refusedWith({ code: "duplicate", state: "completed" }), "a", live)).toMatchObject({ kind: "failed" });
  });
});
