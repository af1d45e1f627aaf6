import { InvalidOutputError } from "../errors.js";
import type { Layer } from "./layer.js";
import type { Outcome, SuccessOutcome } from "./outcome.js";
import type { Run } from "./run.js";
import { issuesText, type Parser } from "./schema.js";
import { failureOfThrown } from "./thrown-outcome.js";

/** Holds the output of every success against the output schema, that of `this.success()` included. */
export function verifyOutput(parse: Parser): Layer {
  return (next) => async (run) => {
    const outcome = await next(run);
    return outcome.status === "success" && outcome.replayed !== true ? verify(run, parse, outcome) : outcome;
  };
}

async function verify(run: Run, parse: Parser, outcome: SuccessOutcome): Promise<Outcome> {
  try {
    const answer = parse(outcome.output);
    const verified = answer instanceof Promise ? await answer : answer;
    if ("value" in verified) return { ...outcome, output: verified.value };
    const { issues } = verified;
    const error = new InvalidOutputError(`${run.plan.name} returned an output that does not fit its schema: ${issuesText(issues)}`, issues);
    return { status: "failed", by: "error", error, reason: error.message, issues, retryable: true, metadata: { code: "invalid_output" } };
  } catch (thrown) {
    return failureOfThrown(run, thrown);
  }
}
