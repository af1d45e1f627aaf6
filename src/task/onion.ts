import { NextError } from "../errors.js";
import { outcomeOfThrown } from "./thrown-outcome.js";
import { passes, type Gates } from "./gates.js";
import { reportObserver } from "./observers.js";
import { isOutcome, type FailedOutcome, type Outcome } from "./outcome.js";
import type { Run } from "./run.js";
import type { Task } from "./task.js";

/** Goes on with the run and tells what became of it. To be called once. */
export type Next = () => Promise<Outcome>;

/** A middleware or an `around_execution` callback. */
export interface Link {
  /** For the error that names it. */
  readonly name: string;
  readonly gates: Gates;
  call(task: Task, next: Next): unknown;
}

/** Runs the links around the core, the first one outermost. Never rejects. */
export function throughLinks(run: Run, links: readonly Link[], core: (run: Run) => Promise<Outcome>, at = 0): Promise<Outcome> {
  const link = links[at];
  return link === undefined ? core(run) : throughLink(run, link, () => throughLinks(run, links, core, at + 1));
}

async function throughLink(run: Run, link: Link, inward: Next): Promise<Outcome> {
  let inner: Promise<Outcome> | undefined;
  let twice: NextError | undefined;
  const next: Next = () => {
    if (inner === undefined) return (inner = inward());
    twice ??= new NextError(`${link.name} called next twice. The run went on once; call next a single time.`);
    return Promise.reject(twice);
  };

  try {
    if (!passes(link.gates, run.task)) return await inward();
    const answer: unknown = await link.call(run.task, next);
    if (twice !== undefined) throw twice;
    if (inner === undefined) return run.seal(run.halt ?? (isOutcome(answer) ? answer : missingNext(link)));
    const outcome = await inner;
    if (isOutcome(answer) && answer !== outcome)
      throw new NextError(`${link.name} answered with an outcome of its own after next; it is too late for that.`);
    return outcome;
  } catch (thrown) {
    if (inner === undefined) return run.seal(outcomeOfThrown(run, thrown));
    const outcome = await inner;
    reportObserver(run, link.name, thrown); // what happens after next changes nothing
    return outcome;
  }
}

function missingNext(link: Link): FailedOutcome {
  const error = new NextError(
    `${link.name} never called next and answered with no outcome. Call next, or return an outcome, skip or fail.`,
  );
  return { status: "failed", by: "error", error, reason: error.message, retryable: false };
}
