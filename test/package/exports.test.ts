import { existsSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { pathToFileURL } from "node:url";
import ts from "typescript-6";
import { describe, expect, test } from "vitest";
import { readSources, walk } from "../support/module-graph.js";

interface Manifest {
  readonly exports: Readonly<Record<string, string | { readonly types: string; readonly default: string }>>;
  readonly sideEffects: readonly string[];
}
const manifest = JSON.parse(readFileSync("package.json", "utf8")) as Manifest; // our own file
const sources = readSources("src");

/** An `index.ts` is a public entry: that of src itself is the package's, any other is named after its folder. */
const entries = [...sources.keys()].filter((path) => /(^|\/)index\.ts$/.test(path));

function subpathOf(entry: string): string {
  const folder = entry.split("/").at(-2);
  return folder === undefined ? "." : `./${folder}`;
}

/** The names that a module exports, in order; types apart from values. */
function namesOf(path: string): { readonly values: readonly string[]; readonly types: readonly string[] } {
  const [values, types]: [string[], string[]] = [[], []];
  walk(path, sources.get(path) ?? "", (node) => {
    if (!ts.isExportSpecifier(node)) return;
    (node.isTypeOnly || node.parent.parent.isTypeOnly ? types : values).push(node.name.text);
  });
  return { values: values.toSorted(), types: types.toSorted() };
}

describe("the exports of the package", () => {
  test("are its index files, and only they", () => {
    const expected = entries.map((entry) => {
      const built = `./dist/${entry.replace(/\.ts$/, "")}`;
      return [subpathOf(entry), { types: `${built}.d.ts`, default: `${built}.js` }];
    });
    expect(manifest.exports).toEqual({ ...Object.fromEntries(expected), "./package.json": "./package.json" });
  });

  test("are there once the package is built", () => {
    const targets = Object.values(manifest.exports).flatMap((target) => (typeof target === "string" ? [target] : Object.values(target)));
    expect([...targets, ...manifest.sideEffects].filter((target) => !existsSync(target))).toEqual([]);
  });

  test("tell bundlers which modules are imported for what they do, not for what they export", () => {
    const effects: string[] = [];
    for (const [path, text] of sources) {
      walk(path, text, (node) => {
        if (!ts.isImportDeclaration(node) || node.importClause !== undefined || !ts.isStringLiteral(node.moduleSpecifier)) return;
        if (node.moduleSpecifier.text.startsWith(".")) effects.push(`./${posix.join("dist", path, "..", node.moduleSpecifier.text)}`);
      });
    }
    expect(manifest.sideEffects).toEqual(expect.arrayContaining(effects));
  });

  test.each(entries)("give, once built, the values that src/%s names", async (entry) => {
    const file = pathToFileURL(`dist/${entry.replace(/\.ts$/, ".js")}`).href;
    const built = (await import(/* @vite-ignore */ file)) as object; // a module
    expect(Object.keys(built).toSorted()).toEqual(namesOf(entry).values);
  });

  // Whoever changes these lists changes what users may rely on: a line in the changelog goes with it.
  test("of the main entry are these values", () => {
    expect(namesOf("index.ts").values).toEqual([
      "AbortedError",
      "CircuitOpenError",
      "DefinitionError",
      "DeprecatedError",
      "DuplicateError",
      "FailError",
      "Fault",
      "FingerprintMismatchError",
      "FinishedTaskError",
      "InvalidInputError",
      "InvalidOutputError",
      "LeaseLostError",
      "LockedError",
      "MemoryStore",
      "MissingKeyError",
      "NextError",
      "RateLimitedError",
      "ShutdownError",
      "StoreKey",
      "StoreTimeoutError",
      "StoreUnavailableError",
      "Task",
      "TaskwrightError",
      "ThrownValueError",
      "TimeoutError",
      "UnstorableOutputError",
      "afterExecution",
      "aroundExecution",
      "beforeExecution",
      "beforeValidation",
      "callback",
      "chainTree",
      "circuitBreaker",
      "circuitOf",
      "configure",
      "deprecated",
      "idempotentBy",
      "isDefinitionError",
      "isFault",
      "isTaskwrightError",
      "keyFor",
      "literal",
      "lockWith",
      "match",
      "onComplete",
      "onFailed",
      "onInterrupted",
      "onKo",
      "onOk",
      "onSkipped",
      "onSuccess",
      "rateLimit",
      "releaseSlot",
      "resetConfiguration",
      "resume",
      "retryOn",
      "settings",
      "shutdown",
      "slots",
      "timeout",
      "use",
    ]);
  });

  test("of the main entry are these types", () => {
    expect(namesOf("index.ts").types).toEqual([
      "AnyTask",
      "Awaitable",
      "CallbackArguments",
      "CallbackDecorator",
      "CallbackFunction",
      "CallbackName",
      "ChainNode",
      "CircuitBreakerOptions",
      "CircuitInfo",
      "Claim",
      "Clock",
      "Configuration",
      "Contract",
      "Count",
      "DeprecatedOptions",
      "DuplicateRules",
      "Duration",
      "EntriesOptions",
      "EntryPage",
      "ErrorClass",
      "ErrorMatcher",
      "ErrorPredicate",
      "EventName",
      "EventPayloads",
      "ExecuteArguments",
      "ExecuteOptions",
      "FailOptions",
      "Failed",
      "FailedOutcome",
      "FieldsDecorator",
      "Gate",
      "Gates",
      "Idempotency",
      "IdempotencyOptions",
      "InputOf",
      "Issue",
      "Jitter",
      "JitterFunction",
      "JitterName",
      "Json",
      "JsonSchema",
      "KeyPart",
      "Listener",
      "Literal",
      "LockOptions",
      "LogFields",
      "Logger",
      "MemoryStoreOptions",
      "Metadata",
      "Middleware",
      "MiddlewareFunction",
      "MiddlewareObject",
      "Next",
      "ObjectSchema",
      "Outcome",
      "OutputOf",
      "ParsedOf",
      "RateLimitOptions",
      "Resolver",
      "ResolverFunction",
      "Result",
      "ResultJson",
      "ResultJsonOptions",
      "ResultOf",
      "RetryOptions",
      "RunRef",
      "SamplingOptions",
      "Schema",
      "Segment",
      "SetOptions",
      "SetResult",
      "Settings",
      "ShutdownOptions",
      "Skipped",
      "SkippedOutcome",
      "SlotInfo",
      "SlotsOptions",
      "Store",
      "StoreEntry",
      "Success",
      "SuccessOutcome",
      "TaskClass",
      "TaskContext",
      "TaskDecorator",
      "TaskSchema",
      "Telemetry",
      "TelemetryEvent",
    ]);
  });

  test("of the queue are these values", () => {
    expect(namesOf("queue/index.ts").values).toEqual([
      "KeyMismatchError",
      "NoResultError",
      "Queue",
      "QueueClosedError",
      "QueueUnavailableError",
      "UnserializableError",
      "aesGcm",
      "autoKey",
      "cborSerializer",
      "gzip",
      "inlineEngine",
      "jsonSerializer",
      "memoryEngine",
      "queued",
    ]);
  });

  test("of the queue are these types", () => {
    expect(namesOf("queue/index.ts").types).toEqual([
      "AesGcmOptions",
      "Attempt",
      "BatchEntry",
      "CancelAnswer",
      "Codec",
      "Ending",
      "Engine",
      "EngineCapabilities",
      "EngineJob",
      "EngineSchedule",
      "EngineSource",
      "EngineWorker",
      "EnqueueArguments",
      "EnqueueOptions",
      "GzipOptions",
      "Handler",
      "Job",
      "JobHandle",
      "JobOptions",
      "JobRecord",
      "JobRef",
      "JobSettings",
      "JobState",
      "JsonOptions",
      "KeyOptions",
      "QueueOptions",
      "QueuedOptions",
      "Receipt",
      "ResultOptions",
      "Schedule",
      "ScheduleOptions",
      "Serializer",
      "StopOptions",
      "Verdict",
      "WorkOptions",
      "Worker",
    ]);
  });
});
