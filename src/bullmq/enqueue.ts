import type { EngineJob, Receipt } from "../queue/port.js";
import { readStored } from "./read.js";
import type { BullQueue } from "./storage.js";
import { entryOf, hasEnded } from "./stored-job.js";

/**
 * Keeps the jobs in one call, and tells by the ids that come back which of them resolved to another.
 *
 * With `heal`, keys that ended jobs hold are freed. On PostgreSQL a job that is enqueued once more after its end, since the first answer
 * was lost, takes its key again, and nobody would give it back.
 */
export async function enqueueJobs(queue: BullQueue, jobs: readonly EngineJob[], { heal }: { heal: boolean }): Promise<readonly Receipt[]> {
  const ids = await add(queue, jobs);
  const receipts = jobs.map((job, at) => receiptOf(job, ids[at] ?? job.id));
  return heal ? healed(queue, jobs, receipts) : receipts;
}

async function add(queue: BullQueue, jobs: readonly EngineJob[]): Promise<readonly (string | undefined)[]> {
  const entries = jobs.map(entryOf);
  const [only] = entries;
  if (only !== undefined && entries.length === 1) return [(await queue.add(only.name, only.data, only.opts)).id];
  return (await queue.addBulk(entries)).map(({ id }) => id);
}

function receiptOf(job: EngineJob, id: string): Receipt {
  return { id, coalesced: id !== job.id };
}

async function healed(queue: BullQueue, jobs: readonly EngineJob[], receipts: readonly Receipt[]): Promise<readonly Receipt[]> {
  const own = new Set(jobs.map(({ id }) => id));
  const stuck = new Set<string>();
  for (const id of new Set(receipts.flatMap(({ id, coalesced }) => (coalesced && !own.has(id) ? [id] : [])))) {
    const record = await readStored(queue, id);
    if (record !== undefined && hasEnded(record.state)) stuck.add(id);
  }
  if (stuck.size === 0) return receipts;
  const again = jobs.filter((_, at) => stuck.has(receipts[at]?.id ?? ""));
  for (const [at, { key }] of jobs.entries()) {
    const { id = "" } = receipts[at] ?? {};
    // Only if that job still has it.
    if (key !== undefined && stuck.has(id)) await queue.getBackend().removeDeduplicationKey(key, id);
  }
  const renewed = new Map((await enqueueJobs(queue, again, { heal: true })).map((receipt, at) => [again[at]?.id, receipt]));
  return jobs.map((job, at) => renewed.get(job.id) ?? receipts[at] ?? receiptOf(job, job.id));
}
