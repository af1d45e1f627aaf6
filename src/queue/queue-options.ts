import { DefinitionError } from "../errors.js";
import { checkFunction, checkOptions, describe } from "../support/check.js";
import { toMs, type Duration } from "../support/duration.js";
import { configuration } from "../task/configuration.js";
import { warnOnce } from "./announce.js";
import type { Codec } from "./codecs/codec.js";
import { memoryEngine } from "./engines/memory/engine.js";
import { JOB_SETTINGS, parseSettings, type Change, type JobSettings } from "./options.js";
import type { EngineSource } from "./port.js";
import { jsonSerializer } from "./serializers/json.js";
import type { Serializer } from "./serializers/serializer.js";
import { Wire } from "./wire.js";

export interface QueueOptions {
  /** Where jobs are kept. @default a `memoryEngine()` of this queue's own */
  readonly engine?: EngineSource;
  /** Jobs, keys, schedules and workers of two namespaces never meet, though they share an engine. @default "taskwright" */
  readonly namespace?: string;
  /** How inputs become bytes. Derived keys depend on it. @default `jsonSerializer()` */
  readonly serializer?: Serializer;
  /** What is done to the bytes, in this order. Derived keys do not depend on it. @default none */
  readonly codecs?: readonly Codec[];
  /** Codecs that are not used any more, but may be needed to read jobs that are still there. @default none */
  readonly retiredCodecs?: readonly Codec[];
  /** How long a call of the engine may take before it counts as failed. @default 5 (seconds) */
  readonly timeout?: Duration;
  /** How jobs are handled where neither class nor call says so. */
  readonly defaults?: JobSettings;
  /** Gets what goes wrong outside of any job: a lost connection, say. @default the logger, else a warning */
  readonly onError?: (error: Error) => void;
}

export interface ResolvedQueueOptions {
  readonly engine: EngineSource;
  readonly namespace: string;
  readonly wire: Wire;
  readonly timeoutMs: number;
  readonly defaults: Change;
  readonly onError: (error: Error) => void;
}

const ALLOWED = "engine namespace serializer codecs retiredCodecs timeout defaults onError".split(" ");

/** @throws {DefinitionError} when an option is unknown or has the wrong shape. */
export function resolveQueueOptions(options: QueueOptions): ResolvedQueueOptions {
  checkOptions("new Queue()", options, ALLOWED);
  const { engine, namespace = "taskwright", serializer = jsonSerializer(), codecs = [], retiredCodecs = [], timeout = 5 } = options;
  const { defaults = {}, onError = report } = options;
  if (engine !== undefined) checkFunction("new Queue(): engine", engine);
  else if (process.env["NODE_ENV"] === "production")
    warnOnce("A queue without an engine", "its jobs are in this process alone, and end with it");
  checkOptions("new Queue(): defaults", defaults, JOB_SETTINGS);
  checkFunction("new Queue(): onError", onError);
  checkParts("serializer", [serializer], ["serialize", "deserialize"]);
  checkParts("codecs", codecs, ["encode", "decode"]);
  checkParts("retiredCodecs", retiredCodecs, ["encode", "decode"]);
  return {
    engine: engine ?? memoryEngine(),
    namespace: checkNamespace(namespace),
    wire: new Wire(serializer, codecs, retiredCodecs),
    timeoutMs: toMs("new Queue(): timeout", timeout),
    defaults: parseSettings("new Queue(): defaults", defaults),
    onError: guarded(onError),
  };
}

/** Engines make names of it that ":" and control characters would break. */
function checkNamespace(namespace: unknown): string {
  if (typeof namespace === "string" && namespace.trim() !== "" && !/[:\p{Cc}]/u.test(namespace) && namespace.isWellFormed())
    return namespace;
  throw new DefinitionError(`new Queue(): namespace must be a text that is not blank and has no ":", got ${describe(namespace)}.`);
}

function checkParts(option: string, parts: unknown, methods: readonly string[]): void {
  if (!Array.isArray(parts)) throw new DefinitionError(`new Queue(): ${option} must be an array, got ${describe(parts)}.`);
  const given: readonly unknown[] = parts;
  for (const part of given) {
    const has = (name: string): boolean => typeof part === "object" && part !== null && typeof Reflect.get(part, name) === "function";
    const isNamed = typeof part === "object" && part !== null && typeof Reflect.get(part, "name") === "string";
    if (!isNamed || !methods.every(has))
      throw new DefinitionError(`new Queue(): ${option} takes objects with name, ${methods.join(" and ")}, got ${describe(part)}.`);
  }
}

/** Who is told of trouble must not make more of it. */
function guarded(tell: (error: Error) => void): (error: Error) => void {
  return (error) => {
    try {
      tell(error);
    } catch (thrown) {
      warnOnce("The onError of a queue failed", thrown);
    }
  };
}

function report(error: Error): void {
  const { logger } = configuration;
  if (logger === undefined) warnOnce("The queue's engine is in trouble", error);
  else logger.error({ error }, `The queue's engine is in trouble: ${error.message}`);
}
