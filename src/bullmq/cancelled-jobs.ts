import type { JobRecord } from "../queue/port.js";
import { storedMsOf } from "./retention.js";
import type { BullQueue } from "./storage.js";
import { CANCELLED, internalData } from "./stored-job.js";

/**
 * What is remembered of jobs that were cancelled while they were pending. BullMQ knows no such state, so the job itself is removed,
 * and its record stands as a delayed job of another id; when its time is up, a worker takes it, and it is gone.
 */
export async function rememberCancelled(queue: BullQueue, record: JobRecord): Promise<void> {
  const opts = { jobId: recordId(record.id), delay: storedMsOf(record), removeOnComplete: true, removeOnFail: true };
  await queue.add(CANCELLED, internalData(JSON.stringify(record)), opts);
}

export async function findCancelled(queue: BullQueue, id: string): Promise<JobRecord | undefined> {
  const found = await queue.getJob(recordId(id));
  if (found === undefined) return undefined;
  const record = JSON.parse(found.data.payload) as JobRecord; // written above
  const { key, answer } = record;
  return { ...record, key, answer, reason: undefined }; // JSON leaves out what is undefined
}

export async function forgetCancelled(queue: BullQueue, id: string): Promise<boolean> {
  return (await queue.remove(recordId(id))) === 1;
}

function recordId(id: string): string {
  return `cancelled-${id}`;
}
