import type { Caller } from "./caller.js";
import type { Told } from "./program.js";
import { isLock } from "./scenario.js";
import type { World } from "./world.js";

/** Why what a run tells of its key is not so, if it is not. */
export function isUntrue(world: World, caller: Caller, told: Told): string | undefined {
  const key = caller.keys.find((candidate) => isLock(candidate) === told.startsWith("lock_"));
  if (key === undefined) return "it has no such key";
  const book = world.ledger.book(key);
  const isHolder = world.slotAt(key)?.owner === caller.runId;
  switch (told) {
    case "idempotency_claimed":
    case "lock_acquired":
      return book.granted.has(caller.name) ? undefined : "it never was granted the key";
    case "idempotency_completed":
      // Freed in its own name, or not sure whether it has written, it finds a completion that names no run, and takes it for its own.
      return book.hasRecorded(caller.name) || caller.wasRobbed || caller.storeErrors.has("complete")
        ? undefined
        : "no success of it is there";
    case "idempotency_released":
    case "lock_released":
      if (!book.granted.has(caller.name)) return "it never was granted the key";
      return isHolder && !book.freed.has(caller.name) ? "it holds the key" : undefined;
    case "idempotency_bypassed":
    case "lock_bypassed":
      return caller.asked.hasFailed(key, world.now) ? undefined : "the store has not failed it";
  }
}
