import { StoreTimeoutError } from "../errors.js";
import { tryThen, type Awaitable } from "../support/and-then.js";
import { sleep } from "../support/sleep.js";
import { toError } from "../support/thrown.js";
import { withinTime } from "../support/time-limit.js";
import type { SetResult, Store, StoreEntry } from "../stores/store.js";
import type { Hold, Run } from "../task/run.js";
import { safeMs, type Lease } from "./lease.js";
import { storeOf, storeTimeoutMs } from "./store-of.js";

export interface Granted {
  readonly ok: true;
  readonly fence: number;
  /** The clock's time right before the call that was granted: from then on the lease counts. */
  readonly claimedAt: number;
}
export type Asked = Granted | Extract<SetResult, { ok: false }> | { readonly error: Error };

/** How often a call of the store is made again when it failed, and how long to wait before that, in milliseconds. */
const REPEATS = 1;
const PAUSE_MS = 50;
const SEEN_LATE = "The claim was granted, but the process was held up for so long that its lease may be over.";

/**
 * How one run asks for one key, as often as it needs to: a run that waits asks many times. The run is the owner, by its id. Whatever
 * is granted too late for anybody to hear of it is given back.
 */
export abstract class Asking implements Hold {
  /** Is the key held? Set by a grant; whoever ends the hold takes it back. */
  held = false;
  /** What was granted, while it is kept. */
  lease: Lease | undefined;
  readonly run: Run;
  readonly store: Store;
  readonly key: string;
  readonly #value: string;
  readonly #leaseMs: number;
  readonly #limitMs: number;
  /** Is a call awaited that may be granted? */
  #asking = false;
  /** Was one granted that was no longer awaited? While another is, that may be its echo; if the other is refused, it holds the key for nobody. */
  #stray = false;
  #since: number | undefined;
  /** Of the calls of one question. */
  #failures = 0;

  /** @param value What stands under the key while it is held. */
  constructor(run: Run, key: string, value: string, leaseMs: number) {
    this.run = run;
    this.store = storeOf(run.plan);
    this.key = key;
    this.#value = value;
    this.#leaseMs = leaseMs;
    this.#limitMs = Math.min(storeTimeoutMs(), safeMs(leaseMs)); // a claim longer under way than its own lease would be worth nothing
    (run.holds ??= []).push(this);
  }

  /** When it first asked, by the clock's `now`. */
  get since(): number {
    return this.#since ?? this.run.clock.now();
  }

  /** Tells of a call of the store that failed. */
  protected abstract tellStoreError(error: Error): void;

  check(): void {
    this.lease?.check();
  }

  /**
   * Asks once, and goes on with the answer. A call that failed may have taken effect: it is made again as the same owner, who is then
   * granted what he holds.
   */
  ask<R>(next: (answer: Asked) => Awaitable<R>): Awaitable<R> {
    this.#failures = 0;
    return this.#try(next);
  }

  #try<R>(next: (answer: Asked) => Awaitable<R>): Awaitable<R> {
    const { clock, scope } = this.run;
    this.#asking = true;
    const claimedAt = clock.now();
    this.#since ??= claimedAt;
    const limits = { clock, ms: this.#limitMs, scope, late: this.#clearUp };
    return tryThen<Asked, R>(
      () => withinTime(limits, this.#claim, (answer) => this.#heard(answer, claimedAt)),
      next,
      (thrown) => (scope.cancelled ? next(this.#calledOff(thrown)) : this.#failed(thrown, next)),
    );
  }

  #heard(answer: SetResult, claimedAt: number): Asked {
    // Where the event loop stood still, the answer can be read before the alarm rings that was due: late it is all the same.
    if (answer.ok && this.run.clock.now() - claimedAt >= this.#limitMs) throw new StoreTimeoutError(SEEN_LATE);
    this.#asking = false;
    if (!answer.ok) return answer;
    this.held = true;
    this.#stray = false; // the two are one claim
    return { ok: true, fence: answer.fence, claimedAt };
  }

  /** The run does not wait for the answer that is still to come. */
  #calledOff(reason: unknown): Asked {
    this.#asking = false;
    return { error: toError(reason) };
  }

  #failed<R>(thrown: unknown, next: (answer: Asked) => Awaitable<R>): Awaitable<R> {
    const error = toError(thrown);
    this.tellStoreError(error);
    this.#failures += 1;
    this.#asking = this.#failures <= REPEATS && !this.run.scope.aborted;
    return this.#asking ? this.#repeat(error, next) : next({ error });
  }

  async #repeat<R>(error: Error, next: (answer: Asked) => Awaitable<R>): Promise<R> {
    const { clock, scope } = this.run;
    await sleep(clock, PAUSE_MS, scope);
    return scope.cancelled ? next(this.#calledOff(error)) : this.#try(next);
  }

  /** Nobody will ask again, and nothing is held: what a late call may have been granted is given back. */
  giveUp(): void {
    if (this.#stray) this.giveBack();
  }

  /** In the background, and as the owner: nobody else's claim can be hit, and nobody waits for it. If it fails, the lease ends by itself. */
  giveBack(): void {
    this.held = false;
    this.#stray = false;
    const { clock, runId } = this.run;
    void tryThen(
      () => withinTime({ clock, ms: storeTimeoutMs() }, () => this.store.delete(this.key, { owner: runId })),
      () => undefined,
      () => undefined,
    );
  }

  readonly #claim = (): Awaitable<SetResult> =>
    this.store.set(this.key, this.#value, { ttlMs: this.#leaseMs, nx: true, owner: this.run.runId });

  /**
   * A grant that comes late is given back, unless it is only the echo of one that is held, or may be by the call that is under way:
   *
   *     this run   |- set nx: no answer in time   |- set nx again, as the same owner: granted
   *     the store        |- (late) granted -------------|- granted: the two are one claim
   *
   * While the key is being freed, a late grant may have come after the release, and is one anew. It is given back when the answer is known:
   *
   *     this run   |- set nx: no answer in time   |- set nx: granted   |- delete: done, its answer is late
   *     the store                                                                    |- (late) granted anew
   */
  readonly #clearUp = (late: SetResult | undefined): void => {
    if (late?.ok !== true) return; // a store of somebody's may also give nothing
    const isBeingFreed = this.held && this.lease?.isConcluding === true;
    if (this.#asking || isBeingFreed) this.#stray = true;
    else if (!this.held) this.giveBack();
  };
}

/** Does a run around this one hold the key? Then waiting for it would never end. */
export function isHeldAbove(run: Run, key: string, { owner }: StoreEntry): boolean {
  for (let above = run.parent; above !== undefined; above = above.parent) {
    if (above.runId === owner && above.holds?.some((hold) => hold.held && hold.key === key) === true) return true;
  }
  return false;
}
