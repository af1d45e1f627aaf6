import { ShutdownError } from "../errors.js";
import type { Result } from "../task/result.js";
import { wasTurnedAway } from "../task/seal.js";
import type { Verdict } from "./port.js";

/** The shortest and the longest wait before a job is tried that was turned away for now, in milliseconds. */
const SHORTEST_MS = 100;
const LONGEST_MS = 15_000;
/** Refusals that say: later. They cost no attempt. */
const LATER: ReadonlySet<unknown> = new Set(["rate_limited", "circuit_open", "locked"]);

/**
 * What a result means for the job.
 *
 * A success or a skip completes it, but for one skip: a duplicate of a run that is still at work. That run may be an earlier attempt
 * of this very job, whose worker has died while its claim lives on:
 *
 *     worker 1  |- claims the slot -|- dies                       (the lease lives on)
 *     worker 2                          |- duplicate, processing  (completed now, the work would never be done)
 *
 * So the job waits until the slot tells: completed, then the duplicate completes the job; free, then the work is done.
 *
 * Only a run that never came to its work waits at no cost: one that has worked, and then says the same words or hands on the refusal
 * of a run inside it, has had its attempt.
 */
export function verdictOf(result: Result, answer: string, signal: AbortSignal): Verdict {
  const waitMs = wasTurnedAway(result) ? waitOf(result) : undefined;
  if (result.status !== "failed") return waitMs === undefined ? { kind: "completed", answer } : { kind: "handed_back", delayMs: waitMs };
  if (signal.aborted && signal.reason === "cancelled") return { kind: "cancelled", answer };
  if (signal.aborted && result.metadata.code === "aborted") return { kind: "handed_back", delayMs: 0 };
  if (result.error instanceof ShutdownError) return { kind: "handed_back", delayMs: SHORTEST_MS };
  if (waitMs !== undefined) return { kind: "handed_back", delayMs: waitMs };
  return { kind: "failed", answer, reason: reasonOf(result), retry: result.retryable };
}

/** How long to wait when the run was turned away for now; undefined when it was for good. */
function waitOf({ metadata }: Result): number | undefined {
  const { code, state, retryAfterMs } = metadata;
  const isForNow = (code === "duplicate" && state === "processing") || LATER.has(code);
  if (!isForNow) return undefined;
  return Math.min(Math.max(typeof retryAfterMs === "number" ? retryAfterMs : 0, SHORTEST_MS), LONGEST_MS);
}

/** In words. Of a refused input only the fields: some validators quote the values in their messages, and reasons are kept in the open. */
function reasonOf(result: Extract<Result, { status: "failed" }>): string {
  if (result.issues.length === 0) return result.reason;
  const fields = result.issues.map(({ path }) => (path.length === 0 ? "the whole" : path.map(String).join(".")));
  return `${result.error.name}: these do not fit the schema: ${fields.join(", ")}`;
}
