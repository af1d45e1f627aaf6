import { NextError } from "../errors.js";
import type { Awaitable } from "../support/and-then.js";
import { passes, type Gates } from "./gates.js";
import { Halt } from "./halt.js";
import { reportObserver } from "./observers.js";
import { isOutcome, type FailedOutcome, type Outcome } from "./outcome.js";
import type { Run } from "./run.js";
import type { Task } from "./task.js";
import { outcomeOfThrown } from "./thrown-outcome.js";
import { verified } from "./verify-output.js";

/** Goes on with the run and tells what became of it. To be called once. */
export type Next = () => Promise<Outcome>;

/** A middleware or an `around_execution` callback. */
export interface Link {
  /** For the error that names it. */
  readonly name: string;
  readonly gates: Gates;
  call(task: Task, next: Next): unknown;
}

type Core<Answer extends Awaitable<Outcome> = Awaitable<Outcome>> = (run: Run) => Answer;

/** Runs the links around the core, the first one outermost. Without links, this is the core. */
export function throughLinks<Answer extends Awaitable<Outcome>>(
  run: Run,
  links: readonly Link[],
  core: Core<Answer>,
): Answer | Promise<Outcome> {
  return links.length === 0 ? core(run) : throughLink(run, links, core, 0);
}

async function throughLink(run: Run, links: readonly Link[], core: Core, at: number): Promise<Outcome> {
  const link = links[at];
  if (link === undefined) return coreOutcome(run, core);
  const inward = (): Promise<Outcome> => throughLink(run, links, core, at + 1);
  const passage = new Passage(run, link, inward);
  try {
    if (!passes(link.gates, run.task)) return await inward();
    const answer: unknown = await link.call(run.task, passage.next);
    return await passage.leave(answer);
  } catch (thrown) {
    return passage.fail(thrown);
  }
}

/** What links see of the outcome is what stands. */
async function coreOutcome(run: Run, core: Core): Promise<Outcome> {
  try {
    return run.seal(await verified(run, await core(run)));
  } catch (thrown) {
    return run.seal(outcomeOfThrown(run, thrown));
  }
}

/** One link's way through: it goes in once, or turns the run away, and what it does after that changes nothing. */
class Passage {
  readonly #run: Run;
  readonly #link: Link;
  readonly #inward: Next;
  #inner: Promise<Outcome> | undefined;
  #left = false;
  #told = false;

  constructor(run: Run, link: Link, inward: Next) {
    this.#run = run;
    this.#link = link;
    this.#inward = inward;
  }

  readonly next: Next = () => {
    if (this.#inner === undefined && !this.#left) return (this.#inner = this.#inward());
    const when = this.#inner === undefined ? "after it had answered. The run did not go on" : "twice. The run went on once";
    const error = new NextError(`${this.#link.name} called next ${when}; call next a single time.`);
    if (!this.#told) reportObserver(this.#run, this.#link.name, error);
    this.#told = true;
    const refused = Promise.reject<Outcome>(error);
    refused.catch(() => undefined); // reported already, so it need not be handled
    return refused;
  };

  /** The link came to its end. */
  async leave(answer: unknown): Promise<Outcome> {
    this.#left = true;
    const run = this.#run;
    if (this.#inner === undefined) return run.seal(await verified(run, run.halt ?? (isOutcome(answer) ? answer : this.#missingNext())));
    const outcome = await this.#inner;
    if (isOutcome(answer) && answer !== outcome) {
      reportObserver(
        run,
        this.#link.name,
        new NextError(`${this.#link.name} answered with an outcome of its own after next; it is too late for that.`),
      );
    }
    return outcome;
  }

  /** The link threw. Before next that fails the run; after next it is only reported. */
  async fail(thrown: unknown): Promise<Outcome> {
    this.#left = true;
    const run = this.#run;
    if (this.#inner === undefined) return run.seal(await verified(run, outcomeOfThrown(run, thrown)));
    const outcome = await this.#inner;
    const isKnown = thrown instanceof NextError || (Halt.is(thrown) && thrown.run === run);
    if (!isKnown) reportObserver(run, this.#link.name, thrown);
    return outcome;
  }

  #missingNext(): FailedOutcome {
    const error = new NextError(
      `${this.#link.name} never called next and answered with no outcome. Call next, or return an outcome, skip or fail.`,
    );
    return { status: "failed", by: "error", error, reason: error.message, retryable: false, metadata: { code: "next" } };
  }
}
