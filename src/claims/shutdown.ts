import { DefinitionError, ShutdownError } from "../errors.js";
import { toMs, type Duration } from "../support/duration.js";
import type { Run } from "../task/run.js";
import { concluded, concludedWithin, held } from "./held-key.js";
import { storeTimeoutMs } from "./store-of.js";

let ending: Promise<readonly string[]> | undefined;

/** Is the run turned away, since the process is shutting down? What undoes something is let through. */
export function refusesNow(run: Run): boolean {
  return ending !== undefined && !run.undoes;
}

export interface ShutdownOptions {
  /** How long running work has to come to rest, once it is told to stop. @default 5 (seconds) */
  readonly grace?: Duration;
}

/**
 * For the end of a process, on SIGTERM say. No new claims are made, and running work is told to stop through `this.signal`; what ends well
 * within the grace period counts, and keeps its keys until then. After it the runs that are left are answered as aborted and their claims are freed, so that a
 * deploy leaves no keys behind. Answers with the keys that had to be freed. Called again, it gives the same answer.
 *
 * @throws {DefinitionError} when an option has the wrong shape.
 */
export async function shutdown({ grace = 5 }: ShutdownOptions = {}): Promise<readonly string[]> {
  const graceMs = toMs("shutdown(): grace", grace, { zero: true });
  ending ??= end(graceMs);
  return ending;
}

/** Takes claims again after a shutdown. For tests, and for hosts that start over in one process. */
export function resume(): void {
  if (held.size > 0)
    throw new DefinitionError(`resume(): ${held.size} claims of before the shutdown are still held. Await shutdown() first.`);
  ending = undefined;
}

async function end(graceMs: number): Promise<readonly string[]> {
  const reason = new ShutdownError("The process is shutting down");
  for (const { run } of held) run.scope.abort(reason, "abort");
  await concludedWithin(graceMs);
  // Runs whose end is on its way to the store are none to be freed for a second run: they are waited for.
  const left = [...held].filter(({ lease }) => !lease.isConcluding);
  for (const key of left) {
    key.freed = true;
    key.lease.stopRenewing();
    key.lease.concluding(); // the releases wait for each other, and late grants come in between
    key.run.scope.cancel(reason);
  }
  await Promise.all(left.map(async (key) => key.free("shutdown")));
  for (const key of left) concluded(key);
  await concludedWithin(LAST_WRITES * storeTimeoutMs());
  return left.filter(({ lease }) => !lease.lost).map(({ lease }) => lease.key);
}

/** For how many times the store's time limit the last writes are waited for: as long as a completion is tried. */
const LAST_WRITES = 3;
