import { DefinitionError } from "../errors.js";
import { describe } from "../support/check.js";
import type { LayerFeature } from "../task/layer.js";
import { isOptions, parseResolver, type Resolver } from "./resolver.js";

/** One declaration of a policy that has keys: a new resolver, options, both, or off. */
export type KeyedChange<Options> =
  | { readonly off: true }
  | { readonly off: false; readonly resolver: Resolver | undefined; readonly options: Partial<Options> };
/** What a class inherits: its parents' resolver and options, also while they are turned off. */
export interface KeyedMerged<Options> {
  readonly off: boolean;
  readonly resolver: Resolver | undefined;
  readonly options: Options;
}

/** A new resolver turns it on again and keeps the options; options alone change nothing about being on or off. */
export function keyedMerge<Options>(defaults: Options): LayerFeature<KeyedChange<Options>, KeyedMerged<Options>>["merge"] {
  const nothing: KeyedMerged<Options> = { off: false, resolver: undefined, options: defaults };
  return (base = nothing, change) =>
    change.off
      ? { ...base, off: true }
      : {
          off: base.off && change.resolver === undefined,
          resolver: change.resolver ?? base.resolver,
          options: { ...base.options, ...change.options },
        };
}

/**
 * What a decorator was given: a resolver and options, options alone, or `false`.
 *
 * @throws {DefinitionError} when it is none of these, or when the resolver or an option has the wrong shape.
 */
export function keyedChange<Options>(
  owner: string,
  resolver: unknown,
  options: object | undefined,
  parse: (given: object) => Partial<Options>,
): KeyedChange<Options> {
  if (resolver !== false && !isOptions(resolver))
    return { off: false, resolver: parseResolver(owner, resolver), options: parse(options ?? {}) };
  if (options !== undefined)
    throw new DefinitionError(`${owner} takes options once: after a resolver, or alone. With false there is nothing to set.`);
  return resolver === false ? { off: true } : { off: false, resolver: undefined, options: parse(resolver) };
}

/** @throws {DefinitionError} when the text is blank. */
export function checkNamespace(owner: string, namespace: unknown): string {
  if (typeof namespace === "string" && namespace.trim() !== "") return namespace;
  throw new DefinitionError(`${owner}: namespace must be a text that is not blank, got ${describe(namespace)}.`);
}

/** @throws {DefinitionError} when it cannot stand in a key in the place of a task's name. */
export function checkScope(owner: string, scope: unknown): string {
  if (typeof scope !== "string" || scope.trim() === "")
    throw new DefinitionError(`${owner}: scope must be a text that is not blank, got ${describe(scope)}.`);
  if (!/[:\p{Cc}]/u.test(scope)) return scope;
  throw new DefinitionError(`${owner}: scope has a ":" or a control character, which keys cannot hold, got ${describe(scope)}.`);
}
