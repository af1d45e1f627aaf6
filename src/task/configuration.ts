import { DefinitionError } from "../errors.js";
import { checkFunction, describe, list } from "../support/check.js";
import { systemClock, type Clock } from "../support/clock.js";
import { toMs, type Duration } from "../support/duration.js";
import type { Store } from "../stores/store.js";
import { Telemetry } from "../telemetry/emitter.js";
import { callbackEntry, type CallbackEntry, type CallbackFunction, type CallbackName } from "./callbacks.js";
import type { Gates } from "./gates.js";
import { checkLogFields, checkLogger, type LogFields, type Logger } from "./log.js";
import { declarationsChanged } from "./metadata.js";
import { middlewareLink, type Middleware } from "./middleware.js";
import type { Link } from "./onion.js";
import { checkStore } from "./check-store.js";
import { checkTags } from "./tags.js";
import type { Task } from "./task.js";

/** What holds for all tasks, unless a class says otherwise. Every class sees it, also when it is set late. */
export class Configuration {
  /** Listeners for the events of all tasks. */
  readonly telemetry: Telemetry = new Telemetry();
  /** @internal */
  readonly callbacks: CallbackEntry[] = [];
  /** @internal */
  readonly middlewares: Link[] = [];
  /** Where log lines go: pino, console, or anything with `info`, `warn` and `error`. @default none */
  logger: Logger | undefined;
  /** Which values a log line may show. @default none */
  logFields: LogFields = {};
  /** Tags on every run. @default none */
  tags: readonly string[] = [];
  /** Ties a chain to something outside, a request id say. Asked once, by the root run of each chain. @default none */
  correlationId: (() => string | undefined) | undefined;
  /** How an instance is made, for containers of dependencies. A new one for each run. @default `new type()` */
  construct: <T extends Task>(type: new () => T) => T = (type) => new type();
  /** Where time comes from; tests put a manual clock here. @default the machine's */
  clock: Clock = systemClock;

  /** Where slots and locks are kept. @default a store of this process alone, for development and tests */
  store: Store | undefined;
  /** How long a call of the store may take before it counts as failed with unknown effect. @default 5 (seconds) */
  storeTimeout: Duration = 5;

  /** Puts a middleware around the runs of all tasks, inside those added before. */
  use<T extends Task = Task>(middleware: Middleware<T>, gates: Gates<T> = {}): void {
    this.middlewares.push(middlewareLink(middleware, gates));
    declarationsChanged();
  }

  /** Adds a callback to all tasks; it runs before those of their classes. */
  callback<Name extends CallbackName, T extends Task = Task>(name: Name, run: CallbackFunction<Name, T>, gates: Gates<T> = {}): void {
    this.callbacks.push(callbackEntry(name, run, gates));
    declarationsChanged();
  }
}

type Checks = { readonly [Option in keyof Configuration]?: (value: unknown) => void };

/** The options that can be set, each with the check of its value. */
const CHECKS: Checks = {
  logger: (value) => value === undefined || checkLogger("config.logger", value),
  logFields: (value) => checkLogFields("config.logFields", value),
  tags: (value) => checkTags("config.tags", value),
  correlationId: (value) => value === undefined || checkFunction("config.correlationId", value),
  construct: (value) => checkFunction("config.construct", value),
  store: (value) => value === undefined || checkStore("config.store", value),
  storeTimeout: (value) => toMs("config.storeTimeout", value as Duration), // it checks what it is given
  clock: (value) => {
    const isClock = ["now", "epoch", "timer"].every(
      (name) => typeof value === "object" && value !== null && typeof Reflect.get(value, name) === "function",
    );
    if (!isClock) throw new DefinitionError(`config.clock must have now, epoch and timer, got ${describe(value)}.`);
  },
};

export let configuration: Configuration = new Configuration();

/**
 * Changes what holds for all tasks. May be called again: later calls add to earlier ones.
 *
 * @throws {DefinitionError} when an option does not exist or has the wrong shape.
 */
export function configure(change: (config: Configuration) => void): void {
  checkFunction("configure()", change);
  change(new Proxy(configuration, CHECKED));
}

/** Back to the defaults, `config.telemetry` and its listeners included; listeners of single classes stay. For tests. */
export function resetConfiguration(): void {
  configuration = new Configuration();
  declarationsChanged();
}

/** Assignments are checked where they are made, so that the stack points at the mistake. */
const CHECKED: ProxyHandler<Configuration> = {
  get(target, key): unknown {
    const value: unknown = Reflect.get(target, key);
    return typeof value === "function" && Object.hasOwn(Configuration.prototype, key) ? value.bind(target) : value;
  },
  set(target, key, value) {
    const check = Object.hasOwn(CHECKS, key) ? CHECKS[key as keyof Checks] : undefined; // it was just found there
    if (check === undefined)
      throw new DefinitionError(`config.${String(key)} cannot be set. Options: ${list(Object.keys(CHECKS))}. Check the spelling.`);
    check(value);
    declarationsChanged();
    return Reflect.set(target, key, value);
  },
};
