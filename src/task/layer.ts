import type { Awaitable } from "../support/and-then.js";
import type { TaskClass } from "./contract.js";
import type { Feature } from "./metadata.js";
import type { Outcome } from "./outcome.js";
import type { Json } from "./result-json.js";
import type { Run } from "./run.js";

/** One step of a run, with everything inside it. It never throws nor rejects: what happens is in the outcome. */
export type Step = (run: Run) => Awaitable<Outcome>;

/** Wraps a step in another. Composed once per class; all that belongs to one run is on the run. */
export type Layer = (next: Step) => Step;

/**
 * The one order of layers, outermost first, whatever the order of the decorators. Adding a policy adds a line here.
 * The claim is held across all attempts and their waits, and freed only after the rollback.
 */
export const RANKS = ["rateLimit", "circuitBreaker", "lock", "idempotency", "rollback", "encode", "output", "retry", "timeout"] as const;
export type Rank = (typeof RANKS)[number];

export interface RankedLayer {
  readonly rank: Rank;
  readonly layer: Layer;
}

/** A feature that takes part in runs. */
export interface LayerFeature<Declared, Effective> extends Feature<Declared, Effective> {
  /** Does it make use of the `idempotencyKey` of a call? */
  readonly takesKey?: true;
  /**
   * The layers for a class with these effective options; none when they turn it off.
   *
   * @throws {DefinitionError} when the options and the class do not go together.
   */
  layers(options: Effective, type: TaskClass): readonly RankedLayer[];
  /** The effective options as plain data for people to read; undefined when they turn it off. */
  describe(options: Effective): Json | undefined;
}

export function isLayerFeature(feature: Feature<unknown, unknown>): feature is LayerFeature<unknown, unknown> {
  return "layers" in feature;
}

/** Nests the layers by rank around the innermost step. */
export function compose(layers: readonly RankedLayer[], innermost: Step): Step {
  const outermostFirst = layers.toSorted((a, b) => RANKS.indexOf(a.rank) - RANKS.indexOf(b.rank));
  return outermostFirst.reduceRight((next, { layer }) => layer(next), innermost);
}
