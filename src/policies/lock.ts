import { keyedChange } from "../claims/keyed-policy.js";
import { claimPrefix } from "../claims/prefixes.js";
import { checkFields, type CallsFor, type FieldsDecorator, type Literal, type ResolverFunction } from "../claims/resolver.js";
import { DefinitionError } from "../errors.js";
import type { TaskClass } from "../task/contract.js";
import { contractFeature } from "../task/contract-feature.js";
import type { LayerFeature, RankedLayer } from "../task/layer.js";
import { checkClassTarget, declare, effective, type TaskDecorator, type TaskType } from "../task/metadata.js";
import { keyNameOf } from "../task/name.js";
import type { Task } from "../task/task.js";
import { lockLayer } from "./lock-layer.js";
import { describeLock, mergeLock, parseLock, resolveLock, type LockChange, type LockMerged, type LockOptions } from "./lock-options.js";

export const lockFeature: LayerFeature<LockChange, LockMerged> = {
  name: "lock",
  merge: mergeLock,
  describe: (merged) => (merged.off ? undefined : describeLock(resolveLock(merged))),
  layers: (merged, type) => (merged.off ? [] : [lockFor(merged, type)]),
};

function lockFor(merged: LockMerged, type: TaskClass): RankedLayer {
  const options = resolveLock(merged);
  const { resolver } = options;
  const name = options.scope ?? keyNameOf(type);
  if (resolver === undefined) {
    throw new DefinitionError(
      `${name}: @lockWith() has options but no resolver, here or on a parent. Name the field that makes the key: @lockWith("walletId").`,
    );
  }
  checkFields("@lockWith()", resolver, effective(type, contractFeature) ?? {}, name);
  claimPrefix("@lockWith()", `${options.namespace}:${name}:`, type, { shared: options.scope !== undefined });
  return { rank: "lock", layer: lockLayer(options, name) };
}

/**
 * One run at a time for each key, also between processes. The lock is renewed while the run is at work and freed after it; a run that
 * finds it held waits for as long as `wait` says, and then fails with the code `locked`.
 *
 * The resolver has the same forms as that of `@idempotentBy`. Options alone are merged into the inherited ones; a new resolver keeps
 * the inherited options; `false` turns it off. A lock does not remember success: that is what `@idempotentBy` is for.
 *
 * @throws {DefinitionError} when the resolver or an option has the wrong shape.
 */
export function lockWith<const Field extends string, T extends Task = Task>(
  resolver: Field | readonly Field[],
  options?: LockOptions<T>,
): FieldsDecorator<Field, T>;
export function lockWith<T extends Task = Task>(resolver: Literal, options?: LockOptions<T>): TaskDecorator<T>;
export function lockWith<T extends Task = Task>(resolver: ResolverFunction<T>, options?: LockOptions<T>): TaskDecorator<T>;
export function lockWith<T extends Task = Task>(resolver: CallsFor<T>, options?: LockOptions<T>): TaskDecorator<T>;
export function lockWith<T extends Task = Task>(options: LockOptions<T> | false): TaskDecorator<T>;
export function lockWith(resolver: unknown, options?: LockOptions<never>): (target: TaskType, context?: unknown) => void {
  const change = keyedChange("@lockWith()", resolver, options, parseLock);
  return (target, context) => {
    checkClassTarget("@lockWith()", target, context);
    declare(target, lockFeature, change);
  };
}
