export { Task, type FailOptions } from "./task/task.js";
export type { AnyTask, ExecuteArguments, ExecuteOptions, InputOf, OutputOf, ParsedOf, ResultOf, TaskClass } from "./task/contract.js";
export type { TaskContext } from "./task/chain.js";
export type { Contract } from "./task/contract-feature.js";
export { match, type Failed, type Metadata, type Result, type Skipped, type Success } from "./task/result.js";
export type { Json, ResultJson, ResultJsonOptions } from "./task/result-json.js";
export type { FailedOutcome, Outcome, RunRef, SkippedOutcome, SuccessOutcome } from "./task/outcome.js";
export { chainTree, type ChainNode } from "./task/chain-tree.js";
export { Fault, isFault } from "./task/fault.js";
export { configure, resetConfiguration, type Configuration } from "./task/configuration.js";
export type { Gate, Gates } from "./task/gates.js";
export type { TaskDecorator } from "./task/metadata.js";
export type { Next } from "./task/onion.js";
export { use, type Middleware, type MiddlewareFunction, type MiddlewareObject } from "./task/middleware.js";
export { settings, type Settings } from "./task/settings.js";
export { deprecated, type DeprecatedOptions } from "./task/deprecation.js";
export type { LogFields, Logger } from "./task/log.js";
export type { Schema, ObjectSchema } from "./task/schema.js";
export type { JsonSchema, TaskSchema } from "./task/task-schema.js";
export {
  afterExecution,
  aroundExecution,
  beforeExecution,
  beforeValidation,
  callback,
  onComplete,
  onFailed,
  onInterrupted,
  onKo,
  onOk,
  onSkipped,
  onSuccess,
  type CallbackArguments,
  type CallbackDecorator,
  type CallbackFunction,
  type CallbackName,
} from "./task/callbacks.js";
export { circuitBreaker, circuitOf, type CircuitInfo } from "./policies/circuit-breaker.js";
export type { CircuitBreakerOptions, SamplingOptions } from "./policies/circuit-options.js";
export { rateLimit } from "./policies/rate-limit.js";
export type { RateLimitOptions } from "./policies/rate-limit-options.js";
export { retryOn, type RetryOptions } from "./policies/retry.js";
export type { Jitter, JitterFunction, JitterName } from "./policies/backoff.js";
export type { ErrorClass, ErrorMatcher, ErrorPredicate } from "./policies/error-matcher.js";
export { timeout } from "./policies/timeout.js";
export { lockWith } from "./policies/lock.js";
export type { LockOptions } from "./policies/lock-options.js";
export { idempotentBy } from "./idempotency/decorator.js";
export type { DuplicateRules, Idempotency, IdempotencyOptions } from "./idempotency/options.js";
export { keyFor, releaseSlot, slots, type SlotInfo, type SlotsOptions } from "./idempotency/inspect.js";
export { resume, shutdown, type ShutdownOptions } from "./claims/shutdown.js";
import "./idempotency/task-members.js";
export { StoreKey, type KeyPart, type Segment } from "./claims/key.js";
export { literal, type FieldsDecorator, type Literal, type Resolver, type ResolverFunction } from "./claims/resolver.js";
export type { Claim } from "./task/run.js";
export { MemoryStore, type MemoryStoreOptions } from "./stores/memory.js";
export type { Awaitable } from "./support/and-then.js";
export type { Count, EntriesOptions, EntryPage, SetOptions, SetResult, Store, StoreEntry } from "./stores/store.js";
export type { Listener, Telemetry } from "./telemetry/emitter.js";
export type { EventName, EventPayloads, TelemetryEvent } from "./telemetry/events.js";
export type { Duration } from "./support/duration.js";
export type { Clock } from "./support/clock.js";
export {
  AbortedError,
  CircuitOpenError,
  DefinitionError,
  DeprecatedError,
  DuplicateError,
  FailError,
  FingerprintMismatchError,
  FinishedTaskError,
  InvalidInputError,
  InvalidOutputError,
  isDefinitionError,
  isTaskwrightError,
  LeaseLostError,
  LockedError,
  MissingKeyError,
  NextError,
  RateLimitedError,
  ShutdownError,
  StoreTimeoutError,
  StoreUnavailableError,
  TaskwrightError,
  ThrownValueError,
  TimeoutError,
  UnstorableOutputError,
  type Issue,
} from "./errors.js";
