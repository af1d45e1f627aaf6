import { InvalidInputError, type Issue } from "../errors.js";
import { andThen, type Awaitable } from "../support/and-then.js";
import { uuidv7 } from "../support/uuid.js";
import { configuration } from "../task/configuration.js";
import type { Origin } from "../task/origin.js";
import type { Plan } from "../task/plan.js";
import { issuesText } from "../task/schema.js";
import { resolveKey } from "./keys.js";
import { MovingValues } from "./moving-values.js";
import { checkId, jobOptionsOf, parseSettings, withChange, type Effective, type EnqueueOptions } from "./options.js";
import type { Outline } from "./outline.js";
import type { EngineJob } from "./port.js";
import type { Wire } from "./wire.js";

/** A job that is ready for the engine, and what only the queue needs to know of it. */
export interface Prepared {
  readonly job: EngineJob;
  /** The serialized input, before any codec. */
  readonly bytes: Uint8Array;
  readonly settings: Effective;
  /** Was its id given by the caller? Then there may be a job of that id already. */
  readonly hasOwnId: boolean;
  readonly origin: Origin | undefined;
}

/** Makes jobs of calls: everything about one that happens before the engine is asked. */
export class Preparation {
  readonly #wire: Wire;
  readonly #movingValues = new MovingValues();

  constructor(wire: Wire) {
    this.#wire = wire;
  }

  /**
   * @throws {DefinitionError} when an option is not as it should be.
   * @throws {UnserializableError} when the serializer cannot carry the input.
   * @throws {InvalidInputError} when the input does not fit the task's schema.
   */
  prepare(owner: string, outline: Outline, input: unknown, options: EnqueueOptions, origin: Origin | undefined): Awaitable<Prepared> {
    const { plan, name } = outline;
    const settings = withChange(outline.settings, parseSettings(owner, options));
    const id = options.id === undefined ? uuidv7(configuration.clock.epoch()) : checkId(options.id);
    const bytes = this.#wire.serializer.serialize(input);
    const key = resolveKey(options, settings.idempotent, name, bytes);
    if (key?.derived === true && process.env["NODE_ENV"] !== "production")
      this.#movingValues.look(name, input, bytes, configuration.clock.epoch());
    const packed = andThen(settings.checkInput ? this.#check(plan, input, bytes) : undefined, () =>
      this.#wire.pack(bytes, { origin, timeoutMs: settings.timeoutMs }),
    );
    return andThen(packed, (payload) => ({
      job: { id, task: name, payload, key: key?.text, options: jobOptionsOf(settings) },
      bytes,
      settings,
      hasOwnId: options.id !== undefined,
      origin,
    }));
  }

  /** Holds against the schema what the worker will have: the input as the serializer gives it back. */
  #check(plan: Plan, input: unknown, bytes: Uint8Array): Awaitable<void> {
    const arriving = this.#wire.serializer.deserialize(bytes);
    return andThen(issuesOf(plan, arriving), (issues) => (issues === undefined ? undefined : this.#refuse(plan, input, issues)));
  }

  async #refuse(plan: Plan, input: unknown, issues: readonly Issue[]): Promise<never> {
    const { serializer } = this.#wire;
    const changed = (await issuesOf(plan, input)) === undefined;
    const why = changed ? `, once the ${serializer.name} serializer has carried it` : "";
    throw new InvalidInputError(
      `This ${plan.name} was not enqueued, since its input does not fit its schema${why}: ${issuesText(issues)}`,
      issues,
    );
  }
}

/** As in a run: nothing given means no fields. */
function issuesOf(plan: Plan, input: unknown): Awaitable<readonly Issue[] | undefined> {
  const given = input ?? {};
  if (plan.parseInput !== undefined) return andThen(plan.parseInput(given), ({ issues }) => issues);
  return Object.keys(given).length === 0 ? undefined : [{ path: [], message: "takes no input" }];
}
