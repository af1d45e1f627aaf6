import { DefinitionError } from "../errors.js";
import { configuration, type Configuration } from "../task/configuration.js";

interface Owner {
  readonly name: string;
  /** What all keys of the class begin with. */
  readonly prefix: string;
  readonly type: WeakRef<object>;
}

/** Which classes have names, in each configuration: a reset lets tests define their classes anew. Classes that are gone free their names. */
const owners = new WeakMap<Configuration, Owner[]>();

/**
 * Gives a name, and with it the keys that begin with it, to one class. Two classes whose keys meet would take each other's runs for
 * duplicates.
 *
 * @throws {DefinitionError} when another class has it.
 */
export function claimName(namespace: string, name: string, type: object): void {
  const prefix = `${namespace}:${name}:`;
  const others = (owners.get(configuration) ?? []).filter((owner) => owner.type.deref() !== undefined && owner.type.deref() !== type);
  const rival = others.find((owner) => owner.name === name || owner.prefix.startsWith(prefix) || prefix.startsWith(owner.prefix));
  if (rival !== undefined) {
    const cure =
      'Give one another name: Task.with({ name: "…" }) or static taskName = "…"; or another namespace, where they are nested in each other.';
    const clash =
      rival.name === name
        ? `Two idempotent tasks are called ${JSON.stringify(name)}`
        : `The keys ${prefix}… and ${rival.prefix}… are nested in each other`;
    throw new DefinitionError(`${clash}, so their keys would meet. ${cure}`);
  }
  owners.set(configuration, [...others, { name, prefix, type: new WeakRef(type) }]);
}
