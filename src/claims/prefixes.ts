import { DefinitionError } from "../errors.js";
import { configuration, type Configuration } from "../task/configuration.js";

/** A policy of a class that keeps keys, and what they all begin with. */
interface Keeper {
  readonly policy: string;
  readonly prefix: string;
  readonly type: WeakRef<object>;
  readonly shared: boolean;
}

/** Who keeps keys where, in each configuration: a reset lets tests define their classes anew. Classes that are gone free their places. */
const keepers = new WeakMap<Configuration, Keeper[]>();

/**
 * Notes that a policy of a class keeps its keys under the prefix. Keys of two policies that meet would take each other away: a lock would
 * be overwritten by a slot. Classes keep theirs apart as well, unless both are to share.
 *
 * @throws {DefinitionError} when another policy, or a class that does not share, keeps its keys there.
 */
export function claimPrefix(policy: string, prefix: string, type: object, { shared }: { readonly shared: boolean }): void {
  const others = (keepers.get(configuration) ?? []).filter((keeper) => {
    const other = keeper.type.deref();
    return other !== undefined && !(other === type && keeper.policy === policy);
  });
  for (const other of others) {
    const policiesMeet = other.policy !== policy && (other.prefix.startsWith(prefix) || prefix.startsWith(other.prefix));
    if (policiesMeet)
      throw new DefinitionError(
        `${policy} and ${other.policy} both keep keys under ${prefix.length > other.prefix.length ? prefix : other.prefix}…, so they would meet. Give one of them another namespace.`,
      );
    if (other.prefix === prefix && (!shared || !other.shared))
      throw new DefinitionError(
        `Two tasks with ${policy} keep their keys under ${prefix}…, so their keys would meet. ` +
          'Give one another name, Task.with({ name: "…" }), or both the same scope if they are to share.',
      );
  }
  keepers.set(configuration, [...others, { policy, prefix, type: new WeakRef(type), shared }]);
}
