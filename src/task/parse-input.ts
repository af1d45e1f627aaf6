import { InvalidInputError } from "../errors.js";
import { describe } from "../support/check.js";
import { isPlain } from "../support/freeze.js";
import { scalarSchema } from "./contract-feature.js";
import type { Outcome } from "./outcome.js";
import type { Run } from "./run.js";
import { issuesText } from "./schema.js";

const NO_INPUT = Object.freeze({});

/** Puts the parsed input on the run, or answers with what is wrong with it. */
export async function parseInput(run: Run): Promise<Outcome | undefined> {
  const { parseInput: parse, name } = run.plan;
  if (parse === undefined) {
    run.input = { parsed: NO_INPUT };
    return undefined;
  }
  // Somebody who gives nothing means no fields: an input whose fields are all optional may be left out.
  const answer = parse(run.given === undefined ? {} : run.given);
  const checked = answer instanceof Promise ? await answer : answer;
  if ("issues" in checked) {
    const { issues } = checked;
    const error = new InvalidInputError(`${name} was given an input that does not fit its schema: ${issuesText(issues)}`, issues);
    return { status: "failed", by: "refused", error, reason: error.message, issues, retryable: false, metadata: { code: "invalid_input" } };
  }
  const { value } = checked;
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw (run.mistake = scalarSchema("input", `one that gives ${describe(value)}`));
  // Read-only in fact, where it is ours to freeze: a schema that copies nothing hands back the caller's own object.
  run.input = { parsed: value !== run.given && isPlain(value) ? Object.freeze(value) : value };
  return undefined;
}
