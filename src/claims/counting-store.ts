import { MemoryStore } from "../stores/memory.js";
import type { Store } from "../stores/store.js";
import { configuration, type Configuration } from "../task/configuration.js";

/** A store that can count. */
export type CountingStore = Store & Required<Pick<Store, "count">>;

const ownStores = new WeakMap<Configuration, CountingStore>();

/** The store itself if it can count, else one of this process: a limit then holds for each process. */
export function countingStore(store: Store): CountingStore {
  if (canCount(store)) return store;
  const known = ownStores.get(configuration);
  if (known !== undefined) return known;
  const own = new MemoryStore({ clock: configuration.clock });
  ownStores.set(configuration, own);
  return own;
}

function canCount(store: Store): store is CountingStore {
  return typeof store.count === "function";
}
