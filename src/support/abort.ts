/**
 * Cancellation as a tree of scopes, one scope per run or attempt. A native `AbortSignal` is made only for those who ask for one,
 * and a long-lived signal keeps no listener of a run that has ended.
 *
 * Two strengths: `abort` tells the work through its signal; `cancel` also wants an answer at once, though the work may go on.
 * What is an abort for a scope is a cancellation for the scopes inside it, unless it says otherwise.
 */
export class AbortScope {
  #controller: AbortController | undefined;
  #inner: Set<AbortScope> | undefined;
  #listeners: (() => void)[] | undefined;
  #unlink: (() => void) | undefined;
  #reason: { readonly value: unknown; readonly cancelled: boolean; readonly inner: "abort" | "cancel" } | undefined;
  /** Can a cancellation reach this scope at all? When not, nobody need race against one. Whoever may cancel it later sets this before. */
  cancellable: boolean;

  constructor(outer?: AbortScope, signal?: AbortSignal) {
    this.cancellable = outer !== undefined || signal !== undefined;
    if (outer !== undefined || signal !== undefined) this.#link(outer, signal);
  }

  get aborted(): boolean {
    return this.#reason !== undefined;
  }

  /** Is an answer wanted at once? */
  get cancelled(): boolean {
    return this.#reason?.cancelled === true;
  }

  get reason(): unknown {
    return this.#reason?.value;
  }

  /** What its end was for the scopes inside it. */
  get forInner(): "abort" | "cancel" {
    return this.#reason?.inner ?? "cancel";
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#reason !== undefined) this.#controller.abort(this.#reason.value);
    }
    return this.#controller.signal;
  }

  /** `inner` is what it is for the scopes inside this one. */
  abort(reason: unknown, inner: "abort" | "cancel" = "cancel"): void {
    this.#end({ value: reason, cancelled: false, inner });
  }

  cancel(reason: unknown): void {
    this.#end({ value: reason, cancelled: true, inner: "cancel" });
  }

  /** Calls back once, when the scope is aborted or cancelled; returns the way to stop listening. */
  onAbort(listener: () => void): () => void {
    const listeners = (this.#listeners ??= []); // few at a time, so a list is quicker than a set
    listeners.push(listener);
    return () => {
      const at = listeners.indexOf(listener);
      if (at >= 0) listeners.splice(at, 1);
    };
  }

  /** Lets go of everything outside, once nobody inside listens any more. */
  dispose(): void {
    this.#unlink?.();
    this.#unlink = undefined;
  }

  #link(outer: AbortScope | undefined, signal: AbortSignal | undefined): void {
    if (outer?.aborted === true) return this.cancel(outer.reason);
    if (signal?.aborted === true) return this.cancel(signal.reason);
    const stopFollowing = signal === undefined ? undefined : follow(signal, this);
    if (outer !== undefined) (outer.#inner ??= new Set()).add(this);
    this.#unlink = () => {
      stopFollowing?.();
      if (outer !== undefined) outer.#inner?.delete(this);
    };
  }

  #end(reason: { readonly value: unknown; readonly cancelled: boolean; readonly inner: "abort" | "cancel" }): void {
    // A cancellation after an abort still has news to tell: that an answer is wanted now.
    if (this.#reason !== undefined && (this.#reason.cancelled || !reason.cancelled)) return;
    const first = this.#reason === undefined;
    this.#reason = first ? reason : { ...reason, value: this.#reason?.value };
    if (first) this.#controller?.abort(reason.value);
    for (const scope of [...(this.#inner ?? [])]) {
      if (reason.inner === "cancel") scope.cancel(reason.value);
      else scope.abort(reason.value, reason.inner);
    }
    for (const listener of [...(this.#listeners ?? [])]) listener();
  }
}

/** One listener for each signal, however many runs share it: Node warns of more than ten. It goes with the last of them. */
class SharedListener {
  readonly #scopes = new Set<AbortScope>();
  readonly #signal: AbortSignal;
  readonly #onAbort = (): void => {
    for (const scope of [...this.#scopes]) scope.cancel(this.#signal.reason);
  };

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener("abort", this.#onAbort, { once: true });
  }

  add(scope: AbortScope): () => void {
    this.#scopes.add(scope);
    return () => this.#remove(scope);
  }

  #remove(scope: AbortScope): void {
    this.#scopes.delete(scope);
    if (this.#scopes.size > 0) return;
    this.#signal.removeEventListener("abort", this.#onAbort);
    if (listeners.get(this.#signal) === this) listeners.delete(this.#signal);
  }
}

const listeners = new WeakMap<AbortSignal, SharedListener>();

function follow(signal: AbortSignal, scope: AbortScope): () => void {
  let listener = listeners.get(signal);
  if (listener === undefined) listeners.set(signal, (listener = new SharedListener(signal)));
  return listener.add(scope);
}
