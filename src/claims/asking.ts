import { StoreTimeoutError } from "../errors.js";
import { untilCancelled } from "../support/abort.js";
import { sleep } from "../support/sleep.js";
import { toError } from "../support/thrown.js";
import { withinTime } from "../support/time-limit.js";
import type { SetResult, Store, StoreEntry } from "../stores/store.js";
import type { Hold, Run } from "../task/run.js";
import { safeMs, type Lease } from "./lease.js";
import { storeOf, storeTimeoutMs } from "./store-of.js";

export interface AskingOptions {
  readonly key: string;
  readonly value: string;
  readonly leaseMs: number;
  /** Called for each call of the store that failed. */
  readonly onError: (error: Error) => void;
}

export interface Granted {
  readonly ok: true;
  readonly fence: number;
  /** The clock's time right before the call that was granted: from then on the lease counts. */
  readonly claimedAt: number;
}
export type Refused = Extract<SetResult, { ok: false }>;

/** How often a call of the store is made again when it failed, and how long to wait before that, in milliseconds. */
const REPEATS = 1;
const PAUSE_MS = 50;
const SEEN_LATE = "The claim was granted, but the process was held up for so long that its lease may be over.";

/**
 * How one run asks for one key, as often as it needs to: a run that waits asks many times. The run is the owner, by its id. Whatever
 * is granted too late for anybody to hear of it is given back.
 */
export class Asking implements Hold {
  /** Is the key held? Set by a grant; whoever ends the hold takes it back. */
  held = false;
  /** What was granted, while it is kept. */
  lease: Lease | undefined;
  readonly store: Store;
  readonly #run: Run;
  readonly #options: AskingOptions;
  readonly #limitMs: number;
  /** Is a call awaited that may be granted? */
  #asking = false;
  /** Was one granted that was no longer awaited? While another is, that may be its echo; if the other is refused, it holds the key for nobody. */
  #stray = false;

  constructor(run: Run, options: AskingOptions) {
    this.#run = run;
    this.#options = options;
    this.store = storeOf(run.plan);
    (run.holds ??= []).push(this);
    this.#limitMs = Math.min(storeTimeoutMs(), safeMs(options.leaseMs)); // a claim longer under way than its own lease would be worth nothing
  }

  get key(): string {
    return this.#options.key;
  }

  check(): void {
    this.lease?.check();
  }

  /** Asks once. A call that failed may have taken effect: it is made again as the same owner, who is then granted what he holds. */
  async ask(): Promise<Granted | Refused | { readonly error: Error }> {
    const { clock, scope } = this.#run;
    this.#asking = true;
    for (let failures = 0; ;) {
      const claimedAt = clock.now();
      try {
        const call = withinTime(clock, this.#limitMs, () => this.#claim(), this.#clearUp);
        const answer = scope.cancellable ? await untilCancelled(scope, call) : await call;
        if (answer === "cancelled") return this.#leave(call, scope.reason);
        // Where the event loop stood still, the answer can be read before the alarm rings that was due: late it is all the same.
        if (answer.ok && clock.now() - claimedAt >= this.#limitMs) throw new StoreTimeoutError(SEEN_LATE);
        this.#asking = false;
        if (!answer.ok) return answer;
        this.held = true;
        return { ok: true, fence: answer.fence, claimedAt };
      } catch (thrown) {
        const error = toError(thrown);
        this.#options.onError(error);
        failures += 1;
        this.#asking = failures <= REPEATS && !scope.aborted;
        if (!this.#asking) return { error };
        await sleep(clock, PAUSE_MS, scope);
        if (scope.cancelled) {
          this.#asking = false;
          return { error };
        }
      }
    }
  }

  /** Nobody will ask again, and nothing is held: what a late call may have been granted is given back. */
  giveUp(): void {
    if (this.#stray) this.giveBack();
  }

  /** In the background, and as the owner: nobody else's claim can be hit, and nobody waits for it. If it fails, the lease ends by itself. */
  giveBack(): void {
    this.held = false;
    withinTime(this.#run.clock, storeTimeoutMs(), () => this.store.delete(this.key, { owner: this.#run.runId })).catch(() => undefined);
  }

  /** The run is called off, and does not wait for the answer that is still to come. */
  #leave(call: Promise<SetResult>, reason: unknown): { readonly error: Error } {
    this.#asking = false;
    call.then(this.#clearUp, () => undefined);
    return { error: toError(reason) };
  }

  #claim(): Promise<SetResult> {
    const { key, value, leaseMs } = this.#options;
    return this.store.set(key, value, { ttlMs: leaseMs, nx: true, owner: this.#run.runId });
  }

  /**
   * A grant that comes late is given back, unless it is only the echo of one that is held, or may be by the call that is under way:
   *
   *     this run   |- set nx: no answer in time   |- set nx again, as the same owner: granted
   *     the store        |- (late) granted -------------|- granted: the two are one claim
   */
  readonly #clearUp = (late: SetResult): void => {
    if (!late.ok || this.held) return;
    if (this.#asking) this.#stray = true;
    else this.giveBack();
  };
}

/** Does a run around this one hold the key? Then waiting for it would never end. */
export function isHeldAbove(run: Run, key: string, { owner }: StoreEntry): boolean {
  for (let above = run.parent; above !== undefined; above = above.parent) {
    if (above.runId === owner && above.holds?.some((hold) => hold.held && hold.key === key) === true) return true;
  }
  return false;
}
