import { TimeoutError } from "../errors.js";
import { AbortScope } from "../support/abort.js";
import { checkOptions } from "../support/check.js";
import { toMs, type Duration } from "../support/duration.js";
import { insideRun } from "../task/chain.js";
import { checkGates, passes, type Gates } from "../task/gates.js";
import type { Layer, LayerFeature } from "../task/layer.js";
import { checkClassTarget, declare, type TaskDecorator } from "../task/metadata.js";
import { announce } from "../task/observers.js";
import type { FailedOutcome } from "../task/outcome.js";
import type { AttemptScope, Run } from "../task/run.js";
import type { Task } from "../task/task.js";
import { outcomeOfThrown } from "../task/thrown-outcome.js";

interface TimeLimit {
  readonly ms: number;
  readonly gates: Gates;
}

export const timeoutFeature: LayerFeature<TimeLimit | false, TimeLimit> = {
  name: "timeout",
  merge(inherited, declared) {
    return declared === false ? undefined : { ms: declared.ms, gates: { ...inherited?.gates, ...declared.gates } };
  },
  describe: ({ ms }) => ({ timeoutMs: ms }),
  layers: (limit) => [{ rank: "timeout", layer: timeoutLayer(limit) }],
};

/**
 * How long one attempt may take: `@timeout(5)`, `@timeout("250ms")`. At the deadline `this.signal` aborts with a {@link TimeoutError},
 * and the attempt has failed with the code `timeout`, also when the work does not listen. Work that goes on is waited for by all
 * that protects it: a claim, a lock and the rollback.
 *
 * On a subclass, a new time replaces the inherited one and gates are merged; `@timeout(false)` turns it off. Work that never
 * yields to the event loop cannot be stopped by anything.
 *
 * @throws {DefinitionError} when the time is not one, or a gate is no function.
 */
export function timeout<T extends Task = Task>(limit: Duration | false, gates: Gates<T> = {}): TaskDecorator<T> {
  const declared = limit === false ? false : { ms: toMs("@timeout()", limit), gates: parseGates(gates) };
  return (target, context) => {
    checkClassTarget("@timeout()", target, context);
    declare(target, timeoutFeature, declared);
  };
}

function parseGates(gates: Gates<never>): Gates {
  checkOptions("@timeout()", gates, ["if", "unless"]);
  checkGates("@timeout()", gates);
  // A gate gets tasks of the class it stands on only; `null` clears an inherited one.
  return { ...(gates.if !== undefined && { if: gates.if }), ...(gates.unless !== undefined && { unless: gates.unless }) } as Gates;
}

/** Gives each attempt a scope of its own, which the deadline cancels. */
function timeoutLayer({ ms, gates }: TimeLimit): Layer {
  return (next) => async (run) => {
    try {
      const passed = passes(gates, run.task);
      if (run.halt !== undefined) return run.halt; // also when it was swallowed there
      if (!passed) return await next(run);
    } catch (thrown) {
      return outcomeOfThrown(run, thrown);
    }
    const deadline = new Deadline(run, ms);
    run.attemptScope = deadline;
    try {
      return await next(run);
    } finally {
      deadline.end();
      run.attemptScope = undefined;
    }
  };
}

/** The scope of one attempt: aborted and cancelled with its run, and cancelled when its time is up. */
class Deadline extends AbortScope implements AttemptScope {
  overdue: FailedOutcome | undefined;
  readonly #stopFollowing: () => void;
  readonly #cancelTimer: () => void;

  constructor(run: Run, ms: number) {
    super();
    this.cancellable = true;
    // What only tells the run's work, a lost lease say, wants no answer at once here either.
    const follow = (): void => (run.scope.cancelled ? this.cancel(run.scope.reason) : this.abort(run.scope.reason, run.scope.forInner));
    this.#stopFollowing = run.scope.onAbort(follow);
    // Somebody waits for this run: the timer keeps the process alive for as long.
    this.#cancelTimer = run.clock.timer(ms, () => insideRun(run, () => this.#ring(run, ms)));
  }

  end(): void {
    this.#stopFollowing();
    this.#cancelTimer();
  }

  #ring(run: Run, ms: number): void {
    if (this.cancelled) return;
    const error = new TimeoutError(`${run.plan.name} did not end within ${ms} ms`);
    this.overdue = { status: "failed", by: "error", error, reason: error.message, retryable: true, metadata: { code: "timeout" } };
    announce(run, "attempt_timed_out")?.({ attempt: run.attempts, timeoutMs: ms });
    this.cancel(error);
  }
}
