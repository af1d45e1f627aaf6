import type { Issue } from "../errors.js";
import type { RunRef } from "./outcome.js";
import type { ResultJson, ResultJsonOptions } from "./result-json.js";

/** The one answer of a run: a frozen, plain object. Narrow it by `status`, or use {@link match}. */
export type Result<Output = unknown> = Success<Output> | Skipped | Failed;

interface ResultBase {
  /** Not failed. */
  readonly ok: boolean;
  /** Not a success. */
  readonly ko: boolean;
  /** Did the run go through to its end? Only a success did. */
  readonly state: "complete" | "interrupted";
  /** Why, in words. */
  readonly reason: string | undefined;
  /** What the task and its layers noted. `code` names why a run was turned away or failed. */
  readonly metadata: Metadata;
  /** The task's name. */
  readonly task: string;
  readonly runId: string;
  /** The same for a root run and every run started inside it. */
  readonly chainId: string;
  /** The run inside which this one was started. */
  readonly parentId: string | undefined;
  /** The place in the chain by order of starting; the root has 0. */
  readonly index: number;
  /** How many runs this one is nested in; the root has 0. */
  readonly depth: number;
  /** What `config.correlationId` gave for the root of the chain. */
  readonly correlationId: string | undefined;
  /** How many further attempts followed the first one. */
  readonly retries: number;
  /** From the call to the answer, in milliseconds. */
  readonly durationMs: number;
  /** Did `rollback` run to its end before the answer? */
  readonly rolledBack: boolean;
  /** Is the task marked as deprecated? */
  readonly deprecated: boolean;
  readonly tags: readonly string[];
  /** The chain's shared bag as it was when the run ended. */
  readonly context: Readonly<Record<string, unknown>>;
  /** The result for logs and wires. Leaves out `output` and `context`, which may hold secrets, unless they are asked for. */
  toJSON(options?: ResultJsonOptions | string): ResultJson;
}
export interface Success<Output = unknown> extends ResultBase {
  readonly status: "success";
  readonly ok: true;
  readonly ko: false;
  readonly state: "complete";
  readonly output: Output;
  /** Is this the output of an earlier run with the same key? */
  readonly replayed: boolean;
}
export interface Skipped extends ResultBase {
  readonly status: "skipped";
  readonly ok: true;
  readonly ko: true;
  readonly state: "interrupted";
}
export interface Failed extends ResultBase {
  readonly status: "failed";
  readonly ok: false;
  readonly ko: true;
  readonly state: "interrupted";
  readonly reason: string;
  /** What went wrong. An error thrown in `work` is here as it was thrown. */
  readonly error: Error;
  /** What is wrong with the input or output; empty for other failures. */
  readonly issues: readonly Issue[];
  /** Could the same run end better another time? A worker may try again when it is true. */
  readonly retryable: boolean;
  /** The run where the failure began: this one, or a nested one whose failure came through. */
  readonly origin: RunRef;
  /** What `rollback` threw, if it did. */
  readonly rollbackError: Error | undefined;
}

export interface Metadata {
  /** Names why, for programs: `invalid_input`, `aborted`, `duplicate`, … */
  readonly code?: string;
  /** When it may be worth to come again, in milliseconds: of a run that was turned away for now. */
  readonly retryAfterMs?: number;
  readonly [key: string]: unknown;
}

/** Answers a result by its status. Every status has its handler, or it does not compile. */
export function match<Output, S, K, F>(
  result: Result<Output>,
  handlers: { success: (result: Success<Output>) => S; skipped: (result: Skipped) => K; failed: (result: Failed) => F },
): S | K | F {
  switch (result.status) {
    case "success":
      return handlers.success(result);
    case "skipped":
      return handlers.skipped(result);
    case "failed":
      return handlers.failed(result);
  }
}
