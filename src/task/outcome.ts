import type { Issue } from "../errors.js";

/**
 * What a layer, a middleware or an `around_execution` callback gets from `next()`: what became of the run so far, as a
 * value. It becomes a `Result` once it is sealed.
 */
export type Outcome = SuccessOutcome | SkippedOutcome | FailedOutcome;

interface OutcomeBase {
  readonly reason?: string | undefined;
  /** Added to the result's metadata; `code` names why. */
  readonly metadata?: object | undefined;
}
export interface SuccessOutcome extends OutcomeBase {
  readonly status: "success";
  readonly output: unknown;
  /** What `work` returned, before it went through the output schema. */
  readonly returned?: unknown;
  /** Is the output that of an earlier run with the same key? */
  readonly replayed?: boolean;
}
export interface SkippedOutcome extends OutcomeBase {
  readonly status: "skipped";
}
export interface FailedOutcome extends OutcomeBase {
  readonly status: "failed";
  /**
   * - `error`: something threw, or what came out was wrong. Retries and circuit breakers look at these.
   * - `halt`: the task decided, with `this.fail()`.
   * - `refused`: the run was turned away before `work`, or called off.
   */
  readonly by: "error" | "halt" | "refused";
  readonly error: Error;
  readonly issues?: readonly Issue[] | undefined;
  /** Could the same run end better another time? */
  readonly retryable: boolean;
  /** The run where the failure began, when that was another one. */
  readonly origin?: RunRef | undefined;
}

/** Names one run. */
export interface RunRef {
  readonly task: string;
  readonly runId: string;
}

export function isOutcome(value: unknown): value is Outcome {
  if (typeof value !== "object" || value === null || !("status" in value)) return false;
  return value.status === "success" || value.status === "skipped" || (value.status === "failed" && "error" in value && "by" in value);
}
