/**
 * Every error class of the library and its code, on one page. (`Fault`, the rejection of `executeBang`, carries a
 * result and lives beside it.)
 *
 * Each class is recognised by a brand and not by identity, so that `instanceof` and the guards also hold when two copies
 * of the package meet in one process.
 */

/** One thing that is wrong with an input or an output, and where. */
export interface Issue {
  readonly message: string;
  /** Keys from the outside in; empty for the value itself. */
  readonly path: readonly PropertyKey[];
}

/** The root of all errors made here. `code` names the kind, for programs; the message is for people. */
export abstract class TaskwrightError extends Error {
  abstract readonly code: string;
}

/** A programmer's mistake in a task, its options or the configuration. The only thing that `execute` rejects with. */
export class DefinitionError extends TaskwrightError {
  readonly code = "definition";
}

/** A halt (`this.skip()` and its like) on a task that has already answered: nobody is left to hear it. */
export class FinishedTaskError extends TaskwrightError {
  readonly code = "finished_task";
}

/** A middleware or an `around_execution` callback that called `next` twice, or never and gave no outcome. */
export class NextError extends TaskwrightError {
  readonly code = "next";
}

/** The task is deprecated, and is not to be run any more. */
export class DeprecatedError extends TaskwrightError {
  readonly code = "deprecated";
}

/** What `this.fail()` puts into `result.error`. */
export class FailError extends TaskwrightError {
  readonly code = "failed";
}

/** Stands in for a thrown value that is no Error, which becomes its `cause`. */
export class ThrownValueError extends TaskwrightError {
  readonly code = "thrown_value";
}

/** The input did not fit the schema; `work` was not entered. */
export class InvalidInputError extends TaskwrightError {
  readonly code = "invalid_input";
  readonly issues: readonly Issue[];

  constructor(message: string, issues: readonly Issue[]) {
    super(message);
    this.issues = issues;
  }
}

/** `work` ended well, but what it returned does not fit the output schema. */
export class InvalidOutputError extends TaskwrightError {
  readonly code = "invalid_output";
  readonly issues: readonly Issue[];

  constructor(message: string, issues: readonly Issue[]) {
    super(message);
    this.issues = issues;
  }
}

/** The caller's signal, or the run around this one, called the run off. `cause` is the signal's reason. */
export class AbortedError extends TaskwrightError {
  readonly code = "aborted";
}

/** The key is held by another run, or was completed by one. */
export class DuplicateError extends TaskwrightError {
  readonly code = "duplicate";
}

/** The key was used before for another request. */
export class FingerprintMismatchError extends TaskwrightError {
  readonly code = "fingerprint_mismatch";
}

/** The task must have a key, and there is none. */
export class MissingKeyError extends TaskwrightError {
  readonly code = "missing_key";
}

/** The store could not be asked, or did not answer in time. `cause` is what it threw. */
export class StoreUnavailableError extends TaskwrightError {
  readonly code = "store_unavailable";
}

/** A call of the store ran out of time: whether it took effect is not known. */
export class StoreTimeoutError extends TaskwrightError {
  readonly code = "store_timeout";
}

/** The run no longer holds what it had claimed. `this.signal` aborts with it. */
export class LeaseLostError extends TaskwrightError {
  readonly code = "lease_lost";
}

/** The output cannot be kept for replay, and the task wants that to be a failure. */
export class UnstorableOutputError extends TaskwrightError {
  readonly code = "unstorable_output";
}

/** The process is shutting down, and no new claims are made. */
export class ShutdownError extends TaskwrightError {
  readonly code = "shutdown";
}

/** The attempt did not end in the time that `@timeout` gives it. */
export class TimeoutError extends TaskwrightError {
  readonly code = "timeout";
}

/** Another run holds the lock. */
export class LockedError extends TaskwrightError {
  readonly code = "locked";
}

/** The key has used up its runs for now. */
export class RateLimitedError extends TaskwrightError {
  readonly code = "rate_limited";
}

/** The circuit breaker lets nothing through for now. */
export class CircuitOpenError extends TaskwrightError {
  readonly code = "circuit_open";
}

/** The queue's engine could not be asked, or did not answer in time. */
export class QueueUnavailableError extends TaskwrightError {
  readonly code = "queue_unavailable";
  /** The ids that the jobs were to get, in order: an enqueue that is given them again enqueues nothing twice. */
  readonly ids: readonly string[];

  constructor(message: string, ids: readonly string[], options: ErrorOptions) {
    super(message, options);
    this.ids = ids;
  }
}

/** The queue is closed, and takes and gives nothing any more. */
export class QueueClosedError extends TaskwrightError {
  readonly code = "queue_closed";
}

/** The serializer cannot carry the value to a worker and have it arrive as it was. */
export class UnserializableError extends TaskwrightError {
  readonly code = "unserializable";
  /** Keys from the outside in, to what cannot be carried. */
  readonly path: readonly PropertyKey[];

  constructor(message: string, path: readonly PropertyKey[], options?: ErrorOptions) {
    super(message, options);
    this.path = path;
  }
}

/** A job with the same key and another payload is pending or running, and the call wants to hear of that. */
export class KeyMismatchError extends TaskwrightError {
  readonly code = "key_mismatch";
  /** The job that holds the key; none when two entries of one call are at odds. */
  readonly jobId: string | undefined;
  readonly key: string;

  constructor(message: string, key: string, jobId: string | undefined) {
    super(message);
    this.key = key;
    this.jobId = jobId;
  }
}

/** There is no result of the job to be had. */
export class NoResultError extends TaskwrightError {
  readonly code = "no_result";
  /**
   * - `timeout`: the job has not ended yet.
   * - `cancelled`: it was cancelled before its run had answered.
   * - `dead`: it died without an answer, since its workers did.
   * - `unknown`: there is no such job, or it is forgotten.
   * - `other_task`: it is a job of another task.
   * - `unreadable`: its output could not be carried, or its answer cannot be read here.
   */
  readonly why: "timeout" | "cancelled" | "dead" | "unknown" | "other_task" | "unreadable";

  constructor(message: string, why: NoResultError["why"], options?: ErrorOptions) {
    super(message, options);
    this.why = why;
  }
}

brand(TaskwrightError, "TaskwrightError");
brand(DefinitionError, "DefinitionError");
brand(FinishedTaskError, "FinishedTaskError");
brand(NextError, "NextError");
brand(DeprecatedError, "DeprecatedError");
brand(FailError, "FailError");
brand(ThrownValueError, "ThrownValueError");
brand(InvalidInputError, "InvalidInputError");
brand(InvalidOutputError, "InvalidOutputError");
brand(AbortedError, "AbortedError");
brand(DuplicateError, "DuplicateError");
brand(FingerprintMismatchError, "FingerprintMismatchError");
brand(MissingKeyError, "MissingKeyError");
brand(StoreUnavailableError, "StoreUnavailableError");
brand(StoreTimeoutError, "StoreTimeoutError");
brand(LeaseLostError, "LeaseLostError");
brand(UnstorableOutputError, "UnstorableOutputError");
brand(ShutdownError, "ShutdownError");
brand(TimeoutError, "TimeoutError");
brand(LockedError, "LockedError");
brand(RateLimitedError, "RateLimitedError");
brand(CircuitOpenError, "CircuitOpenError");
brand(QueueUnavailableError, "QueueUnavailableError");
brand(QueueClosedError, "QueueClosedError");
brand(UnserializableError, "UnserializableError");
brand(KeyMismatchError, "KeyMismatchError");
brand(NoResultError, "NoResultError");

/** Is this one of our errors, whichever copy of the package made it? */
export function isTaskwrightError(value: unknown): value is TaskwrightError {
  return value instanceof TaskwrightError;
}

/** Is this a programmer's mistake, whichever copy of the package reported it? */
export function isDefinitionError(value: unknown): value is DefinitionError {
  return value instanceof DefinitionError;
}

/**
 * Gives an error class a name that minifiers leave alone, and an `instanceof` that asks for a brand shared by all copies
 * of the package. Classes that users derive keep the ordinary `instanceof`.
 */
export function brand(errorClass: abstract new (...args: never[]) => Error, name: string): void {
  const mark = Symbol.for(`taskwright.error.${name}`);
  Object.defineProperty(errorClass.prototype, "name", { value: name, configurable: true, writable: true });
  Object.defineProperty(errorClass.prototype, mark, { value: true });
  Object.defineProperty(errorClass, Symbol.hasInstance, {
    value(this: unknown, value: unknown): boolean {
      if (this !== errorClass) return Function.prototype[Symbol.hasInstance].call(this as () => void, value); // a derived class
      return isMarked(value, mark);
    },
  });
}

/** Does the value carry the mark? A value that cannot be looked at, a revoked proxy say, does not. */
export function isMarked(value: unknown, mark: symbol): boolean {
  try {
    return typeof value === "object" && value !== null && Reflect.get(value, mark) === true;
  } catch {
    return false;
  }
}
