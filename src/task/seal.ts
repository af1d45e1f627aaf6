import { frozenCopy, isPlain } from "../support/freeze.js";
import { messageOf } from "../support/thrown.js";
import type { Outcome } from "./outcome.js";
import { resultJson, type ResultJson, type ResultJsonOptions } from "./result-json.js";
import type { Metadata, Result } from "./result.js";
import type { Run } from "./run.js";

const NO_METADATA: Metadata = Object.freeze({});
const turnedAway = new WeakSet<Result>();

/**
 * Was the run turned away by a layer, before anything of the task itself was done or said? Notes alone do not tell: a task may
 * write what it likes, and a nested run's refusal comes through with its notes.
 */
export function wasTurnedAway(result: Result): boolean {
  return turnedAway.has(result);
}

/** The frozen answer of a run. */
export function sealResult(run: Run, outcome: Outcome): Result {
  const sealed = run.seal(outcome);
  run.scope.dispose();
  const { plan, chain } = run;
  const result = resultOf(run, outcome);
  result["metadata"] = metadataOf(run, sealed);
  result["task"] = plan.name;
  result["runId"] = run.runId;
  result["chainId"] = chain.id;
  result["parentId"] = run.parentId;
  result["index"] = run.index;
  result["depth"] = run.depth;
  result["correlationId"] = chain.correlationId;
  result["retries"] = Math.max(0, run.attempts - 1);
  result["durationMs"] = run.clock.now() - run.startedAt;
  result["rolledBack"] = run.rollback !== undefined && "done" in run.rollback;
  result["deprecated"] = run.deprecated;
  result["tags"] = plan.tags;
  result["context"] = chain.contextCopy();
  Object.defineProperty(result, "toJSON", TO_JSON);
  const whole = result as unknown as Result; // what all results have was set just above, field by field, which is the fast way
  if (run.attempts === 0 && run.halt === undefined && !("origin" in outcome && outcome.origin !== undefined)) turnedAway.add(whole);
  return Object.freeze(whole);
}

/**
 * What the task and its layers noted, and over it what the outcome says. If that is plain, it is a frozen copy since it was sealed. People
 * give it, also in programs without types: null is none.
 */
function metadataOf(run: Run, { metadata }: { readonly metadata?: unknown }): object {
  if (typeof metadata === "object" && metadata !== null) {
    if (run.notes === undefined && isPlain(metadata)) return metadata;
    run.note(metadata);
  }
  return run.notes === undefined ? NO_METADATA : frozenCopy(run.notes);
}

/** What only results of this status have. The words first: they are what a person looks for in a log. */
function resultOf(run: Run, outcome: Outcome): Record<string, unknown> {
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
      };
    case "skipped":
      return { status: "skipped", ok: true, ko: true, state: "interrupted", reason: outcome.reason };
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
      };
  }
}

/** JSON.stringify calls `toJSON` with a key, people with options. Not enumerable, so that results compare and travel as plain data. */
const TO_JSON: PropertyDescriptor = {
  value(this: Result, options?: ResultJsonOptions | string): ResultJson {
    return resultJson(this, typeof options === "object" ? options : {});
  },
};
