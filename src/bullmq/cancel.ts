import { storedMsOf } from "./retention.js";
import { readRecord, readStored } from "./read.js";
import type { BullQueue } from "./storage.js";
import { cancelledAtOf } from "./stored-job.js";
import { systemClock } from "../support/clock.js";
import type { JobRecord } from "../queue/port.js";

/**
 * Cancels a job, without a moment at which a worker could do its work all the same:
 *
 * 1. The job is marked. A worker that takes it from here on sees the mark and does not run it.
 * 2. Now it is looked at. Running: its worker took it before, and asks for the mark (`tell` spares a worker in this process the wait).
 * 3. Pending: it counts as cancelled from now on, and its key is freed. BullMQ knows no such state, so the job itself stays where it
 *    is until a worker comes upon it, and its id stays known: a repeated enqueue does not bring it back.
 */
export async function cancelJob(
  queue: BullQueue,
  id: string,
  tell: () => void,
): Promise<"cancelled" | "requested" | "finished" | "unknown"> {
  if (!(await mark(queue, id))) return endedAnswer(await readRecord(queue, id));
  const record = await readStored(queue, id);
  if (record === undefined) return "unknown";
  if (record.state === "running") {
    tell();
    return "requested";
  }
  // By somebody else, before a worker had it; or by a worker that had it and has heard of it already.
  if (record.state === "cancelled") return (await wasPending(queue, id)) ? "cancelled" : "requested";
  if (record.state !== "pending") return "finished";
  await settle(queue, record);
  return "cancelled";
}

/** Marks a job that has not ended, and tells whether there was one. */
async function mark(queue: BullQueue, id: string): Promise<boolean> {
  const job = await queue.getJob(id);
  if (job === undefined || job.finishedOn !== undefined || cancelledAtOf(job) !== undefined) return false;
  if (job.data.cancel !== true) await job.updateData({ ...job.data, cancel: true });
  return true;
}

/** Was it pending when it was cancelled? Of several that cancel it at once, one may just be writing over the time of another. */
async function wasPending(queue: BullQueue, id: string): Promise<boolean> {
  const job = await queue.getJob(id);
  return job?.finishedOn === undefined || cancelledAtOf(job) !== undefined;
}

async function settle(queue: BullQueue, record: JobRecord): Promise<void> {
  const job = await queue.getJob(record.id);
  if (job === undefined) return; // a worker came upon it and it is forgotten
  await job.updateData({ ...job.data, cancel: true, cancelledAt: systemClock.epoch() });
  if (record.key !== undefined) await queue.getBackend().removeDeduplicationKey(record.key, record.id);
  // It waits for nothing but to be forgotten. Refused where it is in no list of delayed jobs: then the next free worker takes it.
  await job.changeDelay(storedMsOf(record)).catch(() => undefined);
}

function endedAnswer(record: JobRecord | undefined): "finished" | "unknown" {
  return record === undefined ? "unknown" : "finished";
}
