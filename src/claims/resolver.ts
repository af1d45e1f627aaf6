import { DefinitionError } from "../errors.js";
import { isThenable, type Awaitable } from "../support/and-then.js";
import { describe } from "../support/check.js";
import { isPlain } from "../support/freeze.js";
import type { AnyContract } from "../task/contract-feature.js";
import type { TaskType } from "../task/metadata.js";
import type { Json } from "../task/result-json.js";
import type { Run } from "../task/run.js";
import type { Task } from "../task/task.js";
import { segmentText, type Segment } from "./key.js";

/** Gives the segment of the key. Called once in a run, with the task as `this` and as argument, after the input is parsed. */
export type ResolverFunction<T extends Task = Task> = (this: T, task: T) => Segment | Promise<Segment>;
export type Resolver =
  | { readonly kind: "field"; readonly field: string }
  | { readonly kind: "fields"; readonly fields: readonly string[] }
  | { readonly kind: "literal"; readonly text: string }
  | { readonly kind: "function"; readonly call: ResolverFunction<never> };

/** A resolver that is an object. Functions have a `call` as well, which takes anything; their `apply` tells them apart. */
export interface CallsFor<T extends Task> {
  call(task: T): Segment | Promise<Segment>;
  readonly apply?: never;
}

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
export function parseResolver(owner: string, given: unknown): Resolver {
  return Object.freeze(parse(owner, given));
}

function parse(owner: string, given: unknown): Resolver {
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
    `${owner} takes the name of an input field, an array of names, literal("…"), a function, or an object with call(task), got ${describe(given)}.`,
  );
}

/** The segment's text, or undefined when it is blank. Throws what the resolver throws. */
export function resolveSegment(resolver: Resolver, run: Run): Awaitable<string | undefined> {
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
export function checkFields(owner: string, resolver: Resolver, { input }: AnyContract, taskName: string): void {
  const fields = resolver.kind === "field" ? [resolver.field] : resolver.kind === "fields" ? resolver.fields : [];
  const shape: unknown = input === undefined ? {} : "shape" in input ? input.shape : undefined; // unknown for schemas that keep it elsewhere
  if (typeof shape !== "object" || shape === null) return;
  const missing = fields.find((field) => !Object.hasOwn(shape, field));
  if (missing === undefined) return;
  throw new DefinitionError(
    `${taskName}: ${owner} names the field ${describe(missing)}, which its input does not have. Fields: ${Object.keys(shape).join(", ") || "none"}. For a fixed key write literal(${describe(missing)}).`,
  );
}

/** Are these options, as opposed to a resolver? */
export function isOptions(value: unknown): value is object {
  return (
    typeof value === "object" && value !== null && isPlain(value) && !("call" in value) && !("literal" in value) && !Array.isArray(value)
  );
}

/** The resolver as plain data for people to read. */
export function describeResolver(resolver: Resolver): Json {
  switch (resolver.kind) {
    case "field":
      return resolver.field;
    case "fields":
      return resolver.fields;
    case "literal":
      return `literal: ${resolver.text}`;
    case "function":
      return "a function";
  }
}

/** The classes that a resolver by field names can stand on: those whose input has the fields, and bases without an input of their own. */
type WithFields<C extends TaskType, Field extends string> =
  InstanceType<C> extends { readonly input: infer Input }
    ? [Field] extends [keyof Input]
      ? C
      : NoSuchField<Exclude<Field, keyof Input>>
    : C;
interface NoSuchField<Field extends string> {
  readonly "the task's input has no such field": Field;
}
/** A class decorator that checks the names of input fields. */
export interface FieldsDecorator<Field extends string, T extends Task = Task> {
  <C extends abstract new (...args: never[]) => T>(target: C & WithFields<C, Field>, context?: ClassDecoratorContext<C>): void;
}
