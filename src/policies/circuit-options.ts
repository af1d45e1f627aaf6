import { DefinitionError } from "../errors.js";
import { checkInteger, checkOptions, describe } from "../support/check.js";
import { toMs, type Duration } from "../support/duration.js";
import { checkGates, type Gates } from "../task/gates.js";
import type { Task } from "../task/task.js";
import type { CircuitRule } from "./circuit.js";
import type { SamplingRule } from "./sampling.js";

/** Opens the circuit by the share of failures among the runs of late. */
export interface SamplingOptions {
  /** The share of failures that opens the circuit: above 0, up to 1. */
  readonly threshold: number;
  /** How far back runs count. */
  readonly duration: Duration;
  /** Fewer runs per second than this, on average over the duration, do not open it. @default 1 */
  readonly minimumRps?: number;
}

/** A circuit counts failures in a row (`threshold`), or their share (`sampling`). */
export type CircuitBreakerOptions<T extends Task = Task> = CommonOptions<T> &
  (
    | {
        /** So many failures in a row open the circuit. @default 5 */
        readonly threshold?: number;
        readonly sampling?: never;
      }
    | { readonly threshold?: never; readonly sampling: SamplingOptions }
  );
interface CommonOptions<T extends Task> extends Gates<T> {
  /** How long the circuit stays open before one run is let through to see. @default 30 (seconds) */
  readonly coolOff?: Duration;
  /** Classes with the same scope share one circuit. `null` gives the class one of its own again. @default one for each class */
  readonly scope?: string | null;
}

/** The effective options of a class. */
export interface Breaker extends CircuitRule {
  readonly off: boolean;
  readonly scope: string | undefined;
  readonly gates: Gates;
}
/** One `@circuitBreaker`: options, or off. */
export type BreakerChange = false | (Partial<Omit<Breaker, "off" | "gates">> & Pick<Breaker, "gates">);

export const DEFAULT_BREAKER: Breaker = { off: false, opens: { threshold: 5 }, coolOffMs: 30_000, scope: undefined, gates: {} };

/** @throws {DefinitionError} when an option is unknown or has the wrong shape. */
export function parseBreaker(options: CircuitBreakerOptions): Exclude<BreakerChange, false> {
  checkOptions("@circuitBreaker()", options, ["threshold", "sampling", "coolOff", "scope", "if", "unless"]);
  checkGates("@circuitBreaker()", options);
  const { threshold, sampling, coolOff, scope } = options;
  if (threshold !== undefined && sampling !== undefined)
    throw new DefinitionError("@circuitBreaker() takes threshold (failures in a row) or sampling (their share), not both. Leave one out.");
  return {
    gates: { ...(options.if !== undefined && { if: options.if }), ...(options.unless !== undefined && { unless: options.unless }) },
    ...(threshold !== undefined && { opens: { threshold: checkInteger("@circuitBreaker(): threshold", threshold, 1) } }),
    ...(sampling !== undefined && { opens: { sampling: parseSampling(sampling) } }),
    ...(coolOff !== undefined && { coolOffMs: toMs("@circuitBreaker(): coolOff", coolOff) }),
    ...(scope !== undefined && { scope: scope === null ? undefined : checkScope(scope) }),
  };
}

function parseSampling(options: SamplingOptions): SamplingRule {
  checkOptions("@circuitBreaker(): sampling", options, ["threshold", "duration", "minimumRps"]);
  const { threshold, duration, minimumRps = 1 } = options;
  if (typeof threshold !== "number" || !(threshold > 0 && threshold <= 1))
    throw new DefinitionError(
      `@circuitBreaker(): sampling.threshold must be a number above 0 and up to 1, got ${describe(threshold)}. 0.5 opens the circuit when half of the runs fail.`,
    );
  if (typeof minimumRps !== "number" || !(minimumRps >= 0 && minimumRps < Number.POSITIVE_INFINITY))
    throw new DefinitionError(
      `@circuitBreaker(): sampling.minimumRps must be a number of runs per second, 0 or more, got ${describe(minimumRps)}.`,
    );
  return { threshold, durationMs: toMs("@circuitBreaker(): sampling.duration", duration), minimumRps };
}

function checkScope(scope: unknown): string {
  if (typeof scope === "string" && scope.trim() !== "") return scope;
  throw new DefinitionError(
    `@circuitBreaker(): scope must be a text that is not blank, or null, got ${describe(scope)}. Name what the classes share: "card-network".`,
  );
}
