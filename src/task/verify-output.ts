import { InvalidOutputError } from "../errors.js";
import { andThen, type Awaitable } from "../support/and-then.js";
import type { Layer } from "./layer.js";
import type { Outcome, SuccessOutcome } from "./outcome.js";
import type { Run } from "./run.js";
import { issuesText, type Parsed, type Parser } from "./schema.js";
import { failureOfThrown } from "./thrown-outcome.js";

/** Holds the output of a success against the output schema, where a failure can still be rolled back and frees the claim. */
export const verifyOutput: Layer = (next) => (run) => andThen(next(run), (outcome) => verified(run, outcome));

/** The outcome, with its output verified if it was not yet: that of `work`, of `this.success()`, or of a link that answered by itself. */
export function verified(run: Run, outcome: Outcome): Awaitable<Outcome> {
  const { parseOutput } = run.plan;
  if (parseOutput === undefined || outcome.status !== "success" || outcome === run.verified) return outcome;
  return verify(run, parseOutput, outcome);
}

function verify(run: Run, parse: Parser, outcome: SuccessOutcome): Awaitable<Outcome> {
  try {
    const judged = andThen(parse(outcome.output), (answer) => judge(run, outcome, answer));
    return judged instanceof Promise ? judged.catch((thrown: unknown) => failureOfThrown(run, thrown)) : judged;
  } catch (thrown) {
    return failureOfThrown(run, thrown);
  }
}

function judge(run: Run, outcome: SuccessOutcome, answer: Parsed): Outcome {
  if (answer.issues === undefined) return (run.verified = accepted(outcome, answer.value));
  const { issues } = answer;
  const error = new InvalidOutputError(`${run.plan.name} returned an output that does not fit its schema: ${issuesText(issues)}`, issues);
  return { status: "failed", by: "error", error, reason: error.message, issues, retryable: true, metadata: { code: "invalid_output" } };
}

/** The fields one by one: see `shallowCopy`. */
function accepted({ output: returned, reason, metadata, replayed = false }: SuccessOutcome, output: unknown): SuccessOutcome {
  return { status: "success", output, returned, reason, metadata, replayed };
}
