import { DefinitionError, ShutdownError } from "../errors.js";
import type { Lease } from "../claims/lease.js";
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
  readonly lease: Lease;
}

const held = new Set<HeldClaim>();
let shuttingDown = false;
let onLastConcluded: (() => void) | undefined;

export function isShuttingDown(): boolean {
  return shuttingDown;
}

/** Remembers a claim, until it is concluded. */
export function hold(claim: HeldClaim): void {
  held.add(claim);
}

export function concluded(claim: HeldClaim): void {
  held.delete(claim);
  claim.run.holdsClaim = false;
  if (held.size === 0) onLastConcluded?.();
}

export interface ShutdownOptions {
  /** How long runs that are called off have to come to rest by themselves, before their claims are freed. @default 5 (seconds) */
  readonly grace?: Duration;
}

/**
 * For the end of a process, on SIGTERM say: no new claims, running work is called off through `this.signal`, and what is still claimed
 * after the grace period is freed, so that a deploy leaves no keys behind. Answers with the keys that had to be freed.
 *
 * @throws {DefinitionError} when an option has the wrong shape.
 */
export async function shutdown({ grace = 5 }: ShutdownOptions = {}): Promise<readonly string[]> {
  const graceMs = toMs("shutdown(): grace", grace, { zero: true });
  shuttingDown = true;
  const claims = [...held];
  const reason = new ShutdownError("The process is shutting down");
  for (const { run, lease } of claims) {
    lease.stopRenewing();
    run.scope.cancel(reason);
  }
  if (held.size > 0) await atRestWithin(graceMs);
  const left = claims.filter((claim) => held.has(claim));
  await Promise.all(left.map(({ run, identity, lease }) => release(run, identity, lease, "shutdown")));
  return left.map(({ identity }) => identity.key);
}

/** Takes claims again after a shutdown. For tests, and for hosts that start over in one process. */
export function resume(): void {
  if (held.size > 0)
    throw new DefinitionError(`resume(): ${held.size} claims of before the shutdown are still held. Await shutdown() first.`);
  shuttingDown = false;
}

/** Waits until every claim is concluded, but no longer than that. */
async function atRestWithin(ms: number): Promise<void> {
  const waiting = new AbortScope();
  onLastConcluded = () => waiting.abort("all concluded");
  await sleep(configuration.clock, ms, waiting);
  onLastConcluded = undefined;
}
