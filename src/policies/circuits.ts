import { DefinitionError } from "../errors.js";
import { configuration, type Configuration } from "../task/configuration.js";
import { taskNameOf } from "../task/name.js";
import { Circuit, type CircuitRule } from "./circuit.js";

/** Classes that share a circuit, and the circuit. */
interface Shared {
  readonly circuit: Circuit;
  readonly types: readonly WeakRef<object>[];
}

/** The circuits of each configuration: a reset lets tests begin with closed ones. They outlive the plans of their classes, which are composed anew whenever something is declared. */
const registries = new WeakMap<Configuration, Circuits>();

interface Circuits {
  /** A class's own circuit lives as long as the class. */
  readonly own: WeakMap<object, Circuit>;
  readonly byScope: Map<string, Shared>;
}

function circuits(): Circuits {
  const known = registries.get(configuration);
  if (known !== undefined) return known;
  const fresh: Circuits = { own: new WeakMap(), byScope: new Map() };
  registries.set(configuration, fresh);
  return fresh;
}

/** The circuit of the class alone: the one that it has, unless its rule has changed since. */
export function ownCircuit(type: object, rule: CircuitRule): Circuit {
  const { own } = circuits();
  const circuit = renewed(own.get(type), taskNameOf(type), rule);
  own.set(type, circuit);
  return circuit;
}

/**
 * The circuit that all classes with this scope share.
 *
 * @param ruleOf The rule by which a class takes part in the scope by now, if it still does.
 * @throws {DefinitionError} when another class has another rule for it.
 */
export function sharedCircuit(scope: string, type: object, rule: CircuitRule, ruleOf: (type: object) => CircuitRule | undefined): Circuit {
  const { byScope } = circuits();
  const known = byScope.get(scope);
  const others = (known?.types ?? []).filter((other) => other.deref() !== type && ruleIn(other, ruleOf) !== undefined);
  const rival = others.find((other) => !isSame(ruleIn(other, ruleOf), rule))?.deref();
  if (rival !== undefined) {
    throw new DefinitionError(
      `${taskNameOf(type)} and ${taskNameOf(rival)} share the circuit ${JSON.stringify(scope)}, and their @circuitBreaker() options differ. ` +
        "Give both the same threshold or sampling and the same coolOff, or another scope.",
    );
  }
  const circuit = renewed(known?.circuit, scope, rule);
  byScope.set(scope, { circuit, types: [...others, new WeakRef(type)] });
  return circuit;
}

function ruleIn(type: WeakRef<object>, ruleOf: (type: object) => CircuitRule | undefined): CircuitRule | undefined {
  const alive = type.deref();
  return alive === undefined ? undefined : ruleOf(alive);
}

function renewed(circuit: Circuit | undefined, name: string, rule: CircuitRule): Circuit {
  const lasts = circuit !== undefined && circuit.name === name && circuit.clock === configuration.clock && isSame(circuit.rule, rule);
  return lasts ? circuit : new Circuit(name, rule, configuration.clock);
}

function isSame(a: CircuitRule | undefined, b: CircuitRule): boolean {
  return JSON.stringify(a) === JSON.stringify(b); // made in one place, so their parts come in one order
}
