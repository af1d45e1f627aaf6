import { DefinitionError } from "../errors.js";
import { configuration, type Configuration } from "../task/configuration.js";
import { taskNameOf } from "../task/name.js";

/** Where the runs of a class are counted. */
export interface CountPlace {
  /** What all its keys begin with. */
  readonly prefix: string;
  readonly perMs: number | undefined;
  /** Is it meant to be shared with other classes? */
  readonly shared: boolean;
}

/** The classes of each place, in each configuration: a reset lets tests define their classes anew. */
const registries = new WeakMap<Configuration, Map<string, readonly WeakRef<object>[]>>();

/**
 * Notes where a class counts its runs.
 *
 * @param placeOf Where a class counts by now, if it does.
 * @throws {DefinitionError} when another class counts there without both of them wanting it, or with windows of another length.
 */
export function claimCount(type: object, placeOf: (type: object) => CountPlace | undefined): void {
  const place = placeOf(type);
  if (place === undefined) return;
  const registry = registries.get(configuration) ?? new Map<string, readonly WeakRef<object>[]>();
  registries.set(configuration, registry);
  const others = (registry.get(place.prefix) ?? []).filter((ref) => {
    const other = ref.deref();
    const theirs = other === undefined || other === type ? undefined : placeOf(other);
    if (other === undefined || theirs?.prefix !== place.prefix) return false;
    checkTogether({ type, ...place }, { type: other, ...theirs });
    return true;
  });
  registry.set(place.prefix, [...others, new WeakRef(type)]);
}

function checkTogether(one: CountPlace & { readonly type: object }, other: CountPlace & { readonly type: object }): void {
  if (!one.shared || !other.shared) {
    throw new DefinitionError(
      `Two tasks with @rateLimit() count their runs under ${one.prefix}…, so each would use up the other's. ` +
        'Give one another name, Task.with({ name: "…" }), or both the same scope if they are to share.',
    );
  }
  if (one.perMs !== other.perMs) {
    throw new DefinitionError(
      `${taskNameOf(one.type)} and ${taskNameOf(other.type)} share the counts ${one.prefix}…, and their windows differ: ` +
        `per is ${one.perMs} ms and ${other.perMs} ms. Give both the same per, or another scope.`,
    );
  }
}
