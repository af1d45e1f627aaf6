import { countingStore } from "../claims/counting-store.js";
import { keyOf, orOutcome } from "../claims/keyed.js";
import type { Resolver } from "../claims/resolver.js";
import { storeOf, storeTimeoutMs } from "../claims/store-of.js";
import { RateLimitedError, StoreUnavailableError } from "../errors.js";
import type { Awaitable } from "../support/and-then.js";
import { messageOf, toError } from "../support/thrown.js";
import { withinTime } from "../support/time-limit.js";
import type { Layer, Step } from "../task/layer.js";
import { announce } from "../task/observers.js";
import type { FailedOutcome, Outcome } from "../task/outcome.js";
import type { Run } from "../task/run.js";
import { Limiter, type LimiterAnswer } from "./limiter.js";
import type { RateLimit } from "./rate-limit-options.js";

/** The segment of a task that has one count for all its runs. */
const ALL = "*";

/** The layer that lets so many runs begin in each window. It is the outermost: what it refuses touches no circuit, lock or slot. */
export function rateLimitLayer(options: RateLimit, name: string): Layer {
  const limiter = new Limiter(options.limit, options.perMs);
  const resolver: Resolver = options.by ?? { kind: "literal", text: ALL };
  const rule = { ...options, resolver };
  return (next) => async (run) => {
    const keyed = await orOutcome(run, () => keyOf(run, rule, name));
    if ("outcome" in keyed) return keyed.outcome;
    if ("bypass" in keyed) return uncounted(run, next, keyed.bypass);
    if (run.scope.cancelled) return run.abortedOutcome();

    const answer = await count(run, limiter, keyed.key);
    if (answer === "cancelled") return run.abortedOutcome();
    if ("error" in answer) {
      return options.onStoreError === "run" ? uncounted(run, next, "store_error") : unavailable(run, keyed.key, answer.error);
    }
    return answer.passes ? next(run) : limited(run, options, keyed.key, answer.expiresInMs);
  };
}

function uncounted(run: Run, next: Step, why: "gate" | "missing_key" | "store_error"): Awaitable<Outcome> {
  announce(run, "rate_limit_bypassed")?.({ why });
  return next(run);
}

/** Asked once: a call whose answer was lost may have counted, and a second one would count the run twice. */
async function count(run: Run, limiter: Limiter, key: string): Promise<LimiterAnswer | { readonly error: Error } | "cancelled"> {
  try {
    const store = countingStore(storeOf(run.plan));
    return await withinTime({ clock: run.clock, ms: storeTimeoutMs(), scope: run.scope }, () => limiter.ask(store, key));
  } catch (thrown) {
    if (run.scope.cancelled) return "cancelled";
    const error = toError(thrown);
    announce(run, "rate_limit_store_error")?.({ rateLimitKey: key, error });
    return { error };
  }
}

function limited(run: Run, { limit }: RateLimit, key: string, expiresInMs: number): FailedOutcome {
  const retryAfterMs = Math.ceil(expiresInMs);
  announce(run, "rate_limited")?.({ code: "rate_limited", rateLimitKey: key, limit, retryAfterMs });
  const error = new RateLimitedError(`${run.plan.name} did not run: ${key} has used up its ${limit} runs for another ${retryAfterMs} ms`);
  const metadata = { code: "rate_limited", rateLimitKey: key, limit, retryAfterMs };
  return { status: "failed", by: "refused", error, reason: error.message, retryable: true, metadata };
}

function unavailable(run: Run, key: string, cause: Error): FailedOutcome {
  const error = new StoreUnavailableError(`${run.plan.name} did not run: it could not be counted under ${key} (${messageOf(cause)})`, {
    cause,
  });
  const metadata = { code: "store_unavailable", rateLimitKey: key };
  return { status: "failed", by: "refused", error, reason: error.message, retryable: true, metadata };
}
