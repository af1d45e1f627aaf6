import { InvalidInputError, type Issue } from "../errors.js";
import { andThen, type Awaitable } from "../support/and-then.js";
import { describe } from "../support/check.js";
import { isPlain, shallowCopy } from "../support/freeze.js";
import { scalarSchema } from "./contract-feature.js";
import type { Outcome } from "./outcome.js";
import type { Run } from "./run.js";
import { issuesText, type Parsed } from "./schema.js";

const NOTHING: object = Object.freeze({});

/** Puts the parsed input on the run, or answers with what is wrong with it. */
export function parseInput(run: Run): Awaitable<Outcome | undefined> {
  const { parseInput: parse } = run.plan;
  // Somebody who gives nothing means no fields: an input whose fields are all optional may be left out.
  const given = run.given === undefined ? NOTHING : run.given;
  return parse === undefined ? takeNothing(run, given) : andThen(parse(given), (answer) => accept(run, answer));
}

function accept(run: Run, answer: Parsed): Outcome | undefined {
  if (answer.issues !== undefined) return invalid(run, answer.issues);
  const { value } = answer;
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw (run.mistake = scalarSchema("input", `one that gives ${describe(value)}`));
  }
  // A copy, so that nobody else's object is frozen: a schema may hand back the caller's own, or one that it keeps.
  run.input = { parsed: isPlain(value) ? Object.freeze(shallowCopy(value)) : value };
  return undefined;
}

/** A task without an input schema takes nothing, rather than dropping in silence what it is given. */
function takeNothing(run: Run, given: unknown): Outcome | undefined {
  const isEmpty = given === NOTHING || (typeof given === "object" && given !== null && isPlain(given) && Object.keys(given).length === 0);
  if (!isEmpty) return invalid(run, [{ path: [], message: `takes no input, got ${describe(given)}` }]);
  run.input = { parsed: NOTHING };
  return undefined;
}

function invalid(run: Run, issues: readonly Issue[]): Outcome {
  const error = new InvalidInputError(`${run.plan.name} was given an input that does not fit its schema: ${issuesText(issues)}`, issues);
  return { status: "failed", by: "refused", error, reason: error.message, issues, retryable: false, metadata: { code: "invalid_input" } };
}
