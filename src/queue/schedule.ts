import { DefinitionError } from "../errors.js";
import { describe } from "../support/check.js";
import { toMs, type Duration } from "../support/duration.js";
import { messageOf, toError } from "../support/thrown.js";
import { configuration } from "../task/configuration.js";
import { nextTick } from "./cron.js";
import type { EnqueueOptions } from "./options.js";
import type { EngineSchedule } from "./port.js";

/** When a schedule ticks, and how its jobs are handled. A tick whose key is held coalesces; later ticks still come. */
export type ScheduleOptions = Omit<EnqueueOptions, "id"> &
  (
    | {
        /** Five fields (minute, hour, day of the month, month, day of the week), or six with seconds first. */
        readonly cron: string;
        /** The zone of the fields: "Europe/Paris". @default the machine's */
        readonly timeZone?: string;
        readonly every?: never;
      }
    | {
        /** The time between two ticks. */
        readonly every: Duration;
        readonly cron?: never;
        readonly timeZone?: never;
      }
  );

/** A schedule as it is kept. */
export interface Schedule {
  readonly name: string;
  /** The task's name. */
  readonly task: string;
  readonly cron: string | undefined;
  readonly timeZone: string | undefined;
  readonly everyMs: number | undefined;
  readonly key: string | undefined;
}

/** @throws {DefinitionError} when there is not one way to tell when, or it is wrong. */
export function parseTimes({ cron, every, timeZone }: ScheduleOptions): EngineSchedule["every"] {
  if ((cron === undefined) === (every === undefined)) throw new DefinitionError("A schedule has either cron or every.");
  if (every !== undefined) {
    if (timeZone !== undefined) throw new DefinitionError("timeZone goes with cron: an interval is the same everywhere.");
    return { intervalMs: toMs("every", every) };
  }
  if (timeZone !== undefined && (typeof timeZone !== "string" || timeZone === ""))
    throw new DefinitionError(`timeZone must be a name like "Europe/Paris", got ${describe(timeZone)}. Leave it out for the machine's.`);
  if (typeof cron !== "string") throw new DefinitionError(`cron must be a text, got ${describe(cron)}.`);
  try {
    if (nextTick(cron, timeZone, configuration.clock.epoch()) !== undefined) return { cron, timeZone };
  } catch (thrown) {
    const error = toError(thrown);
    const zone = timeZone === undefined ? "" : ` in the time zone ${describe(timeZone)}`;
    throw new DefinitionError(`cron ${describe(cron)}${zone} cannot be read: ${messageOf(error)}`, { cause: error });
  }
  throw new DefinitionError(`cron ${describe(cron)} never comes.`);
}

export function checkScheduleName(name: unknown): string {
  if (typeof name === "string" && name.trim() !== "" && !/[\p{Cc}]/u.test(name) && name.isWellFormed()) return name;
  throw new DefinitionError(`A schedule has a name, to be changed and ended by, got ${describe(name)}.`);
}

export function scheduleOf({ name, task, every, key }: EngineSchedule): Schedule {
  const isCron = "cron" in every;
  return Object.freeze({
    name,
    task,
    cron: isCron ? every.cron : undefined,
    timeZone: isCron ? every.timeZone : undefined,
    everyMs: isCron ? undefined : every.intervalMs,
    key,
  });
}
