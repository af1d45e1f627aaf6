import type { ResultJson } from "../task/result-json.js";
import { showAnswer } from "./answer.js";
import type { JobRecord, JobState } from "./port.js";
import type { Wire } from "./wire.js";

/** A job as it is when somebody looks, for people and dashboards. */
export interface Job {
  readonly id: string;
  /** The task's name. */
  readonly task: string;
  readonly state: JobState;
  readonly key: string | undefined;
  /** Attempts that were started. */
  readonly attempts: number;
  /** From 0 to 100, as `this.progress()` told it. */
  readonly progress: number;
  readonly enqueuedAt: Date;
  readonly endedAt: Date | undefined;
  /** Why a dead job died, in words. */
  readonly reason: string | undefined;
  /** What was given, as the serializer gives it back; undefined when this queue cannot read it. */
  readonly input: unknown;
  /** The result of the last attempt that had one, as JSON. For the result with its types there is `queue.result()`. */
  readonly result: ResultJson | undefined;
}

export async function jobOf(record: JobRecord, wire: Wire): Promise<Job> {
  const { id, task, state, key, attempts, progress, enqueuedAt, endedAt, reason, payload, answer } = record;
  return Object.freeze({
    id,
    task,
    state,
    key,
    attempts,
    progress,
    enqueuedAt: new Date(enqueuedAt),
    endedAt: endedAt === undefined ? undefined : new Date(endedAt),
    reason,
    input: await inputOf(payload, wire),
    result: answer === undefined || answer === "" ? undefined : await resultOf(answer, wire),
  });
}

async function inputOf(payload: string, wire: Wire): Promise<unknown> {
  try {
    return wire.deserialize(await wire.unpack(payload));
  } catch {
    return undefined; // not for this queue to read; the rest of the job can still be looked at
  }
}

async function resultOf(answer: string, wire: Wire): Promise<ResultJson | undefined> {
  try {
    return showAnswer(await answerText(answer, wire));
  } catch {
    return undefined; // as above
  }
}

export async function answerText(answer: string, wire: Wire): Promise<string> {
  const { bytes } = await wire.unpack(answer);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
}
