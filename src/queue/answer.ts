import { isDeepStrictEqual } from "node:util";
import { NoResultError } from "../errors.js";
import { describe } from "../support/check.js";
import { readTagged, writeTagged } from "../support/tagged.js";
import { messageOf, toError } from "../support/thrown.js";
import { planOf, type Plan } from "../task/plan.js";
import { resultJson, type Json, type ResultJson } from "../task/result-json.js";
import type { Result } from "../task/result.js";
import type { Schema } from "../task/schema.js";
import type { TaskClass } from "../task/contract.js";
import type { JobRecord } from "./port.js";
import { revivedResult } from "./revive.js";

/** How an output travels: as zod takes it back through the schema's codecs, or as it is; or why it could not. */
type Carried = { readonly by: "schema" | "value"; readonly text: string } | { readonly lost: string };

interface Answer {
  readonly result: ResultJson;
  readonly output?: Carried;
}

/** A result as text, for whoever asks for it later, in another process. */
export async function writeAnswer(type: TaskClass, result: Result): Promise<string> {
  const answer: Answer = {
    result: resultJson(result, { stack: true }),
    ...(result.status === "success" && { output: await carry(planOf(type), result.output) }),
  };
  return JSON.stringify(answer);
}

/** The answer of a job as it is kept. @throws {NoResultError} when there is none that this task could read. */
export function answerOf(task: string, id: string, record: JobRecord | undefined): string {
  if (record === undefined) throw new NoResultError(`There is no job ${describe(id)}, or it is forgotten.`, "unknown");
  const { state, answer = "", reason = "no reason is known" } = record;
  if (record.task !== task) throw new NoResultError(`The job ${id} is one of ${record.task}, and not of ${task}.`, "other_task");
  if (state === "pending" || state === "running")
    throw new NoResultError(`The job ${id} is ${state}; the time to wait is over.`, "timeout");
  if (answer !== "") return answer;
  if (state === "cancelled") throw new NoResultError(`The job ${id} was cancelled before it had a result.`, "cancelled");
  if (state === "completed") throw new NoResultError(`The job ${id} is completed; its result could not be carried.`, "unreadable");
  throw new NoResultError(`The job ${id} died without a result: ${reason}.`, "dead");
}

/**
 * The result again, with its output as the task's schema gives it.
 *
 * @param read Gives the text that was written.
 * @throws {NoResultError} when it cannot be read.
 */
export async function readAnswer(type: TaskClass, read: () => Promise<string>): Promise<Result> {
  const plan = planOf(type);
  try {
    const { result, output } = JSON.parse(await read()) as Answer; // written above
    return revivedResult(result, output === undefined ? undefined : await unload(plan, output));
  } catch (thrown) {
    const error = toError(thrown);
    throw new NoResultError(`The result of this ${plan.name} cannot be read: ${messageOf(error)}`, "unreadable", { cause: error });
  }
}

/** What people look at, the output as JSON shows it; undefined when it cannot be read. */
export function showAnswer(text: string): ResultJson | undefined {
  try {
    const { result, output } = JSON.parse(text) as Answer; // written above
    return output === undefined || "lost" in output ? result : { ...result, output: shown(readTagged(output.text)) };
  } catch {
    return undefined; // of another program, or of an attempt that never had a result
  }
}

function shown(output: unknown): Json {
  return resultJson({ output } as Result, { output: true })["output"] ?? null; // only this field of a result is read
}

async function carry(plan: Plan, output: unknown): Promise<Carried> {
  try {
    const encoded = encodedBy(plan.contract.output, output);
    if (encoded !== undefined) {
      const carried: Carried = { by: "schema", text: writeTagged(encoded.value) };
      if (await arrives(plan, carried, output)) return carried;
    }
    return { by: "value", text: writeTagged(output) };
  } catch (thrown) {
    return { lost: messageOf(toError(thrown)) };
  }
}

async function unload(plan: Plan, carried: Carried): Promise<unknown> {
  if ("lost" in carried) throw new TypeError(`its output could not be carried (${carried.lost})`);
  const value = readTagged(carried.text);
  if (carried.by === "value") return value;
  const parsed = await plan.parseOutput?.(value);
  if (parsed === undefined) return value;
  if (parsed.issues !== undefined) throw new TypeError("its output does not fit the schema any more");
  return parsed.value;
}

/** Does the same come out at the other end? */
async function arrives(plan: Plan, carried: Carried, output: unknown): Promise<boolean> {
  try {
    return isDeepStrictEqual(await unload(plan, carried), output);
  } catch {
    return false; // the schema does not take back what it has given
  }
}

interface Encodes {
  safeEncode(output: unknown): { readonly success: true; readonly data: unknown } | { readonly success: false };
}

function encodedBy(schema: Schema | undefined, output: unknown): { readonly value: unknown } | undefined {
  if (schema === undefined || !("safeEncode" in schema) || typeof schema.safeEncode !== "function") return undefined;
  try {
    const encoded = (schema as Schema & Encodes).safeEncode(output); // it was just found to be one
    return encoded.success ? { value: encoded.data } : undefined;
  } catch {
    return undefined; // a transform that goes one way only
  }
}
