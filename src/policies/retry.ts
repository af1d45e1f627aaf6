import { DefinitionError } from "../errors.js";
import { andThen } from "../support/and-then.js";
import { checkBoolean, checkInteger, checkOptions, describe, list } from "../support/check.js";
import { toMs, type Duration } from "../support/duration.js";
import { random } from "../support/random.js";
import { AbortScope } from "../support/abort.js";
import { sleep } from "../support/sleep.js";
import { checkGates, passes, type Gates } from "../task/gates.js";
import type { Layer, LayerFeature, Step } from "../task/layer.js";
import { checkClassTarget, declare, type TaskDecorator } from "../task/metadata.js";
import { announce, reportObserver } from "../task/observers.js";
import type { FailedOutcome, Outcome } from "../task/outcome.js";
import type { Run } from "../task/run.js";
import type { Task } from "../task/task.js";
import { backoffMs, jitterNames, type Backoff, type Jitter } from "./backoff.js";
import { matches, type ErrorMatcher } from "./error-matcher.js";

/** Gates are also given the error and the number of the attempt that failed, from 1. */
export interface RetryOptions<T extends Task = Task> extends Gates<T, [error: Error, attempt: number]> {
  /** Retries after the first attempt; 0 turns them off. @default 3 */
  readonly limit?: number;
  /** The base of every wait. @default 0.5 (seconds) */
  readonly delay?: Duration;
  /** No wait is longer. @default none */
  readonly maxDelay?: Duration | null;
  /** How waits grow and scatter: a built-in strategy, or a function. @default none: every wait is `delay` */
  readonly jitter?: Jitter | null;
  /** May an attempt follow one that has timed out and whose work still goes on? Two are then at work at once. @default false */
  readonly overlap?: boolean;
}

interface Retry extends Backoff {
  readonly on: readonly ErrorMatcher[];
  readonly limit: number;
  readonly overlap: boolean;
  readonly gates: Gates<Task, [error: Error, attempt: number]>;
}
type RetryChange = Partial<Omit<Retry, "on" | "gates">> & Pick<Retry, "on" | "gates">;

const DEFAULTS: Retry = { on: [], limit: 3, delayMs: 500, overlap: false, gates: {} };

/** How long work that has timed out is given to come to rest before another attempt, where the wait is shorter. In milliseconds. */
const SETTLE_MS = 100;

export const retryFeature: LayerFeature<RetryChange | false, Retry> = {
  name: "retry",
  merge(inherited = DEFAULTS, declared) {
    if (declared === false) return undefined;
    return {
      ...inherited,
      ...declared,
      on: [...new Set([...inherited.on, ...declared.on])],
      gates: { ...inherited.gates, ...declared.gates },
    };
  },
  describe: ({ on, limit, delayMs, maxDelayMs, jitter, overlap }) => ({
    on: on.map(({ name }) => name || "a predicate"),
    limit,
    delayMs,
    ...(maxDelayMs !== undefined && { maxDelayMs }),
    ...(overlap && { overlap }),
    ...(jitter !== undefined && { jitter: typeof jitter === "function" ? "a function" : jitter }),
  }),
  layers: (retry) => (retry.limit > 0 && retry.on.length > 0 ? [{ rank: "retry", layer: retryLayer(retry) }] : []),
};

/**
 * Calls `work` again after errors that pass: `@retryOn(CardNetworkError, { limit: 5, jitter: "exponential" })`.
 *
 * Takes error classes and predicates, and options last. On a subclass, errors add to the inherited ones and options replace those
 * they name; `null` clears one. `@retryOn(false)` turns retries off. Halts, refusals and aborted runs are never retried.
 *
 * @throws {DefinitionError} when a matcher or an option has the wrong shape.
 */
export function retryOn<T extends Task = Task>(...on: readonly [false] | readonly (ErrorMatcher | RetryOptions<T>)[]): TaskDecorator<T> {
  const change = on[0] === false ? false : parse(on as readonly (ErrorMatcher | RetryOptions)[]); // gates are passed only tasks of their class
  return (target, context) => {
    checkClassTarget("@retryOn()", target, context);
    declare(target, retryFeature, change);
  };
}

function parse(args: readonly (ErrorMatcher | RetryOptions)[]): RetryChange {
  const last = args.at(-1);
  if (last !== undefined && typeof last !== "function" && typeof last !== "object") throw noMatcher(last);
  const options = typeof last === "function" || last === undefined ? {} : last;
  const on = args.filter((arg): arg is ErrorMatcher => arg !== options);
  for (const matcher of on) {
    if (typeof matcher !== "function") throw noMatcher(matcher);
  }
  checkOptions("@retryOn()", options, ["limit", "delay", "maxDelay", "jitter", "overlap", "if", "unless"]);
  checkGates("@retryOn()", options);
  const { limit, delay, maxDelay, jitter, overlap } = options;
  return {
    on,
    gates: { ...(options.if !== undefined && { if: options.if }), ...(options.unless !== undefined && { unless: options.unless }) },
    ...(limit !== undefined && { limit: checkInteger("@retryOn(): limit", limit, 0) }),
    ...(delay !== undefined && { delayMs: toMs("@retryOn(): delay", delay, { zero: true }) }),
    ...(maxDelay !== undefined && { maxDelayMs: maxDelay === null ? undefined : toMs("@retryOn(): maxDelay", maxDelay, { zero: true }) }),
    ...(jitter !== undefined && { jitter: jitter === null ? undefined : checkJitter(jitter) }),
    ...(overlap !== undefined && { overlap: checkBoolean("@retryOn(): overlap", overlap) }),
  };
}

function noMatcher(given: unknown): DefinitionError {
  return new DefinitionError(`@retryOn() takes error classes and predicates, then options, got ${describe(given)}.`);
}

function checkJitter(jitter: Jitter): Jitter {
  if (typeof jitter === "function" || jitterNames.includes(jitter)) return jitter;
  throw new DefinitionError(`@retryOn(): jitter must be a function or one of ${list(jitterNames)}, got ${describe(jitter)}.`);
}

/** Repeats everything inside it while it fails with an error that the options let through. */
function retryLayer(retry: Retry): Layer {
  return (next) => (run) => andThen(next(run), (first) => (isRetryable(run, retry, first, 0) ? repeated(run, retry, next, first) : first));
}

async function repeated(run: Run, retry: Retry, next: Step, first: FailedOutcome): Promise<Outcome> {
  let outcome = first;
  let waitMs: number | undefined;
  for (let attempt = 0; attempt < retry.limit; attempt += 1) {
    waitMs = waitBefore(run, retry, attempt, waitMs);
    const failedAt = run.clock.now();
    if (!retry.overlap && !(await comesToRest(run, Math.max(waitMs, SETTLE_MS))))
      return run.scope.aborted ? run.abortedOutcome() : stillAtWork(outcome);
    announce(run, "retry_scheduled")?.({ attempt: run.attempts + 1, delayMs: waitMs, error: outcome.error });
    const leftMs = waitMs - (run.clock.now() - failedAt);
    if (leftMs > 0) await sleep(run.clock, leftMs, run.scope);
    run.checkHolds();
    if (run.scope.aborted) return run.abortedOutcome();
    announce(run, "task_retried")?.({ attempt: run.attempts + 1 });
    const answer = await next(run);
    if (!isRetryable(run, retry, answer, attempt + 1)) return answer;
    outcome = answer;
  }
  announce(run, "retries_exhausted")?.({ retries: retry.limit, error: outcome.error });
  return outcome;
}

/** A predicate or gate that throws cannot vouch for a retry; the failure that it was asked about stands. */
function isRetryable(run: Run, retry: Retry, outcome: Outcome, attempt: number): outcome is FailedOutcome {
  if (outcome.status !== "failed" || outcome.by !== "error" || !outcome.retryable) return false;
  try {
    return retry.on.some((matcher) => matches(matcher, outcome.error)) && passes(retry.gates, run.task, outcome.error, attempt + 1);
  } catch (thrown) {
    reportObserver(run, "a predicate or gate of @retryOn()", thrown);
    return false;
  }
}

function waitBefore(run: Run, retry: Retry, attempt: number, previousMs: number | undefined): number {
  try {
    return backoffMs(retry, attempt, previousMs, random);
  } catch (thrown) {
    reportObserver(run, "the jitter of @retryOn()", thrown);
    return retry.delayMs;
  }
}

/**
 * Work that has timed out may go on. Another attempt beside it could do the same thing twice, so it is waited for, though not for long:
 *
 *     attempt 1   |- work --------- deadline | stops, since its signal aborted |
 *     attempt 2                              | waits ..........................|- work
 */
async function comesToRest(run: Run, ms: number): Promise<boolean> {
  const { aftermath } = run;
  if (aftermath === undefined) return true;
  const resting = new AbortScope();
  const stopListening = run.scope.onAbort(() => resting.abort("called off"));
  let atRest = false;
  void aftermath.then(() => {
    atRest = true;
    resting.abort("at rest");
  });
  await sleep(run.clock, ms, resting);
  stopListening();
  if (atRest) run.aftermath = undefined;
  return atRest;
}

function stillAtWork(outcome: FailedOutcome): FailedOutcome {
  return {
    ...outcome,
    reason: `${outcome.reason ?? outcome.error.message}; not tried again, since the work of that attempt still goes on`,
  };
}
