import { StoreUnavailableError } from "../errors.js";
import { messageOf } from "../support/thrown.js";
import { toMs, type Duration } from "../support/duration.js";
import { MemoryStore } from "../stores/memory.js";
import type { Store } from "../stores/store.js";
import { configuration, type Configuration } from "../task/configuration.js";
import { guarded } from "../task/observers.js";
import type { FailedOutcome } from "../task/outcome.js";
import type { Plan } from "../task/plan.js";
import type { Run } from "../task/run.js";

/** The store of a task: its own, else the configured one, else one of this process alone. */
export function storeOf(plan: Plan): Store {
  return plan.store ?? configuration.store ?? embeddedStore();
}

const embedded = new WeakMap<Configuration, Store>();
let warned = false;

/** One memory store for each configuration, made when somebody first needs it. */
export function embeddedStore(): Store {
  const known = embedded.get(configuration);
  if (known !== undefined) return known;
  const store = new MemoryStore({ clock: configuration.clock });
  embedded.set(configuration, store);
  warnInProduction();
  return store;
}

function warnInProduction(): void {
  if (process.env["NODE_ENV"] !== "production" || warned) return;
  warned = true;
  const message =
    "Taskwright keeps its slots in the memory of this process: other processes do not see them, and a restart forgets them. " +
    "Set config.store, for example to new RedisStore(client).";
  if (configuration.logger === undefined) process.emitWarning(message, "TaskwrightWarning");
  else guarded(() => configuration.logger?.warn({}, message));
}

let timeout: { readonly given: Duration; readonly ms: number } | undefined;

/** How long a call of the store may take, in milliseconds. */
export function storeTimeoutMs(): number {
  const given = configuration.storeTimeout;
  if (timeout?.given !== given) timeout = { given, ms: toMs("config.storeTimeout", given) };
  return timeout.ms;
}

/** The outcome of a run whose key could not be had since the store failed. `named` is what the metadata calls the key. */
export function storeUnavailable(run: Run, key: string, cause: Error, named: string): FailedOutcome {
  const error = new StoreUnavailableError(`${run.plan.name} did not run: its key ${key} could not be claimed (${messageOf(cause)})`, {
    cause,
  });
  const metadata = { code: "store_unavailable", [named]: key };
  return { status: "failed", by: "refused", error, reason: error.message, retryable: true, metadata };
}
