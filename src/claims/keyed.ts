import { andThen, tryThen, type Awaitable } from "../support/and-then.js";
import { isDefinitionError, MissingKeyError } from "../errors.js";
import { passes, type Gates } from "../task/gates.js";
import type { FailedOutcome, Outcome } from "../task/outcome.js";
import type { Run } from "../task/run.js";
import { outcomeOfThrown } from "../task/thrown-outcome.js";
import { segmentText, StoreKey } from "./key.js";
import { resolveSegment, type Resolver } from "./resolver.js";

/** What makes the key of a run, in every policy that has keys. */
export interface KeyRule extends Gates {
  readonly namespace: string;
  readonly resolver: Resolver | undefined;
  readonly onMissingKey: "run" | "fail";
}
/** The key of a run; or why the run steps aside; or the outcome where it may not. */
export type Keyed = { readonly key: string } | { readonly bypass: "gate" | "missing_key" } | { readonly outcome: Outcome };

/**
 * Gates, then the resolver, then the key. `given` is a key that the caller brings: it replaces what the resolver would give.
 * Throws what people's functions throw.
 */
export function keyOf(run: Run, rule: KeyRule, name: string, given?: string): Awaitable<Keyed> {
  if (!passes(rule, run.task)) return { bypass: "gate" };
  return andThen(given === undefined ? resolved(run, rule) : segmentText(given), (segment) => keyed(run, rule, name, segment));
}

function keyed(run: Run, { namespace, onMissingKey }: KeyRule, name: string, segment: string | undefined): Keyed {
  if (segment !== undefined) return { key: StoreKey.compose(namespace, name, segment) };
  return onMissingKey === "fail" ? { outcome: missingKey(run) } : { bypass: "missing_key" };
}

/**
 * What people's functions gave, or the outcome that it comes to: a halt in a gate or a resolver decides, also when it was swallowed
 * there. What they throw is an ordinary failure, with nothing claimed.
 */
export function orOutcome<T extends object>(run: Run, ask: () => Awaitable<T>): Awaitable<T | { readonly outcome: Outcome }> {
  return tryThen<T, T | { readonly outcome: Outcome }>(
    ask,
    (answer) => (run.halt === undefined ? answer : { outcome: run.halt }),
    (thrown) => {
      const outcome = outcomeOfThrown(run, thrown);
      // A key that cannot be made today cannot be made tomorrow.
      return { outcome: outcome.status === "failed" && isDefinitionError(outcome.error) ? { ...outcome, retryable: false } : outcome };
    },
  );
}

function resolved(run: Run, { resolver }: KeyRule): Awaitable<string | undefined> {
  return resolver === undefined ? undefined : resolveSegment(resolver, run);
}

function missingKey(run: Run): FailedOutcome {
  const error = new MissingKeyError(
    `${run.plan.name} must have a key, and its resolver gave none. Give the fields that make it, or idempotencyKey with the call of an idempotent task.`,
  );
  return { status: "failed", by: "refused", error, reason: error.message, retryable: false, metadata: { code: "missing_key" } };
}
