import type { JobRecord } from "../queue/port.js";
import { systemClock } from "../support/clock.js";
import { isForgotten } from "./retention.js";
import type { BullQueue } from "./storage.js";
import { hasEnded, recordOf, stateOf } from "./stored-job.js";

const FIRST_WAIT_MS = 20;
const LONGEST_WAIT_MS = 250;
const PAGE = 100;
/** How often a job is looked at that goes on between two questions. */
const LOOKS = 5;

/**
 * The job as it is stored, also when its time is up. Its state and what else is known of it are two questions to BullMQ, so the state is
 * asked for before and after: a job that failed in between would be running its next attempt.
 *
 * @throws when it is kept, and yet in none of BullMQ's lists: they were lost, and no worker will ever come upon it.
 */
export async function readStored(queue: BullQueue, id: string): Promise<JobRecord | undefined> {
  let before = await queue.getJobState(id);
  for (let left = LOOKS; left > 0; left -= 1) {
    const job = await queue.getJob(id);
    if (job === undefined) return undefined;
    const after = await queue.getJobState(id);
    const state = after === "unknown" ? undefined : stateOf(job, after);
    const isOfOneMoment = state !== undefined && (job.finishedOn === undefined || hasEnded(state));
    if (isOfOneMoment && (after === before || left === 1)) return recordOf(job, state);
    before = after;
  }
  throw new Error(`The job ${id} is in none of BullMQ's lists`);
}

export async function readRecord(queue: BullQueue, id: string): Promise<JobRecord | undefined> {
  const record = await readStored(queue, id);
  return record === undefined || isForgotten(record) ? undefined : record;
}

/** Asks again and again, at growing intervals, until the job has ended or the time is up. `ask` is one question, in its time limit. */
export async function waitForEnd(
  ask: (read: typeof readStored) => Promise<JobRecord | undefined>,
  timeoutMs: number,
): Promise<JobRecord | undefined> {
  const deadline = systemClock.now() + timeoutMs;
  let record = await ask(readRecord);
  for (let waitMs = FIRST_WAIT_MS; record !== undefined && !hasEnded(record.state); waitMs = Math.min(waitMs * 1.5, LONGEST_WAIT_MS)) {
    const leftMs = deadline - systemClock.now();
    if (leftMs <= 0) return undefined;
    await pause(Math.min(waitMs, leftMs));
    record = await ask(readStored);
  }
  return record;
}

/** Dead jobs, the latest first. Among the failed ones of BullMQ there are cancelled ones too, and some whose time is up. */
export async function readDead(queue: BullQueue, limit: number, offset: number): Promise<readonly JobRecord[]> {
  const found: JobRecord[] = [];
  for (let start = 0; found.length < offset + limit; start += PAGE) {
    const page = await queue.getJobs(["failed"], start, start + PAGE - 1, false);
    if (page.length === 0) break;
    const records = page.map((job) => recordOf(job, stateOf(job, "failed")));
    found.push(...records.filter((record) => record.state === "dead" && !isForgotten(record)));
  }
  return found.slice(offset, offset + limit);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => systemClock.timer(ms, resolve));
}
