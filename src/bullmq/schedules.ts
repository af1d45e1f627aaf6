import type { EngineJob, EngineSchedule } from "../queue/port.js";
import { systemClock } from "../support/clock.js";
import { uuidOf } from "../support/uuid.js";
import type { BullQueue } from "./storage.js";
import { internalData, TICK, type StoredJob } from "./stored-job.js";

/**
 * Schedules are BullMQ's job schedulers. A key does not go with their jobs: a scheduler makes its next job when the last one is taken,
 * so a job that coalesces would be its end. What it makes is a tick instead, without a key, and the worker that takes the tick
 * enqueues the job like anybody else.
 */
export async function putSchedule(queue: BullQueue, schedule: EngineSchedule): Promise<void> {
  const { every } = schedule;
  const rhythm =
    "cron" in every
      ? { pattern: every.cron, ...(every.timeZone !== undefined && { tz: every.timeZone }) }
      : { every: every.intervalMs, startDate: systemClock.epoch() + every.intervalMs };
  await queue.upsertJobScheduler(schedulerId(schedule.name), rhythm, {
    name: TICK,
    data: internalData(JSON.stringify(schedule)),
    opts: { attempts: 3, backoff: { type: "fixed", delay: 1_000 }, removeOnComplete: true, removeOnFail: true },
  });
}

export async function endSchedule(queue: BullQueue, name: string): Promise<boolean> {
  return queue.removeJobScheduler(schedulerId(name));
}

export async function listSchedules(queue: BullQueue): Promise<readonly EngineSchedule[]> {
  const schedulers = await queue.getJobSchedulers(0, -1, true);
  return schedulers.flatMap(({ template }) => (template?.data === undefined ? [] : [scheduleOf(template.data.payload)]));
}

/** The job that a tick stands for. A tick that is taken twice, since its first worker died, makes it once. */
export function jobOfTick(tick: StoredJob): EngineJob {
  const { task, payload, key, options } = scheduleOf(tick.data.payload);
  return { id: uuidOf(`${tick.queueQualifiedName}:${tick.id}`), task, payload, key, options };
}

/** BullMQ gives meaning to some names with colons. */
function schedulerId(name: string): string {
  return encodeURIComponent(name);
}

function scheduleOf(text: string): EngineSchedule {
  const schedule = JSON.parse(text) as EngineSchedule; // written by `putSchedule`
  if ("intervalMs" in schedule.every) return schedule;
  const { cron, timeZone } = schedule.every;
  return { ...schedule, every: { cron, timeZone } }; // JSON leaves out what is undefined
}
