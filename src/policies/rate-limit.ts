import { claimPrefix } from "../claims/prefixes.js";
import { checkFields, type CallsFor, type FieldsDecorator, type Literal, type ResolverFunction } from "../claims/resolver.js";
import type { TaskClass } from "../task/contract.js";
import { contractFeature } from "../task/contract-feature.js";
import type { LayerFeature, RankedLayer } from "../task/layer.js";
import { checkClassTarget, declare, effective, type TaskDecorator, type TaskType } from "../task/metadata.js";
import { keyNameOf } from "../task/name.js";
import type { Task } from "../task/task.js";
import { claimCount, type CountPlace } from "./counts.js";
import { rateLimitLayer } from "./rate-limit-layer.js";
import {
  describeRateLimit,
  mergeRateLimit,
  parseRateLimit,
  resolveRateLimit,
  type KeylessRateLimitOptions,
  type RateLimitChange,
  type RateLimitMerged,
  type RateLimitOptions,
} from "./rate-limit-options.js";

export const rateLimitFeature: LayerFeature<RateLimitChange, RateLimitMerged> = {
  name: "rateLimit",
  merge: mergeRateLimit,
  describe: ({ off, options }) => (off ? undefined : describeRateLimit(options)),
  layers: (merged, type) => (merged.off ? [] : [limitFor(merged, type)]),
};

function limitFor(merged: RateLimitMerged, type: TaskClass): RankedLayer {
  const name = merged.options.scope ?? keyNameOf(type);
  const options = resolveRateLimit(merged, name);
  if (options.by !== undefined) checkFields("@rateLimit()", options.by, effective(type, contractFeature) ?? {}, name);
  claimCount(type, placeOf);
  claimPrefix("@rateLimit()", `${options.namespace}:${name}:`, type, { shared: true }); // among themselves, counts are looked at above
  return { rank: "rateLimit", layer: rateLimitLayer(options, name) };
}

/** Where a class counts its runs, if it does. */
function placeOf(type: object): CountPlace | undefined {
  const merged = effective(type, rateLimitFeature);
  if (merged === undefined || merged.off) return undefined;
  const { namespace, scope, perMs } = merged.options;
  return { prefix: `${namespace}:${scope ?? keyNameOf(type)}:`, perMs, shared: scope !== undefined };
}

/**
 * Lets so many runs begin in each window of time, for each key, and refuses the others with `retryAfterMs`: over all processes on a
 * store that can count, as Redis can.
 *
 * On a subclass, options replace the inherited ones that they name; `false` turns it off.
 *
 * @throws {DefinitionError} when an option is unknown or has the wrong shape.
 */
export function rateLimit<T extends Task = Task>(
  options: (KeylessRateLimitOptions<T> & { readonly by?: Literal | ResolverFunction<T> | null }) | false,
): TaskDecorator<T>;
export function rateLimit<T extends Task = Task>(options: KeylessRateLimitOptions<T> & { readonly by: CallsFor<T> }): TaskDecorator<T>;
export function rateLimit<const Field extends string, T extends Task = Task>(
  options: KeylessRateLimitOptions<T> & { readonly by: Field | readonly Field[] },
): FieldsDecorator<Field, T>;
export function rateLimit<T extends Task = Task>(options: RateLimitOptions<T>): TaskDecorator<T>;
export function rateLimit(options: RateLimitOptions<never> | false): (target: TaskType, context?: unknown) => void {
  const change = options === false ? false : parseRateLimit(options);
  return (target, context) => {
    checkClassTarget("@rateLimit()", target, context);
    declare(target, rateLimitFeature, change);
  };
}
