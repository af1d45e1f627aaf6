import { findCancelled, rememberCancelled } from "./cancelled-jobs.js";
import { readRecord, readStored } from "./read.js";
import type { BullQueue } from "./storage.js";
import { systemClock } from "../support/clock.js";
import type { JobRecord } from "../queue/port.js";

/**
 * Cancels a job, without a moment at which a worker could do its work all the same:
 *
 * 1. The job is marked. A worker that takes it from here on sees the mark and does not run it.
 * 2. Now it is looked at. Running: its worker took it before, and asks for the mark (`tell` spares a worker in this process the wait).
 * 3. Pending: it is removed, which frees its key. If a worker took it in between, then only to end it as cancelled.
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
  // By a worker that had it and has heard of it already; or by somebody else, before a worker had it.
  if (record.state === "cancelled") return (await findCancelled(queue, id)) === undefined ? "requested" : "cancelled";
  if (record.state !== "pending") return "finished";
  // First the record, so that whoever looks meanwhile finds one or the other.
  await rememberCancelled(queue, { ...record, state: "cancelled", endedAt: systemClock.epoch() });
  if ((await queue.remove(id)) === 1) return "cancelled";
  return (await readStored(queue, id))?.state === "running" ? "requested" : "cancelled";
}

/** Marks a job that has not ended, and tells whether there was one. */
async function mark(queue: BullQueue, id: string): Promise<boolean> {
  const job = await queue.getJob(id);
  if (job === undefined || job.finishedOn !== undefined) return false;
  try {
    await job.updateData({ ...job.data, cancel: true });
    return true;
  } catch (error) {
    if ((await queue.getJob(id)) === undefined) return false; // somebody else has just cancelled it
    throw error;
  }
}

function endedAnswer(record: JobRecord | undefined): "finished" | "unknown" {
  return record === undefined ? "unknown" : "finished";
}
