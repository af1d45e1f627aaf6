/** Goes on with a value at once, or with the value of a promise when it comes: no turn of the event loop is spent where none is needed. */
export function andThen<T, R>(value: T | Promise<T>, next: (value: T) => R | Promise<R>): R | Promise<R> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/** Is this something to be awaited, also when another library or realm made it? */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    (typeof value === "object" || typeof value === "function") && value !== null && "then" in value && typeof value.then === "function"
  );
}
