import type { Issue } from "../errors.js";
import { isThenable } from "../support/and-then.js";
import { isAlwaysSync } from "./zod-sync.js";

/**
 * The slice of Standard Schema (https://standardschema.dev, version 1) that we use. zod 3.24 and later, valibot and
 * arktype have it, so the core imports no validator.
 */
export interface Schema<Given = unknown, Parsed = Given> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaAnswer<Parsed> | Promise<SchemaAnswer<Parsed>>;
    readonly types?: { readonly input: Given; readonly output: Parsed } | undefined;
  };
}

/** A schema whose parsed value is an object: inputs and outputs are named bags, never a bare string or number. */
export type ObjectSchema = Schema<unknown, object>;

export type GivenBy<S extends Schema> = NonNullable<S["~standard"]["types"]>["input"];
export type ParsedBy<S extends Schema> = NonNullable<S["~standard"]["types"]>["output"];

type SchemaAnswer<Parsed> =
  | { readonly value: Parsed; readonly issues?: undefined }
  | { readonly issues: readonly { readonly message: string; readonly path?: readonly PathSegment[] | undefined }[] };
type PathSegment = PropertyKey | { readonly key: PropertyKey };

/** What came of holding a value against a schema. */
export type Parsed = { readonly value: unknown; readonly issues?: undefined } | { readonly issues: readonly Issue[] };
export type Parser = (value: unknown) => Parsed | Promise<Parsed>;

/** The part of zod that Standard Schema does not show: whether a parse needs to be awaited. */
interface ZodLike {
  readonly _zod: { run(payload: ZodPayload, context: { async: true }): ZodPayload | Promise<ZodPayload> };
  safeParseAsync(value: unknown): Promise<{ success: true; data: unknown } | { success: false; error: { issues: readonly Issue[] } }>;
}
interface ZodPayload {
  readonly value: unknown;
  readonly issues: readonly unknown[];
}

/** The way to hold values against this schema: synchronous where the schema allows it, awaited otherwise. */
export function parserOf(schema: Schema): Parser {
  return isZod(schema) ? zodParser(schema) : (value) => settle(schema["~standard"].validate(value));
}

/**
 * zod's `validate` tries the synchronous way first and starts again when it meets a promise: asynchronous checks would run
 * twice, and a rejection of the first run would be left unhandled. So each value is probed in the way that allows for both, until
 * one was asynchronous; from then on all are awaited. A schema made of parts that are never asynchronous needs no probing.
 */
function zodParser(schema: Schema & ZodLike): Parser {
  if (isAlwaysSync(schema)) return (value) => settle(schema["~standard"].validate(value));
  const awaited: Parser = async (value) => {
    const answer = await schema.safeParseAsync(value);
    return answer.success ? { value: answer.data } : { issues: answer.error.issues.map(toIssue) };
  };
  let parse: Parser = (value) => {
    const probe = schema._zod.run({ value, issues: [] }, { async: true });
    // Issues come from the probe without their texts; the value has shown by then which way to take for them.
    if (!(probe instanceof Promise))
      return probe.issues.length === 0 ? { value: probe.value } : settle(schema["~standard"].validate(value));
    parse = awaited;
    return probe.then((payload) => (payload.issues.length === 0 ? { value: payload.value } : awaited(value)));
  };
  return (value) => parse(value);
}

function settle(answer: SchemaAnswer<unknown> | PromiseLike<SchemaAnswer<unknown>>): Parsed | Promise<Parsed> {
  if (isThenable(answer)) return Promise.resolve(answer).then(settle);
  return answer.issues === undefined ? { value: answer.value } : { issues: answer.issues.map(toIssue) };
}

function toIssue({ message, path = [] }: { message: string; path?: readonly PathSegment[] | undefined }): Issue {
  return { message, path: path.map((segment) => (typeof segment === "object" ? segment.key : segment)) };
}

function isZod(schema: Schema): schema is Schema & ZodLike {
  return schema["~standard"].vendor === "zod" && "_zod" in schema && "safeParseAsync" in schema;
}

/** `amountCents: must be positive; items[0].sku: is required`, for reasons and messages. Some validators quote values in their messages. */
export function issuesText(issues: readonly Issue[]): string {
  return issues.map(({ path, message }) => (path.length === 0 ? message : `${pathText(path)}: ${message}`)).join("; ");
}

function pathText(path: readonly PropertyKey[]): string {
  return path.reduce<string>(
    (text, key) => (typeof key === "number" ? `${text}[${key}]` : text === "" ? String(key) : `${text}.${String(key)}`),
    "",
  );
}
