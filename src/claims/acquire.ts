import { ShutdownError } from "../errors.js";
import { andThen, tryThen, type Awaitable } from "../support/and-then.js";
import { toError } from "../support/thrown.js";
import type { StoreEntry } from "../stores/store.js";
import type { FailedOutcome, Outcome } from "../task/outcome.js";
import type { Run } from "../task/run.js";
import type { Asked, Asking, Granted } from "./asking.js";
import { hold, type HeldKey } from "./held-key.js";
import { refusesNow } from "./shutdown.js";
import { Waiting } from "./waiting.js";

/** What came of trying to take a key: it is held, or the run has its answer, or goes on without it. */
export type Acquired<Key extends HeldKey> = Key | WithoutKey;
export type WithoutKey = { readonly outcome: Outcome } | { readonly bypass: "store_error" };

/** What was heard of one question: as much, or the entry to wait for, if there still is one. */
type Heard<Key extends HeldKey> = Acquired<Key> | { readonly wait: StoreEntry | undefined };

/** What one policy makes of the answers. */
export interface KeyPolicy<Key extends HeldKey> {
  readonly waitMs: number;
  readonly longestPauseMs: number;
  /** Makes a key that is held of what was granted. */
  granted(grant: Granted): Key;
  /** What becomes of a run that lost to this entry, which it saw in the same step. */
  judge(held: StoreEntry): Awaitable<Outcome | "wait">;
  /** The answer of a run that has waited in vain. */
  timeIsUp(held: StoreEntry): Outcome;
  /** What becomes of a run whose store has failed. */
  withoutStore(error: Error): WithoutKey;
}
type Acquiring<Key extends HeldKey> = Asking & KeyPolicy<Key>;

/** How often an entry may vanish between the refusal and the look at it before the store is taken to be broken. */
const VANISHINGS = 10;

/**
 * Takes a key for a run, or finds out why not. Refused, the entry that it lost to decides, and it was seen in the same step:
 *
 *     this run     |- set nx: refused, held=processing          |- so it is a duplicate
 *     other run  --|- at work ----------------|- completes
 *
 * There is no second look at the store, between which and the first the key could change hands.
 *
 * `next` goes on with what came of it, in the promise that the store's answer is waited for in.
 */
export function acquire<Key extends HeldKey, R>(acquiring: Acquiring<Key>, next: (acquired: Acquired<Key>) => Awaitable<R>): Awaitable<R> {
  return askOnce(acquiring, (answer) => ("wait" in answer ? untilAcquired(acquiring, answer.wait).then(next) : next(answer)));
}

/** Asks again and again, with pauses where it lost to an entry that it may wait for, and at once where that had vanished. */
async function untilAcquired<Key extends HeldKey>(acquiring: Acquiring<Key>, first: StoreEntry | undefined): Promise<Acquired<Key>> {
  const { run, key, waitMs, longestPauseMs } = acquiring;
  const waiting = new Waiting(run.clock, run.scope, acquiring.since + waitMs, longestPauseMs);
  try {
    let held = first;
    for (let vanished = held === undefined ? 1 : 0; vanished < VANISHINGS;) {
      if (held !== undefined && !(await waiting.pause(key, held.expiresInMs))) {
        acquiring.giveUp();
        return { outcome: run.scope.aborted ? run.abortedOutcome() : acquiring.timeIsUp(held) };
      }
      const answer = await askOnce<Key, Heard<Key>>(acquiring, (heardOf) => heardOf);
      if (!("wait" in answer)) return answer;
      held = answer.wait;
      if (held === undefined) vanished += 1;
    }
    return failed(acquiring, new Error("The store refuses the claim and shows nothing that holds the key"));
  } finally {
    waiting.end(key);
  }
}

/** One question, and what comes of it. */
function askOnce<Key extends HeldKey, R>(acquiring: Acquiring<Key>, next: (heard: Heard<Key>) => Awaitable<R>): Awaitable<R> {
  const { run } = acquiring;
  if (run.scope.cancelled || refusesNow(run)) {
    acquiring.giveUp();
    return next({ outcome: run.scope.cancelled ? run.abortedOutcome() : shuttingDown(run) });
  }
  return acquiring.ask((answer) => andThen(heard(acquiring, answer), next));
}

function heard<Key extends HeldKey>(acquiring: Acquiring<Key>, answer: Asked): Awaitable<Heard<Key>> {
  if ("error" in answer) return failed(acquiring, answer.error);
  if (answer.ok) return taken(acquiring, answer);
  const { held } = answer;
  if (held === undefined) return { wait: undefined };
  return tryThen<Outcome | "wait", Heard<Key>>(
    () => acquiring.judge(held),
    (verdict) => {
      if (verdict === "wait") return { wait: held };
      acquiring.giveUp();
      return { outcome: verdict };
    },
    (thrown) => failed(acquiring, toError(thrown)), // a store whose answers cannot be read is as good as none
  );
}

/** Granted. The key is held in the same turn as the look at the shutdown: none can begin in between. */
function taken<Key extends HeldKey>(acquiring: Acquiring<Key>, grant: Granted): Acquired<Key> {
  if (refusesNow(acquiring.run)) {
    acquiring.giveBack();
    return { outcome: shuttingDown(acquiring.run) };
  }
  const key = acquiring.granted(grant);
  hold(key);
  return key;
}

/** As far as this run can tell, the key could not be taken; if it was all the same, it is given back. */
function failed<Key extends HeldKey>(acquiring: Acquiring<Key>, error: Error): WithoutKey {
  acquiring.giveBack();
  const { run } = acquiring;
  return run.scope.cancelled ? { outcome: run.abortedOutcome() } : acquiring.withoutStore(error);
}

function shuttingDown(run: Run): FailedOutcome {
  const error = new ShutdownError(`${run.plan.name} did not run: the process is shutting down`);
  return { status: "failed", by: "refused", error, reason: error.message, retryable: true, metadata: { code: "aborted" } };
}
