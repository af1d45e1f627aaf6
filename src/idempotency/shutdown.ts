import { DefinitionError, ShutdownError } from "../errors.js";
import type { Asking } from "../claims/asking.js";
import type { Lease } from "../claims/lease.js";
import { storeTimeoutMs } from "../claims/store-of.js";
import { toMs, type Duration } from "../support/duration.js";
import { AbortScope } from "../support/abort.js";
import { sleep } from "../support/sleep.js";
import { configuration } from "../task/configuration.js";
import type { Run } from "../task/run.js";
import { release } from "./conclude.js";
import type { Identity } from "./identity.js";

/** A claim that is held in this process. */
export interface HeldClaim {
  readonly run: Run;
  readonly identity: Identity;
  readonly asking: Asking;
  readonly lease: Lease;
  /** Was it freed by the shutdown? Then the run's own end has nothing left to free. */
  freed: boolean;
}

const held = new Set<HeldClaim>();
let ending: Promise<readonly string[]> | undefined;
let onLastConcluded: (() => void) | undefined;

export function isShuttingDown(): boolean {
  return ending !== undefined;
}

/** Remembers a claim, until it is concluded. From now on a shutdown can call its run off. */
export function hold(claim: HeldClaim): void {
  held.add(claim);
  claim.run.scope.cancellable = true;
}

export function concluded(claim: HeldClaim): void {
  held.delete(claim);
  claim.asking.held = false;
  if (held.size === 0) onLastConcluded?.();
}

export interface ShutdownOptions {
  /** How long running work has to come to rest, once it is told to stop. @default 5 (seconds) */
  readonly grace?: Duration;
}

/**
 * For the end of a process, on SIGTERM say. No new claims are made, none is renewed, and running work is told to stop through `this.signal`; what ends well
 * within the grace period counts. After it the runs that are left are answered as aborted and their claims are freed, so that a
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
  for (const { run, lease } of held) {
    lease.stopRenewing();
    run.scope.abort(reason, "abort");
  }
  await concludedWithin(graceMs);
  // Runs whose end is on its way to the store are none to be freed for a second run: they are waited for.
  const left = [...held].filter(({ lease }) => !lease.isConcluding);
  for (const claim of left) {
    claim.freed = true;
    claim.run.scope.cancel(reason);
  }
  await Promise.all(left.map(({ run, identity, lease }) => release(run, identity, lease, "shutdown")));
  for (const claim of left) concluded(claim);
  await concludedWithin(LAST_WRITES * storeTimeoutMs());
  return left.map(({ identity }) => identity.key);
}

/** For how many times the store's time limit the last writes are waited for: as long as a completion is tried. */
const LAST_WRITES = 3;

/** Waits until every claim is concluded, but no longer than that. */
async function concludedWithin(ms: number): Promise<void> {
  if (ms === 0 || held.size === 0) return;
  const waiting = new AbortScope();
  onLastConcluded = () => waiting.abort("all concluded");
  await sleep(configuration.clock, ms, waiting);
  onLastConcluded = undefined;
}
