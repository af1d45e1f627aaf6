import { frozenCopy } from "../support/freeze.js";
import { messageOf } from "../support/thrown.js";
import type { Outcome } from "./outcome.js";
import { resultJson, type ResultJson, type ResultJsonOptions } from "./result-json.js";
import type { Failed, Metadata, Result, Skipped, Success } from "./result.js";
import type { Run } from "./run.js";

const NO_METADATA: Metadata = Object.freeze({});

/** The frozen answer of a run. */
export function sealResult(run: Run, outcome: Outcome): Result {
  run.seal(outcome);
  run.scope.dispose();
  run.note(outcome.metadata);
  const facts = {
    metadata: run.notes === undefined ? NO_METADATA : frozenCopy<Metadata>(run.notes),
    task: run.plan.name,
    runId: run.runId,
    chainId: run.chain.id,
    parentId: run.parent?.runId,
    index: run.index,
    depth: run.depth,
    correlationId: run.chain.correlationId,
    retries: Math.max(0, run.attempts - 1),
    durationMs: run.clock.now() - run.startedAt,
    rolledBack: run.rollback !== undefined && "done" in run.rollback,
    deprecated: run.deprecated,
    tags: run.plan.tags,
    context: run.chain.contextCopy(),
  };
  return freeze(withOutcome(run, outcome, facts));
}

type Facts = Omit<Skipped, "status" | "ok" | "ko" | "state" | "reason" | "toJSON">;
type Unsealed = Omit<Success, "toJSON"> | Omit<Skipped, "toJSON"> | Omit<Failed, "toJSON">;

function withOutcome(run: Run, outcome: Outcome, facts: Facts): Unsealed {
  switch (outcome.status) {
    case "success":
      return {
        status: "success",
        ok: true,
        ko: false,
        state: "complete",
        reason: outcome.reason,
        output: outcome.output,
        replayed: outcome.replayed === true,
        ...facts,
      };
    case "skipped":
      return { status: "skipped", ok: true, ko: true, state: "interrupted", reason: outcome.reason, ...facts };
    case "failed":
      return {
        status: "failed",
        ok: false,
        ko: true,
        state: "interrupted",
        reason: outcome.reason ?? messageOf(outcome.error),
        error: outcome.error,
        issues: frozenCopy(outcome.issues ?? []),
        retryable: outcome.retryable,
        origin: Object.freeze(outcome.origin ?? run.ref),
        rollbackError: run.rollback !== undefined && "error" in run.rollback ? run.rollback.error : undefined,
        ...facts,
      };
  }
}

/** JSON.stringify calls `toJSON` with a key, people with options. Not enumerable, so that results compare and travel as plain data. */
const TO_JSON: PropertyDescriptor = {
  value(this: Result, options?: ResultJsonOptions | string): ResultJson {
    return resultJson(this, typeof options === "object" ? options : {});
  },
};

function freeze(result: Unsealed): Result {
  Object.defineProperty(result, "toJSON", TO_JSON);
  return Object.freeze(result) as Result; // with toJSON it is whole
}
