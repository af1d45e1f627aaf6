import { frozenCopy } from "../support/freeze.js";
import { resultJson, type Json, type ResultJson, type ResultJsonOptions } from "../task/result-json.js";
import type { Result } from "../task/result.js";

/**
 * A result that was plain JSON on its way, as the object that it was. Errors are errors again, with name, message, code and cause, though
 * not of their classes; metadata is what JSON makes of it; the context stays where it was.
 */
export function revivedResult(json: ResultJson, output: unknown): Result {
  const { reason, parentId, correlationId, rollbackError, error, ...rest } = json;
  const result: Record<string, unknown> = { ...rest, reason, parentId, correlationId, context: Object.freeze({}) };
  if (json.status === "success") result["output"] = output;
  if (json.status === "failed") {
    result["error"] = revivedError(error);
    result["rollbackError"] = rollbackError === undefined ? undefined : revivedError(rollbackError);
  }
  Object.defineProperty(result, "toJSON", TO_JSON);
  return Object.freeze(frozenFields(result)) as unknown as Result; // every field of the result that was written
}

function frozenFields(result: Record<string, unknown>): Record<string, unknown> {
  for (const key of ["metadata", "tags", "issues", "origin"]) {
    if (key in result) result[key] = frozenCopy(result[key]);
  }
  return result;
}

function revivedError(json: Json | undefined): Error {
  const { name, message, stack, cause, ...rest } = isRecord(json) ? json : { message: JSON.stringify(json) };
  const error = new Error(typeof message === "string" ? message : "", cause === undefined ? undefined : { cause: revivedCause(cause) });
  const hidden = (value: unknown): PropertyDescriptor => ({ value, configurable: true, writable: true });
  if (typeof name === "string") Object.defineProperty(error, "name", hidden(name));
  if (typeof stack === "string") Object.defineProperty(error, "stack", hidden(stack));
  return Object.assign(error, rest);
}

function revivedCause(cause: Json): unknown {
  return isRecord(cause) && "message" in cause && "name" in cause ? revivedError(cause) : cause;
}

function isRecord(json: Json | undefined): json is { readonly [key: string]: Json } {
  return typeof json === "object" && json !== null && !Array.isArray(json);
}

const TO_JSON: PropertyDescriptor = {
  value(this: Result, options?: ResultJsonOptions | string): ResultJson {
    return resultJson(this, typeof options === "object" ? options : {});
  },
};
