/**
 * A value that may be there already. Where it is, no promise is made for it and no turn of the event loop is spent: on Node 20 a
 * promise costs a quarter of a microsecond in a process that has entered an AsyncLocalStorage, and a run would go through dozens.
 */
export type Awaitable<T> = T | Promise<T>;

/** Goes on with the value, at once where it is there. */
export function andThen<T, R>(value: Awaitable<T>, next: (value: T) => Awaitable<R>): Awaitable<R> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/** Calls, and goes on with the answer or with what was thrown, be it at once or as a rejection. What `next` throws is its own. */
export function tryThen<T, R>(
  call: () => Awaitable<T>,
  next: (value: T) => Awaitable<R>,
  failed: (thrown: unknown) => Awaitable<R>,
): Awaitable<R> {
  let value: Awaitable<T>;
  try {
    value = call();
  } catch (thrown) {
    return failed(thrown);
  }
  return value instanceof Promise ? value.then(next, failed) : next(value);
}

/** Calls, and has the answer, or what was thrown, in a promise. */
export function promised<T>(call: () => Awaitable<T>): Promise<T> {
  try {
    const value = call();
    return value instanceof Promise ? value : Promise.resolve(value);
  } catch (thrown) {
    return Promise.reject(thrown); // as it was thrown, error or not
  }
}

/** Is this something to be awaited, also when another library or realm made it? */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    (typeof value === "object" || typeof value === "function") && value !== null && "then" in value && typeof value.then === "function"
  );
}
