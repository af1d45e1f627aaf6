import { DefinitionError } from "../errors.js";
import { segmentText } from "../claims/key.js";
import { isThenable } from "../support/and-then.js";
import { describe } from "../support/check.js";
import type { AnyContract } from "../task/contract-feature.js";
import type { Run } from "../task/run.js";
import type { Resolver, ResolverFunction } from "./options.js";

/** A text to be used as it stands, as opposed to the name of a field. Made by {@link literal}. */
export interface Literal {
  readonly literal: string;
}

/**
 * A key that is the same for every run of the task: `@idempotentBy(literal("nightly-report"))`.
 *
 * @throws {DefinitionError} when the text is blank.
 */
export function literal(text: string): Literal {
  if (typeof text !== "string" || text.trim() === "")
    throw new DefinitionError(`literal() takes a text that is not blank, got ${describe(text)}.`);
  return Object.freeze({ literal: text });
}

/** @throws {DefinitionError} when it has none of the forms of a resolver. */
export function parseResolver(given: unknown): Resolver {
  if (typeof given === "string" && given !== "") return { kind: "field", field: given };
  if (Array.isArray(given) && given.length > 0 && given.every((field) => typeof field === "string" && field !== ""))
    return { kind: "fields", fields: Object.freeze([...(given as readonly string[])]) }; // each was checked just now
  if (typeof given === "function") return { kind: "function", call: given as ResolverFunction<never> }; // what it takes is checked where it is declared
  if (typeof given === "object" && given !== null) {
    if ("literal" in given) return { kind: "literal", text: literal(given.literal as string).literal }; // it checks what it is given
    if ("call" in given && typeof given.call === "function")
      return { kind: "function", call: given.call.bind(given) as ResolverFunction<never> }; // as above
  }
  throw new DefinitionError(
    `@idempotentBy() takes the name of an input field, an array of names, literal("…"), a function, or an object with call(task), got ${describe(given)}.`,
  );
}

/** The segment's text, or undefined when it is blank. Throws what the resolver throws. */
export function resolveSegment(resolver: Resolver, run: Run): string | undefined | Promise<string | undefined> {
  switch (resolver.kind) {
    case "field":
      return segmentText(fieldOf(run, resolver.field));
    case "fields":
      return segmentText(resolver.fields.map((field) => fieldOf(run, field)));
    case "literal":
      return resolver.text;
    case "function": {
      const segment: unknown = Reflect.apply(resolver.call, run.task, [run.task]);
      return isThenable(segment) ? Promise.resolve(segment).then(segmentText) : segmentText(segment);
    }
  }
}

/** What all objects have is no field, unless somebody gave the input one of that name. An instance of a class may compute its fields. */
function fieldOf(run: Run, field: string): unknown {
  const parsed = run.input?.parsed ?? {};
  return Object.hasOwn(parsed, field) || !(field in Object.prototype) ? Reflect.get(parsed, field) : undefined;
}

/**
 * A misspelt field would leave every run without a key, and so without protection. Compilers see it; this is for those who have none.
 *
 * @throws {DefinitionError} when the schema is known to have no such field.
 */
export function checkFields(resolver: Resolver, { input }: AnyContract, taskName: string): void {
  const fields = resolver.kind === "field" ? [resolver.field] : resolver.kind === "fields" ? resolver.fields : [];
  const shape: unknown = input === undefined ? {} : "shape" in input ? input.shape : undefined; // unknown for schemas that keep it elsewhere
  if (typeof shape !== "object" || shape === null) return;
  const missing = fields.find((field) => !Object.hasOwn(shape, field));
  if (missing === undefined) return;
  throw new DefinitionError(
    `${taskName}: @idempotentBy() names the field ${describe(missing)}, which its input does not have. Fields: ${Object.keys(shape).join(", ") || "none"}. For a fixed key write literal(${describe(missing)}).`,
  );
}
