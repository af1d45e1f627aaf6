import { keyedChange } from "../claims/keyed-policy.js";
import { claimPrefix } from "../claims/prefixes.js";
import { DefinitionError } from "../errors.js";
import { checkFields, type CallsFor, type FieldsDecorator, type Literal, type ResolverFunction } from "../claims/resolver.js";
import type { TaskClass } from "../task/contract.js";
import { contractFeature } from "../task/contract-feature.js";
import type { LayerFeature, RankedLayer } from "../task/layer.js";
import { checkClassTarget, declare, effective, type TaskDecorator, type TaskType } from "../task/metadata.js";
import { keyNameOf } from "../task/name.js";
import type { Task } from "../task/task.js";
import { encodeLayer, idempotencyLayer } from "./idempotency.js";
import { claimName } from "./names.js";
import {
  describeOptions,
  mergeChange,
  parseOptions,
  resolveOptions,
  type Change,
  type Idempotency,
  type IdempotencyOptions,
  type Merged,
} from "./options.js";

export const idempotencyFeature: LayerFeature<Change, Merged> = {
  name: "idempotency",
  takesKey: true,
  merge: mergeChange,
  describe: (merged) => (merged.off ? undefined : describeOptions(resolveOptions(merged))),
  layers(merged, type) {
    return merged.off ? [] : layersOf(resolveOptions(merged), type);
  },
};

function layersOf(options: Idempotency, type: TaskClass): readonly RankedLayer[] {
  const name = keyNameOf(type);
  const contract = effective(type, contractFeature) ?? {};
  const replays = options.onDuplicate.completed === "replay";
  if (options.resolver === undefined) {
    throw new DefinitionError(
      `${name}: @idempotentBy() has options but no resolver, here or on a parent. Name the field that makes the key: @idempotentBy("paymentId").`,
    );
  }
  if (replays && contract.output === undefined) {
    throw new DefinitionError(
      `${name}: onDuplicate "replay" needs an output schema, to give the output back with its types. Add output: z.object({ … }) to Task.with().`,
    );
  }
  checkFields("@idempotentBy()", options.resolver, contract, name);
  claimName(options.namespace, name, type);
  claimPrefix("@idempotentBy()", `${options.namespace}:${name}:`, type, { shared: true }); // among themselves, names are looked at above
  const layer: RankedLayer = { rank: "idempotency", layer: idempotencyLayer(options, name) };
  return replays ? [layer, { rank: "encode", layer: encodeLayer(options) }] : [layer];
}

/** The effective configuration of a class; undefined when it has none or turned it off. */
export function idempotencyOf(type: object): Idempotency | undefined {
  const merged = effective(type, idempotencyFeature);
  return merged === undefined || merged.off ? undefined : resolveOptions(merged);
}

/**
 * Lets one run through for each key: the second caller with the same key stops before `work`, also in another process.
 *
 * The resolver is the name of an input field, an array of names, {@link literal}, a function of the task, or an object with
 * `call(task)`. Options alone are merged into the inherited ones; a new resolver keeps the inherited options; `false` turns it off.
 *
 * @throws {DefinitionError} when the resolver or an option has the wrong shape.
 */
export function idempotentBy<const Field extends string, T extends Task = Task>(
  resolver: Field | readonly Field[],
  options?: IdempotencyOptions<T>,
): FieldsDecorator<Field, T>;
export function idempotentBy<T extends Task = Task>(resolver: Literal, options?: IdempotencyOptions<T>): TaskDecorator<T>;
export function idempotentBy<T extends Task = Task>(resolver: ResolverFunction<T>, options?: IdempotencyOptions<T>): TaskDecorator<T>;
export function idempotentBy<T extends Task = Task>(resolver: CallsFor<T>, options?: IdempotencyOptions<T>): TaskDecorator<T>;
export function idempotentBy<T extends Task = Task>(options: IdempotencyOptions<T> | false): TaskDecorator<T>;
export function idempotentBy(resolver: unknown, options?: IdempotencyOptions<never>): (target: TaskType, context?: unknown) => void {
  const change = keyedChange("@idempotentBy()", resolver, options, parseOptions);
  return (target, context) => {
    checkClassTarget("@idempotentBy()", target, context);
    declare(target, idempotencyFeature, change);
  };
}
