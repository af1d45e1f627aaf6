import {
  CircuitState,
  circuitBreaker,
  ConsecutiveBreaker,
  handleWhenResult,
  type CircuitBreakerPolicy,
  type IBackoff,
  type IBreaker,
} from "cockatiel";
import type { Clock } from "../support/clock.js";
import { insideRun } from "../task/chain.js";
import type { Step } from "../task/layer.js";
import { announce } from "../task/observers.js";
import type { Outcome } from "../task/outcome.js";
import type { Run } from "../task/run.js";
import { Sampling, type SamplingRule } from "./sampling.js";

/** When a circuit opens, and for how long. */
export interface CircuitRule {
  readonly opens: { readonly threshold: number } | { readonly sampling: SamplingRule };
  readonly coolOffMs: number;
}

/** How a run has ended, for the circuit. `nothing` neither opens nor closes it. */
type Ended =
  | { readonly verdict: "success"; readonly run: Run }
  | { readonly verdict: "failure"; readonly run: Run; readonly error: Error }
  | { readonly verdict: "nothing" };

/** The one run that a half-open circuit has let through. */
interface Probe {
  readonly run: Run;
  readonly givenUpAt: number;
  readonly end: (ended: Ended) => void;
  /** Was the circuit told how it ended? It then draws its conclusion within this turn of the event loop. */
  ended: boolean;
  readonly concluded: Promise<unknown>;
}

/** What a run that meets a probe under way is told at the most, in milliseconds: a probe has mostly ended by then. */
const PROBE_PAUSE_MS = 1_000;

/**
 * One circuit: closed, open, or half-open. The states and the moves between them are cockatiel's; here is what it is told, and when:
 *
 * - its time is our clock's;
 * - of a half-open circuit it never hears of a second run, since it would make that one wait;
 * - a probe that ends with nothing to say, or not within another cool-off, leaves the circuit half-open for the next run;
 * - what was let through before the circuit opened says nothing about it afterwards.
 */
export class Circuit {
  readonly name: string;
  readonly rule: CircuitRule;
  readonly clock: Clock;
  readonly #policy: CircuitBreakerPolicy;
  readonly #coolOff: CoolOff;
  #probe: Probe | undefined;
  #openings = 0;
  /** The failure that has opened it last. */
  lastError: Error | undefined;

  constructor(name: string, rule: CircuitRule, clock: Clock) {
    this.name = name;
    this.rule = rule;
    this.clock = clock;
    this.#coolOff = new CoolOff(clock, rule.coolOffMs);
    const breaker = "sampling" in rule.opens ? samplingBreaker(rule.opens.sampling, clock) : new ConsecutiveBreaker(rule.opens.threshold);
    const isFailure = handleWhenResult((ended) => (ended as Ended).verdict !== "success"); // all that it is ever given
    this.#policy = circuitBreaker(isFailure, { breaker, halfOpenAfter: this.#coolOff });
    this.#policy.onBreak((reason) => {
      if ("value" in reason) this.#opened(reason.value as Ended); // likewise
    });
  }

  get state(): "closed" | "open" | "half_open" {
    if (this.#policy.state === CircuitState.Closed) return "closed";
    return this.#policy.state === CircuitState.Open && !this.#coolOff.over ? "open" : "half_open";
  }

  /** How long until a run may be let through, in whole milliseconds; 0 when the next one is. */
  get retryAfterMs(): number {
    const now = this.clock.now();
    if (this.#probe !== undefined) return Math.ceil(Math.max(1, Math.min(PROBE_PAUSE_MS, this.#probe.givenUpAt - now)));
    return this.state === "open" ? Math.ceil(this.#coolOff.until - now) : 0;
  }

  /** May this run go through? Runs inside a probe are part of it. */
  admits(run: Run): boolean {
    return this.retryAfterMs === 0 || this.#isProbing(run);
  }

  /** Takes a run that was admitted through the circuit, and draws the conclusion from how it ends. */
  async watch(run: Run, next: Step): Promise<Outcome> {
    if (this.#isProbing(run)) return next(run);
    if (this.state !== "closed") return this.#try(run, next);
    const openings = this.#openings;
    const outcome = await next(run);
    const ended = endedOf(run, outcome);
    if (ended.verdict !== "nothing" && openings === this.#openings) await this.#policy.execute(() => ended);
    return outcome;
  }

  async #try(run: Run, next: Step): Promise<Outcome> {
    const probe = this.#startProbe(run);
    const stopWaiting = this.clock.timer(this.rule.coolOffMs, () => void this.#end(probe, { verdict: "nothing" }), { background: true });
    announce(run, "circuit_half_opened")?.({ circuit: this.name });
    const outcome = await next(run);
    stopWaiting();
    await this.#conclude(probe, endedOf(run, outcome));
    return outcome;
  }

  /** Has cockatiel go to half-open, which it does at once, and wait for the end of the probe. */
  #startProbe(run: Run): Probe {
    let end: Probe["end"] = () => undefined;
    const verdict = new Promise<Ended>((resolve) => {
      end = resolve;
    });
    const concluded = this.#policy.execute(() => verdict).then(() => (this.#probe = undefined));
    return (this.#probe = { run, end, concluded, ended: false, givenUpAt: this.clock.now() + this.rule.coolOffMs });
  }

  /**
   * A probe that was given up still knows more than nobody: what it says when it ends at last counts in the place of the one that is
   * under way, or by itself. Otherwise work that takes longer than a cool-off could never close its circuit.
   */
  async #conclude(probe: Probe, ended: Ended): Promise<void> {
    if (ended.verdict === "nothing") return this.#end(probe, ended);
    if (this.state !== "half_open") return;
    const current = this.#probe ?? this.#startProbe(ended.run);
    if (current.ended) return;
    await this.#end(current, ended);
    if (ended.verdict === "success") announce(ended.run, "circuit_closed")?.({ circuit: this.name });
  }

  async #end(probe: Probe, ended: Ended): Promise<void> {
    if (this.#probe !== probe || probe.ended) return;
    probe.ended = true;
    probe.end(ended);
    await probe.concluded;
  }

  #opened(ended: Ended): void {
    if (ended.verdict !== "failure") return;
    const { run, error } = ended;
    this.#openings += 1;
    this.lastError = error;
    // Whoever listens belongs to the run that failed, wherever cockatiel comes to tell of it.
    insideRun(run, () => announce(run, "circuit_opened")?.({ circuit: this.name, coolOffMs: this.rule.coolOffMs, error }));
  }

  #isProbing(run: Run): boolean {
    if (this.#probe === undefined) return false;
    for (let above = run.parent; above !== undefined; above = above.parent) if (above === this.#probe.run) return true;
    return false;
  }
}

/** A probe that got through begins a new count. */
function samplingBreaker(rule: SamplingRule, clock: Clock): IBreaker {
  const sampling = new Sampling(rule, clock);
  return {
    state: undefined, // for hand-overs between processes, of which there are none
    success(state) {
      if (state === CircuitState.HalfOpen) sampling.clear();
      sampling.success();
    },
    failure: () => sampling.failure(),
  };
}

/** The time from opening to half-open. After a failure it is the whole of it; after a probe that said nothing, none. */
class CoolOff implements IBackoff<{ readonly result: { readonly error: Error } | { readonly value: unknown } }> {
  /** By the clock's `now`. */
  until = 0;
  readonly #clock: Clock;
  readonly #ms: number;

  constructor(clock: Clock, ms: number) {
    this.#clock = clock;
    this.#ms = ms;
  }

  get over(): boolean {
    return this.#clock.now() >= this.until;
  }

  /** Cockatiel holds this against the time that has passed on the wall clock. Endless or none, it says what our clock says. */
  get duration(): number {
    return this.over ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  }

  next({ result }: { readonly result: { readonly error: Error } | { readonly value: unknown } }): this {
    const failed = "value" in result && (result.value as Ended).verdict === "failure"; // all that cockatiel is ever given
    this.until = this.#clock.now() + (failed ? this.#ms : 0);
    return this;
  }
}

/** Only what threw, or came out wrong, is a failure; and only work that was done is a success. */
function endedOf(run: Run, outcome: Outcome): Ended {
  if (outcome.status === "success") return outcome.replayed === true ? { verdict: "nothing" } : { verdict: "success", run };
  if (outcome.status === "failed" && outcome.by === "error") return { verdict: "failure", run, error: outcome.error };
  return { verdict: "nothing" };
}
