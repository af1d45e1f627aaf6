import { DefinitionError } from "../errors.js";
import type { Store } from "../stores/store.js";
import { describe } from "../support/check.js";

const METHODS: readonly (keyof Store)[] = ["get", "set", "delete", "renew", "entries"];

/** @throws {DefinitionError} unless it has the methods of a store. */
export function checkStore(option: string, store: unknown): void {
  const missing = METHODS.filter(
    (method) => typeof store !== "object" || store === null || typeof Reflect.get(store, method) !== "function",
  );
  if (missing.length === 0) return;
  const hint = "A Redis client is not a store: wrap it, new RedisStore(client).";
  throw new DefinitionError(`${option} must be a store, got ${describe(store)} without ${missing.join(", ")}. ${hint}`);
}
