import { DefinitionError } from "../errors.js";
import { checkOptions, describe } from "../support/check.js";
import { isPlain } from "../support/freeze.js";
import { guarded } from "./observers.js";
import { errorJson, jsonSafe } from "./result-json.js";
import type { Failed, Result } from "./result.js";
import type { Run } from "./run.js";

/** pino, console, or anything else with these three. The fields come first, as pino and bunyan have it. */
export interface Logger {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** Which values a log line may show, by key. Nothing of them is shown unless it is listed here. */
export interface LogFields {
  readonly input?: readonly string[];
  readonly output?: readonly string[];
  readonly context?: readonly string[];
  readonly metadata?: readonly string[];
}

const PARTS = ["input", "output", "context", "metadata"] as const;

/** A logger that nobody reads: what `this.logger` is when none is configured. */
export const silentLogger: Logger = { info: () => undefined, warn: () => undefined, error: () => undefined };

/** Writes the one line of a run. A success or a skip is information, a failure an error. */
export function logRun(run: Run, result: Result): void {
  const { logger, logFields } = run.plan;
  if (logger === undefined) return;
  guarded(() => {
    const line = fieldsOf(run, result, logFields);
    const message = `${result.task} ${result.status}${typeof line["reason"] === "string" ? `: ${line["reason"]}` : ""}`;
    return result.status === "failed" ? logger.error(line, message) : logger.info(line, message);
  });
}

function fieldsOf(run: Run, result: Result, logFields: LogFields): Record<string, unknown> {
  const { task, status, state, reason, runId, chainId, parentId, index, depth, correlationId, retries, durationMs, tags } = result;
  const fields: Record<string, unknown> = { task, status, state, runId, chainId, index, depth, retries, durationMs };
  if (reason !== undefined) fields["reason"] = result.status === "failed" && result.issues.length > 0 ? wrongFields(result) : reason;
  if (parentId !== undefined) fields["parentId"] = parentId;
  if (correlationId !== undefined) fields["correlationId"] = correlationId;
  if (tags.length > 0) fields["tags"] = tags;
  if (result.metadata.code !== undefined) fields["code"] = result.metadata.code;
  if (result.deprecated) fields["deprecated"] = true;
  if (result.status === "failed") Object.assign(fields, failureFields(result));
  const parts = {
    input: run.input?.parsed,
    output: result.status === "success" ? result.output : undefined,
    context: result.context,
    metadata: result.metadata,
  };
  for (const part of PARTS) {
    const picked = pick(parts[part], logFields[part]);
    if (picked !== undefined) fields[part] = picked;
  }
  return fields;
}

function failureFields({ error, issues, origin, rolledBack }: Failed): object {
  return { error: issues.length > 0 ? { name: error.name } : errorJson(error), origin, rolledBack };
}

/** Which fields did not fit, and not why: some validators quote the values in their messages. */
function wrongFields({ issues }: Failed): string {
  return `these do not fit the schema: ${issues.map(({ path }) => (path.length === 0 ? "the whole" : path.map(String).join("."))).join(", ")}`;
}

function pick(value: unknown, keys: readonly string[] = []): object | undefined {
  if (typeof value !== "object" || value === null || keys.length === 0) return undefined;
  return Object.fromEntries(keys.filter((key) => Object.hasOwn(value, key)).map((key) => [key, jsonSafe(Reflect.get(value, key))]));
}

/** @throws {DefinitionError} unless it has the three levels. */
export function checkLogger(option: string, logger: unknown): void {
  const has = (level: string): boolean => typeof logger === "object" && logger !== null && typeof Reflect.get(logger, level) === "function";
  if (has("info") && has("warn") && has("error")) return;
  throw new DefinitionError(`${option} must have the methods info, warn and error, as pino and console do, got ${describe(logger)}.`);
}

/** @throws {DefinitionError} unless it lists keys by part. */
export function checkLogFields(option: string, fields: unknown): void {
  checkOptions(option, fields, PARTS);
  if (typeof fields !== "object" || fields === null || !isPlain(fields)) return;
  for (const [part, keys] of Object.entries(fields)) {
    if (!Array.isArray(keys) || keys.some((key) => typeof key !== "string")) {
      throw new DefinitionError(`${option}: ${part} must be an array of keys to show, got ${describe(keys)}.`);
    }
  }
}
