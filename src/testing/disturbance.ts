import type { Awaitable } from "../support/and-then.js";
import { checkWord } from "../support/check.js";

const OPERATIONS = ["claim", "complete", "set", "get", "delete", "renew", "entries", "count"] as const;

/** A store's methods; `claim` is `set` with `nx`, `complete` is `set` with `xx`. */
export type StoreOperation = (typeof OPERATIONS)[number];

/** What can go wrong with any call. */
export type Fault =
  /** Rejects; nothing was done. */
  | "fail-before"
  /** Is done, and rejects: the connection broke before the answer came. */
  | "fail-after"
  /** Is done, and never answers. */
  | "lose-answer"
  /** Is not done, and never answers. */
  | "never-answer"
  /** Waits for `release()`, then is done and answers. */
  | "delay"
  /** Is done at once; its answer waits for `release()`. */
  | "delay-answer";

/** Only for `get`: answers what the last read of the key answered, as a server that lags behind does. */
export type ReadFault = "stale";

/** Only for `claim`: when it is refused, what it lost to goes away before it can be seen. */
export type ClaimFault = "vanish";

export type FaultOf<Operation extends StoreOperation> =
  | Fault
  | (Operation extends "get" ? ReadFault : never)
  | (Operation extends "claim" ? ClaimFault : never);

export interface StoreCall {
  readonly operation: StoreOperation;
  /** For `entries`, the prefix. */
  readonly key: string;
  readonly value?: string;
  readonly options?: object;
}

export interface DisturbanceOptions {
  /** How many calls it meets; `Infinity` for all. @default 1 */
  readonly times?: number;
  /** Which calls of its operation it meets. @default all */
  readonly when?: (call: StoreCall) => boolean;
  /** What a failing call rejects with. @default an Error that says so */
  readonly error?: unknown;
}

const FAULTS: readonly Fault[] = ["fail-before", "fail-after", "lose-answer", "never-answer", "delay", "delay-answer"];

function faultsOf(operation: StoreOperation): readonly (Fault | ReadFault | ClaimFault)[] {
  if (operation === "get") return [...FAULTS, "stale"];
  return operation === "claim" ? [...FAULTS, "vanish"] : FAULTS;
}

/** One thing that goes wrong, for as many calls as it was set up for. */
export class Disturbance {
  /** Resolves once a call has met it: the point where a test looks round. */
  readonly met: Promise<void>;
  readonly #operation: StoreOperation;
  readonly #fault: Fault | ReadFault | ClaimFault;
  readonly #options: DisturbanceOptions;
  readonly #released: Promise<void>;
  #left: number;
  #meet!: () => void;
  #release!: () => void;

  constructor(operation: StoreOperation, fault: Fault | ReadFault | ClaimFault, options: DisturbanceOptions) {
    this.#operation = checkWord("ChaosStore.disturb(): operation", operation, OPERATIONS);
    this.#fault = checkWord("ChaosStore.disturb(): fault", fault, faultsOf(operation));
    this.#options = options;
    this.#left = options.times ?? 1;
    this.met = new Promise((resolve) => (this.#meet = resolve));
    this.#released = new Promise((resolve) => (this.#release = resolve));
  }

  /** Lets the calls that wait go on. Later ones do not wait. */
  release(): void {
    this.#release();
  }

  /** Meets no further call, and lets those go on that wait. */
  end(): void {
    this.#left = 0;
    this.#release();
  }

  /** @internal */
  meets(call: StoreCall): boolean {
    return this.#left > 0 && call.operation === this.#operation && (this.#options.when?.(call) ?? true);
  }

  /** @internal */
  async undergo<Answer>(call: StoreCall, perform: () => Awaitable<Answer>, odd: () => Awaitable<Answer>): Promise<Answer> {
    this.#left -= 1;
    this.#meet();
    switch (this.#fault) {
      case "fail-before":
        throw this.#error(call, "before it was done");
      case "fail-after":
        await perform();
        throw this.#error(call, "after it was done");
      case "lose-answer":
        await perform();
        return NEVER;
      case "never-answer":
        return NEVER;
      case "delay":
        await this.#released;
        return perform();
      case "delay-answer": {
        const answer = await perform();
        await this.#released;
        return answer;
      }
      case "stale":
      case "vanish":
        return odd();
    }
  }

  #error({ operation, key }: StoreCall, when: string): unknown {
    return this.#options.error ?? new Error(`ChaosStore: ${operation} of ${key} failed ${when}`);
  }
}

const NEVER = new Promise<never>(() => {});
