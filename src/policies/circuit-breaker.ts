import { CircuitOpenError } from "../errors.js";
import { messageOf } from "../support/thrown.js";
import type { TaskClass } from "../task/contract.js";
import { passes, type Gates } from "../task/gates.js";
import type { Layer, LayerFeature } from "../task/layer.js";
import { checkClassTarget, declare, effective, type TaskDecorator } from "../task/metadata.js";
import { announce } from "../task/observers.js";
import type { FailedOutcome, Outcome } from "../task/outcome.js";
import type { Run } from "../task/run.js";
import type { Task } from "../task/task.js";
import { outcomeOfThrown } from "../task/thrown-outcome.js";
import type { Circuit, CircuitRule } from "./circuit.js";
import { DEFAULT_BREAKER, parseBreaker, type Breaker, type BreakerChange, type CircuitBreakerOptions } from "./circuit-options.js";
import { ownCircuit, sharedCircuit } from "./circuits.js";

export const circuitBreakerFeature: LayerFeature<BreakerChange, Breaker> = {
  name: "circuitBreaker",
  merge(inherited = DEFAULT_BREAKER, change) {
    if (change === false) return { ...inherited, off: true };
    return { ...inherited, ...change, off: false, gates: { ...inherited.gates, ...change.gates } };
  },
  describe: ({ off, opens, coolOffMs, scope }) =>
    off
      ? undefined
      : { ...("sampling" in opens ? { sampling: { ...opens.sampling } } : opens), coolOffMs, ...(scope !== undefined && { scope }) },
  layers: (breaker, type) =>
    breaker.off ? [] : [{ rank: "circuitBreaker", layer: breakerLayer(breaker.gates, circuitFor(breaker, type)) }],
};

/**
 * Stops calling what keeps failing: after so many failures the circuit opens, and runs are refused at once; after the cool-off one run
 * is let through, and its end decides whether the circuit closes.
 *
 * Only runs that failed with an error count against it: neither `this.fail()` and skips nor duplicates and runs that were refused or
 * aborted. On a subclass, options replace the inherited ones that they name; `false` turns it off.
 *
 * @throws {DefinitionError} when an option is unknown or has the wrong shape.
 */
export function circuitBreaker<T extends Task = Task>(options: CircuitBreakerOptions<T> | false = {}): TaskDecorator<T> {
  const change = options === false ? false : parseBreaker(options as CircuitBreakerOptions); // gates are passed only tasks of their class
  return (target, context) => {
    checkClassTarget("@circuitBreaker()", target, context);
    declare(target, circuitBreakerFeature, change);
  };
}

/** How a circuit stands, for dashboards and health checks. */
export interface CircuitInfo {
  readonly circuit: string;
  readonly state: "closed" | "open" | "half_open";
  /** How long until a run may be let through, in milliseconds; 0 when the next one is. */
  readonly retryAfterMs: number;
}

/** How the circuit of a task stands in this process; undefined when it has none. */
export function circuitOf(type: TaskClass): CircuitInfo | undefined {
  const breaker = effective(type, circuitBreakerFeature);
  if (breaker === undefined || breaker.off) return undefined;
  const { name, state, retryAfterMs } = circuitFor(breaker, type);
  return { circuit: name, state, retryAfterMs };
}

function circuitFor({ opens, coolOffMs, scope }: Breaker, type: TaskClass): Circuit {
  const rule: CircuitRule = { opens, coolOffMs };
  if (scope === undefined) return ownCircuit(type, rule);
  return sharedCircuit(scope, type, rule, (other) => {
    const breaker = effective(other, circuitBreakerFeature);
    return breaker?.scope === scope && !breaker.off ? { opens: breaker.opens, coolOffMs: breaker.coolOffMs } : undefined;
  });
}

function breakerLayer(gates: Gates, circuit: Circuit): Layer {
  return (next) => async (run) => {
    const gate = askGates(run, gates);
    if (typeof gate === "object") return gate;
    if (!gate) {
      announce(run, "circuit_bypassed")?.({ why: "gate" });
      return next(run);
    }
    return circuit.admits(run) ? circuit.watch(run, next) : refuse(run, circuit);
  };
}

/** A halt in a gate decides, also when it was swallowed there. What a gate throws is an ordinary failure, which the circuit does not count. */
function askGates(run: Run, gates: Gates): boolean | Outcome {
  try {
    const passed = passes(gates, run.task);
    return run.halt ?? passed;
  } catch (thrown) {
    return outcomeOfThrown(run, thrown);
  }
}

function refuse(run: Run, { name, state, retryAfterMs, lastError }: Circuit): FailedOutcome {
  announce(run, "circuit_refused")?.({ code: "circuit_open", circuit: name, retryAfterMs });
  const why = state === "open" ? `is open for another ${retryAfterMs} ms` : "lets one run through at a time to see";
  const last = lastError === undefined ? "" : `, after the failure: ${messageOf(lastError)}`;
  const error = new CircuitOpenError(`${run.plan.name} did not run: the circuit ${name} ${why}${last}`, { cause: lastError });
  const metadata = { code: "circuit_open", circuit: name, retryAfterMs };
  return { status: "failed", by: "refused", error, reason: error.message, retryable: true, metadata };
}
