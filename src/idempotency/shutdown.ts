import { DefinitionError, ShutdownError } from "../errors.js";
import type { Lease } from "../claims/lease.js";
import { toMs, type Duration } from "../support/duration.js";
import { AbortScope } from "../support/abort.js";
import { sleep } from "../support/sleep.js";
import { configuration } from "../task/configuration.js";
import type { Run } from "../task/run.js";
import { release } from "./conclude.js";
import type { Identity } from "./identity.js";

/** A claim that is held in this process, and the promise that it has been concluded. */
export interface HeldClaim {
  readonly run: Run;
  readonly identity: Identity;
  readonly lease: Lease;
  readonly concluded: Promise<void>;
}

const held = new Set<HeldClaim>();
let shuttingDown = false;

export function isShuttingDown(): boolean {
  return shuttingDown;
}

/** Remembers a claim until it has been concluded. */
export function holdUntilConcluded(claim: HeldClaim): void {
  held.add(claim);
  void claim.concluded.then(() => held.delete(claim));
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
  await atRestWithin(claims, graceMs);
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

async function atRestWithin(claims: readonly HeldClaim[], ms: number): Promise<void> {
  const timer = new AbortScope();
  const atRest = Promise.all(claims.map(({ concluded }) => concluded)).then(() => timer.abort("at rest"));
  if (ms > 0) await Promise.race([atRest, sleep(configuration.clock, ms, timer)]);
}
