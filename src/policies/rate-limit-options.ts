import { describeResolver, parseResolver, type CallsFor, type Literal, type Resolver, type ResolverFunction } from "../claims/resolver.js";
import { DefinitionError } from "../errors.js";
import { checkInteger, checkOptions, checkWord, describe } from "../support/check.js";
import { toMs, type Duration } from "../support/duration.js";
import { checkGates, type Gates } from "../task/gates.js";
import type { LayerFeature } from "../task/layer.js";
import type { Json } from "../task/result-json.js";
import type { Task } from "../task/task.js";

/** All options but the key, whose forms the decorator tells apart. */
export interface KeylessRateLimitOptions<T extends Task = Task> extends Gates<T> {
  /** So many runs may begin in each window. Needed, here or on a parent. */
  readonly limit?: number;
  /** The length of a window, which begins with the first run in it. Needed, here or on a parent. */
  readonly per?: Duration;
  /** The first piece of the key. @default "cmdx:rate" */
  readonly namespace?: string;
  /** Classes with the same scope share their counts. `null` gives the class counts of its own again. @default the task's name */
  readonly scope?: string | null;
  /** What becomes of a run without a key. @default "run": it goes on uncounted */
  readonly onMissingKey?: "run" | "fail";
  /** What becomes of a run that could not be counted. @default "fail": its work does not run */
  readonly onStoreError?: "fail" | "run";
}

export interface RateLimitOptions<T extends Task = Task> extends KeylessRateLimitOptions<T> {
  /** What is counted apart: a resolver of the forms that `@idempotentBy` takes. `null` clears an inherited one. @default one count for the whole task */
  readonly by?: string | readonly string[] | Literal | ResolverFunction<T> | CallsFor<T> | null;
}

/** The options as the code reads them. */
interface Declared extends Gates {
  readonly limit: number | undefined;
  readonly perMs: number | undefined;
  readonly by: Resolver | undefined;
  readonly namespace: string;
  readonly scope: string | undefined;
  readonly onMissingKey: "run" | "fail";
  readonly onStoreError: "fail" | "run";
}
/** The effective options of a class. */
export interface RateLimit extends Declared {
  readonly limit: number;
  readonly perMs: number;
}

/** One `@rateLimit`: options, or off. */
export type RateLimitChange = Partial<Declared> | false;
/** What a class inherits: its parents' options, also while they are turned off. */
export interface RateLimitMerged {
  readonly off: boolean;
  readonly options: Declared;
}

const DEFAULTS: Declared = {
  limit: undefined,
  perMs: undefined,
  by: undefined,
  namespace: "cmdx:rate",
  scope: undefined,
  onMissingKey: "run",
  onStoreError: "fail",
  if: undefined,
  unless: undefined,
};

export const mergeRateLimit: LayerFeature<RateLimitChange, RateLimitMerged>["merge"] = (inherited, change) => {
  const options = inherited?.options ?? DEFAULTS;
  return change === false ? { off: true, options } : { off: false, options: { ...options, ...change } };
};

/** @throws {DefinitionError} when no class of the line gives what is needed. */
export function resolveRateLimit({ options }: RateLimitMerged, name: string): RateLimit {
  const { limit, perMs } = options;
  if (limit !== undefined && perMs !== undefined) return { ...options, limit, perMs };
  throw new DefinitionError(
    `${name}: @rateLimit() needs ${limit === undefined ? "limit" : "per"}, here or on a parent: @rateLimit({ limit: 100, per: "1m" }).`,
  );
}

const ALLOWED = "limit per by namespace scope onMissingKey onStoreError if unless".split(" ");

/** @throws {DefinitionError} when an option is unknown or has the wrong shape. */
export function parseRateLimit(given: RateLimitOptions<never>): Partial<Declared> {
  checkOptions("@rateLimit()", given, ALLOWED);
  checkGates("@rateLimit()", given);
  const { limit, per, by, namespace, scope, onMissingKey, onStoreError } = given;
  const option = (name: string): string => `@rateLimit(): ${name}`;
  return {
    ...(limit !== undefined && { limit: checkInteger(option("limit"), limit, 1) }),
    ...(per !== undefined && { perMs: toMs(option("per"), per) }),
    ...(by !== undefined && { by: by === null ? undefined : parseResolver(option("by"), by) }),
    ...(namespace !== undefined && { namespace: checkText(option("namespace"), namespace) }),
    ...(scope !== undefined && { scope: scope === null ? undefined : checkScope(option("scope"), scope) }),
    ...(onMissingKey !== undefined && { onMissingKey: checkWord(option("onMissingKey"), onMissingKey, ["run", "fail"]) }),
    ...(onStoreError !== undefined && { onStoreError: checkWord(option("onStoreError"), onStoreError, ["fail", "run"]) }),
    // A gate gets tasks of the class it stands on only; `null` clears an inherited one.
    ...(given.if !== undefined && { if: given.if as Gates["if"] }),
    ...(given.unless !== undefined && { unless: given.unless as Gates["unless"] }), // likewise
  };
}

function checkText(option: string, text: unknown): string {
  if (typeof text === "string" && text.trim() !== "") return text;
  throw new DefinitionError(`${option} must be a text that is not blank, got ${describe(text)}.`);
}

function checkScope(option: string, scope: unknown): string {
  const text = checkText(option, scope);
  if (!/[:\p{Cc}]/u.test(text)) return text;
  throw new DefinitionError(`${option} has a ":" or a control character, which keys cannot hold, got ${describe(text)}.`);
}

/** The effective options as plain data: what they are, not the functions among them. */
export function describeRateLimit({ by, if: _if, unless: _unless, scope, limit, perMs, ...rest }: Declared): Json {
  return {
    ...rest,
    limit: limit ?? null,
    perMs: perMs ?? null,
    by: by === undefined ? null : describeResolver(by),
    ...(scope !== undefined && { scope }),
  };
}
