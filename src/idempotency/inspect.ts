import { DefinitionError } from "../errors.js";
import { embeddedStore } from "../claims/store-of.js";
import { promised } from "../support/and-then.js";
import { checkOptions, checkWord, describe } from "../support/check.js";
import { toMs, type Duration } from "../support/duration.js";
import type { EntryPage, Store } from "../stores/store.js";
import { configuration } from "../task/configuration.js";
import type { ExecuteArguments, TaskClass } from "../task/contract.js";
import { outsideRuns } from "../task/chain.js";
import { Halt } from "../task/halt.js";
import { keyNameOf } from "../task/name.js";
import { parseInput } from "../task/parse-input.js";
import { planOf } from "../task/plan.js";
import { NO_OPTIONS, startRun } from "../task/start.js";
import { attachRun } from "../task/task.js";
import { idempotencyOf } from "./decorator.js";
import { identify } from "./identity.js";
import { readSlot } from "./slot.js";

/** A slot as somebody who operates the system sees it. */
export interface SlotInfo {
  /** What the duplicate's result shows, and what {@link releaseSlot} takes. */
  readonly key: string;
  readonly state: "processing" | "completed";
  /** Who holds it, while somebody does. */
  readonly owner: string | undefined;
  /** The run that wrote it, where the slot names one. */
  readonly runId: string | undefined;
  /** How long ago that run began, in milliseconds; undefined where the slot names none. */
  readonly ageMs: number | undefined;
  readonly expiresInMs: number;
}

export interface SlotsOptions {
  /** Slots of this namespace, and of those whose names go on after it with a colon. @default "cmdx:idem" */
  readonly namespace?: string;
  /** Only the slots of this task. */
  readonly task?: TaskClass | string;
  /** Only slots in this state. */
  readonly state?: "processing" | "completed";
  /** Only slots whose run began longer ago than this. */
  readonly olderThan?: Duration;
}

/**
 * Walks through the slots of a store, page by page, in no order: `for await (const slot of slots(store, { state: "processing" })) …`.
 *
 * @throws {DefinitionError} when an option has the wrong shape.
 */
export async function* slots(store: Store, options: SlotsOptions = {}): AsyncGenerator<SlotInfo, void, undefined> {
  checkOptions("slots()", options, ["namespace", "task", "state", "olderThan"]);
  const { namespace = "cmdx:idem", task, state, olderThan } = options;
  if (state !== undefined) checkWord("slots(): state", state, ["processing", "completed"]);
  const olderThanMs = olderThan === undefined ? undefined : toMs("slots(): olderThan", olderThan);
  const prefix = task === undefined ? `${namespace}:` : `${namespace}:${typeof task === "string" ? task : keyNameOf(task)}:`;
  let page: EntryPage | undefined;
  do {
    page = await store.entries({ prefix, ...(page?.cursor !== undefined && { cursor: page.cursor }) });
    for (const entry of page.entries) {
      const slot = slotInfo(entry);
      if (state !== undefined && slot.state !== state) continue;
      if (olderThanMs !== undefined && !(slot.ageMs !== undefined && slot.ageMs > olderThanMs)) continue;
      yield slot;
    }
  } while (page.cursor !== undefined);
}

function slotInfo(entry: EntryPage["entries"][number]): SlotInfo {
  const { state, details } = readSlot(entry);
  const runId = entry.owner ?? details.run;
  return { key: entry.key, state, owner: entry.owner, runId, ageMs: ageOf(runId), expiresInMs: entry.expiresInMs };
}

/** A run's id is a UUID version 7 and begins with the milliseconds at which the run began. */
function ageOf(runId: string | undefined): number | undefined {
  const [, high, low] = /^([0-9a-f]{8})-([0-9a-f]{4})-7/.exec(runId ?? "") ?? [];
  return high === undefined || low === undefined ? undefined : Math.max(0, configuration.clock.epoch() - Number.parseInt(high + low, 16));
}

/**
 * Frees a slot that is stuck, if that owner still holds it. Answers false when the owner has changed or nobody holds it:
 * then look again.
 *
 * @throws {DefinitionError} without a key and an owner.
 */
export async function releaseSlot(key: string, { owner, store }: { readonly owner: string; readonly store?: Store }): Promise<boolean> {
  if (typeof key !== "string" || key === "")
    throw new DefinitionError(`releaseSlot() takes the whole key of a slot, got ${describe(key)}.`);
  if (typeof owner !== "string" || owner === "")
    throw new DefinitionError(`releaseSlot(): owner must be the owner that slots() shows, got ${describe(owner)}.`);
  return (store ?? configuration.store ?? embeddedStore()).delete(key, { owner });
}

/**
 * The key that a run with this input would use; undefined when it would step aside. Nothing is run and nothing is claimed.
 *
 * @throws {InvalidInputError} when the input does not fit.
 * @throws {DefinitionError} when the task is not idempotent.
 */
export async function keyFor<C extends TaskClass>(type: C, ...args: ExecuteArguments<C>): Promise<string | undefined> {
  const [input, { idempotencyKey } = NO_OPTIONS] = args;
  const idempotency = idempotencyOf(type);
  const plan = planOf(type);
  if (idempotency === undefined)
    throw new DefinitionError(`${plan.name} is not idempotent, so its runs have no key. Put @idempotentBy() on it.`);
  // A run that is no part of any chain, and goes no further than to its key.
  const run = outsideRuns(() => startRun(plan, input, idempotencyKey === undefined ? NO_OPTIONS : { idempotencyKey }, attachRun));
  const refused = await parseInput(run);
  if (refused?.status === "failed") throw refused.error;
  const identifying = promised(() => identify(run, { ...idempotency, fingerprint: false, onMissingKey: "run" }, keyNameOf(type)));
  const identified = await identifying.catch(rejectWithError);
  return "key" in identified ? identified.key : undefined;
}

function rejectWithError(thrown: unknown): never {
  throw Halt.is(thrown) ? new DefinitionError(`This run would be halted before it had a key (${thrown.outcome.status}).`) : thrown;
}
