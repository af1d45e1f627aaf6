import { DefinitionError } from "../errors.js";
import type { Store } from "../stores/store.js";
import type { Telemetry } from "../telemetry/emitter.js";
import { attempt } from "./attempt.js";
import { callbacksOf, groupCallbacks, type Callbacks } from "./callbacks.js";
import { telemetriesOf } from "./class-telemetry.js";
import { compensate } from "./compensate.js";
import { configuration } from "./configuration.js";
import type { TaskClass } from "./contract.js";
import { contractFeature, type AnyContract } from "./contract-feature.js";
import { deprecationFeature, type Deprecation } from "./deprecation.js";
import { compose, isLayerFeature, type LayerFeature, type RankedLayer, type Step } from "./layer.js";
import type { LogFields, Logger } from "./log.js";
import { declarationsOf, declarationsVersion, effective } from "./metadata.js";
import { middlewaresOf } from "./middleware.js";
import { taskNameOf } from "./name.js";
import type { Link } from "./onion.js";
import { parserOf, type Parser } from "./schema.js";
import { settingsFeature } from "./settings.js";
import { verifyOutput } from "./verify-output.js";

/** All that a class's runs have in common, composed once: on the first run, and again when something was declared since. */
export interface Plan {
  readonly type: TaskClass;
  readonly name: string;
  readonly contract: AnyContract;
  readonly parseInput: Parser | undefined;
  readonly parseOutput: Parser | undefined;
  readonly middlewares: readonly Link[];
  readonly callbacks: Callbacks;
  /** The layers around `work`, down to one attempt. */
  readonly layers: Step;
  /** Does a call's `idempotencyKey` mean anything to the class? */
  readonly takesKey: boolean;
  /** What takes part as a layer, by name, with its effective options. */
  readonly policies: Readonly<Record<string, unknown>>;
  readonly deprecation: Deprecation | undefined;
  readonly tags: readonly string[];
  readonly description: string | undefined;
  readonly emitters: readonly Telemetry[];
  readonly logger: Logger | undefined;
  readonly logFields: LogFields;
  readonly store: Store | undefined;
}

const plans = new WeakMap<TaskClass, { readonly plan: Plan; readonly version: number }>();

/** @throws {DefinitionError} when the class cannot be run as it is. */
export function planOf(type: TaskClass): Plan {
  const known = plans.get(type);
  if (known !== undefined && known.version === declarationsVersion()) return known.plan;
  const plan = composePlan(type);
  plans.set(type, { plan, version: declarationsVersion() });
  return plan;
}

function composePlan(type: TaskClass): Plan {
  const contract = checkedContract(type);
  const settings = effective(type, settingsFeature) ?? {};
  const policies = policiesOf(type);
  const logger = settings.logger ?? configuration.logger;
  return Object.freeze({
    type,
    name: taskNameOf(type),
    contract,
    parseInput: contract.input === undefined ? undefined : parserOf(contract.input),
    parseOutput: contract.output === undefined ? undefined : parserOf(contract.output),
    middlewares: [...configuration.middlewares, ...middlewaresOf(type)],
    callbacks: groupCallbacks([...configuration.callbacks, ...callbacksOf(type)]),
    layers: compose([...coreLayers(type, contract), ...policies.flatMap(({ feature, options }) => feature.layers(options, type))], attempt),
    takesKey: policies.some(({ feature }) => feature.takesKey === true),
    policies: Object.fromEntries(policies.map(({ feature, options }) => [feature.name, options])),
    deprecation: effective(type, deprecationFeature),
    tags: Object.freeze([...new Set([...configuration.tags, ...(settings.tags ?? [])])]),
    description: settings.description,
    emitters: [configuration.telemetry, ...telemetriesOf(type)],
    logger: logger === false ? undefined : logger,
    logFields: { ...configuration.logFields, ...settings.logFields },
    store: settings.store,
  });
}

/** The layers that are the task's own, where they have anything to do. */
function coreLayers(type: TaskClass, { output }: AnyContract): readonly RankedLayer[] {
  const layers: RankedLayer[] = [];
  if (hasMethod(type, "rollback")) layers.push({ rank: "rollback", layer: compensate });
  if (output !== undefined) layers.push({ rank: "output", layer: verifyOutput });
  return layers;
}

/** A getter that throws may hide one: then it is asked again, where the answer matters. */
function hasMethod(type: TaskClass, name: string): boolean {
  try {
    return typeof Reflect.get(type.prototype, name) === "function";
  } catch {
    return true;
  }
}

interface Policy {
  readonly feature: LayerFeature<unknown, unknown>;
  readonly options: unknown;
}

function policiesOf(type: TaskClass): readonly Policy[] {
  const features = new Map(declarationsOf(type).map(({ feature }) => [feature.name, feature]));
  return [...features.values()].filter(isLayerFeature).flatMap((feature) => {
    const options = effective(type, feature);
    return options === undefined ? [] : [{ feature, options }];
  });
}

function checkedContract(type: TaskClass): AnyContract {
  const name = taskNameOf(type);
  const contract = effective(type, contractFeature);
  if (contract === undefined) {
    throw new DefinitionError(
      `${name} extends Task without a contract. Write: class ${name} extends Task.with({ input: z.object({ … }) }).`,
    );
  }
  if (!hasMethod(type, "work")) {
    throw new DefinitionError(`${name} has no work. Give the class a method: async work() { … }.`);
  }
  return contract;
}
