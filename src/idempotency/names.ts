import { DefinitionError } from "../errors.js";
import { configuration, type Configuration } from "../task/configuration.js";

/** Which class has a name, in each configuration: a reset lets tests define their classes anew. Classes that are gone free their names. */
const owners = new WeakMap<Configuration, Map<string, WeakRef<object>>>();

/**
 * Gives a name to one class. Two classes with one name would take each other's runs for duplicates.
 *
 * @throws {DefinitionError} when another class has it.
 */
export function claimName(name: string, type: object): void {
  let names = owners.get(configuration);
  if (names === undefined) owners.set(configuration, (names = new Map<string, WeakRef<object>>()));
  const owner = names.get(name)?.deref();
  if (owner !== undefined && owner !== type) {
    throw new DefinitionError(
      `Two idempotent tasks are called ${JSON.stringify(name)}, so their keys would meet. Give one another name: Task.with({ name: "…" }) or static taskName = "…".`,
    );
  }
  names.set(name, new WeakRef(type));
}
