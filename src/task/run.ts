import { AbortedError, type DefinitionError } from "../errors.js";
import { AbortScope } from "../support/abort.js";
import type { Clock } from "../support/clock.js";
import { addEntries, frozenCopy } from "../support/freeze.js";
import { isError, messageOf } from "../support/thrown.js";
import { uuidv7 } from "../support/uuid.js";
import { Chain, currentSurroundings, Place, runIn } from "./chain.js";
import { configuration } from "./configuration.js";
import type { AnyTask, ExecuteOptions } from "./contract.js";
import { Arrival } from "./origin.js";
import type { FailedOutcome, Outcome, RunRef } from "./outcome.js";
import type { Plan } from "./plan.js";

/** Holding a slot, or a lock, while running. */
export interface Claim {
  /** The key in the store. That of a slot is one to hand to a provider that takes an idempotency key of its own. */
  readonly key: string;
  /** Who holds it: this run and nobody else. */
  readonly owner: string;
  /** Grows from claim to claim on a key. A resource that remembers the highest can refuse a late writer. */
  readonly fence: number;
}

/** Cancellation of one attempt, apart from its run's. */
export interface AttemptScope extends AbortScope {
  /** What the attempt comes to when it was this scope that ended it. */
  readonly overdue: FailedOutcome | undefined;
}

/** A key that a run has asked for: of a slot, or of a lock. */
export interface Hold {
  readonly key: string;
  /** Is it held now? Not before it is granted, and not after it was concluded. */
  readonly held: boolean;
  /** Looks at the clock, whose alarms may be late: a lease that is over is lost, and the run's signal aborts. */
  check(): void;
}

/** One run: everything that is known of it from the call to the result. Layers get it, and may note things on it. */
export class Run {
  readonly plan: Plan;
  readonly task: AnyTask;
  readonly options: ExecuteOptions;
  /** The input as the caller gave it. */
  readonly given: unknown;
  readonly parent: Run | undefined;
  /** The job that the run is an attempt of, when a worker has started it. */
  readonly arrival: Arrival | undefined;
  readonly chain: Chain;
  readonly runId: string;
  readonly index: number;
  readonly depth: number;
  readonly clock: Clock;
  readonly startedAt: number;
  /** Cancellation of this run: by the caller's signal, by the run around it, or by a layer. Parts of it may have scopes of their own: see `Place`. */
  readonly scope: AbortScope;
  /** The scope of the attempt that is under way, where a layer gave it one of its own. */
  attemptScope: AttemptScope | undefined;
  /** The parsed input, once there is one. */
  input: { readonly parsed: object } | undefined;
  /** Calls of `work` so far. */
  attempts = 0;
  /** The outcome that a halt has asked for. It decides, also when the halt itself was swallowed. */
  halt: Outcome | undefined;
  /** What the task and its layers have noted for the result. */
  notes: Record<string, unknown> | undefined;
  /** No halt counts any more: the outcome stands, or the rollback has begun. */
  closed = false;
  /** The slot that is held for this run, while there is one. */
  claim: Claim | undefined;
  /** The lock that is held for this run, while there is one. */
  lock: Claim | undefined;
  /** The keys that were asked for, for this run. */
  holds: Hold[] | undefined;
  /** The output as text, where it is to be kept for replay. */
  encodedOutput: string | undefined;
  /** A programmer's mistake that shows only now: `execute` rejects with it. */
  mistake: DefinitionError | undefined;
  deprecated = false;
  rollback: { readonly done: true } | { readonly error: Error } | undefined;
  /**
   * `work` that still goes on after the run was called off, and what has to follow it. It never rejects. Layers that hold
   * something for the run hold it until then.
   */
  aftermath: Promise<void> | undefined;
  /** Work of runs inside this one that goes on, though they have answered. What this run holds covers it too. */
  lateInside: Promise<void> | undefined;
  /** Is its rollback under way? */
  rollingBack = false;
  /** The outcome whose output has been held against the schema. */
  verified: Outcome | undefined;
  #sealed: Outcome | undefined;

  constructor(plan: Plan, task: AnyTask, given: unknown, options: ExecuteOptions) {
    const around = currentSurroundings();
    const parent = runIn(around);
    this.plan = plan;
    this.task = task;
    this.given = given;
    this.options = options;
    this.parent = parent;
    this.arrival = around instanceof Arrival ? around : undefined;
    this.clock = configuration.clock;
    this.startedAt = this.clock.now();
    this.runId = uuidv7(this.clock.epoch());
    this.chain = parent?.chain ?? chainOf(this.runId, this.arrival);
    this.index = this.chain.nextIndex();
    this.depth = parent === undefined ? (this.arrival?.origin.depth ?? 0) : parent.depth + 1;
    if (options.context !== undefined) this.chain.addContext(options.context);
    this.scope = new AbortScope(around instanceof Place ? around.scope : parent?.scope, options.signal);
  }

  /** The run around this one, or the one that enqueued it. */
  get parentId(): string | undefined {
    return this.parent?.runId ?? this.arrival?.origin.parentId;
  }

  get ref(): RunRef {
    return { task: this.plan.name, runId: this.runId };
  }

  /** Does it undo something: is it part of a rollback? Such runs are let through also while the process is shutting down. */
  get undoes(): boolean {
    return this.parent !== undefined && (this.parent.rollingBack || this.parent.undoes);
  }

  /** What is still at work when the run comes to a point where it would let go: also that of the runs inside it. */
  gatherLateWork(): void {
    if (this.lateInside === undefined) return;
    this.aftermath = both(this.aftermath, this.lateInside);
    this.lateInside = undefined;
  }

  /** The run answers: work of it that goes on is the business of the run around it. */
  leaveLateWork(): void {
    const { parent, aftermath, lateInside } = this;
    if (parent === undefined) return;
    for (const late of [aftermath, lateInside]) if (late !== undefined) parent.lateInside = both(parent.lateInside, late);
  }

  /** Once the layers have returned the outcome, or it was decided before them, nothing changes it any more. */
  seal(outcome: Outcome): Outcome {
    this.closed = true;
    if (this.#sealed !== undefined) return this.#sealed;
    const { metadata } = outcome;
    const sealed = Object.freeze(metadata === undefined ? outcome : Object.assign({}, outcome, { metadata: frozenCopy(metadata) }));
    if (this.verified === outcome) this.verified = sealed;
    return (this.#sealed = sealed);
  }

  /** Does the run still hold what it has claimed? Asked before work begins anew: where not, the run has been aborted. */
  checkHolds(): void {
    if (this.holds !== undefined) for (const hold of this.holds) hold.check();
  }

  /** Adds to what the result's metadata will show. */
  note(entries: object | undefined): void {
    if (entries !== undefined) addEntries(this.notebook, entries);
  }

  /** Where notes are written. Without a prototype: names that somebody else chose are names and nothing more. */
  get notebook(): Record<string, unknown> {
    return (this.notes ??= Object.create(null) as Record<string, unknown>); // what create gives is typed as any
  }

  /** The outcome of a run that was called off: by the caller, or by the run around it. */
  abortedOutcome(): FailedOutcome {
    const { reason } = this.scope;
    const why = isError(reason) ? messageOf(reason) : typeof reason === "string" ? reason : "";
    const error = new AbortedError(`${this.plan.name} was aborted${why === "" ? "" : `: ${why}`}`, { cause: reason });
    return { status: "failed", by: "refused", error, reason: error.message, retryable: true, metadata: { code: "aborted" } };
  }
}

/** The end of both; neither rejects. */
export function both(one: Promise<void> | undefined, other: Promise<void>): Promise<void> {
  return one === undefined ? other : one.then(() => other);
}

/** The chain of a run without one around it: its own, or the one that has crossed a queue. */
function chainOf(runId: string, arrival: Arrival | undefined): Chain {
  if (arrival === undefined) return new Chain(runId);
  const { chainId, index, correlationId } = arrival.origin;
  const chain = new Chain(chainId ?? runId, index);
  chain.correlationId = correlationId;
  return chain;
}
