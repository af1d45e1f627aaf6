import { DefinitionError, ThrownValueError } from "../errors.js";
import { isThenable } from "../support/and-then.js";

/** Which errors: a class, or a predicate. Predicates also serve where a library is loaded twice and `instanceof` fails. */
export type ErrorMatcher = ErrorClass | ErrorPredicate;
export type ErrorClass = abstract new (...args: never[]) => Error;
export type ErrorPredicate = (error: Error) => boolean;

/** Does the error match? A thrown value that was no error is also held against classes of its own kind. */
export function matches(matcher: ErrorMatcher, error: Error): boolean {
  if (!isClass(matcher)) return ask(matcher, error);
  return isA(matcher, error) || (error instanceof ThrownValueError && isA(matcher, error.cause));
}

/** A promise would always be true, so it is refused. */
function ask(predicate: ErrorPredicate, error: Error): boolean {
  const answer: unknown = predicate(error);
  if (!isThenable(answer)) return Boolean(answer);
  void Promise.resolve(answer).then(undefined, () => undefined); // its answer comes too late to be of use, also as a rejection
  throw new DefinitionError("A predicate of @retryOn() answered with a promise. Predicates answer true or false at once.");
}

function isA(errorClass: ErrorClass, value: unknown): boolean {
  return value instanceof errorClass;
}

/** A class, as opposed to a function to ask: written as one, or with the prototype of an error. */
function isClass(matcher: ErrorMatcher): matcher is ErrorClass {
  const prototype: unknown = matcher.prototype;
  const isErrorLike = typeof prototype === "object" && prototype !== null && "message" in prototype && "name" in prototype;
  return isErrorLike || /^class\b/.test(Function.prototype.toString.call(matcher));
}
