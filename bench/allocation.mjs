const CALLS = 150;
const REPEATS = 5;

/**
 * Bytes that one call allocates, its promises included. Needs `--expose-gc`. A first stretch of calls takes what a collection makes
 * necessary; few enough follow that no sweep of young memory comes between, which would hide what was allocated.
 *
 * @param {() => unknown} call
 * @param {number} units How many things one call does; the more, the fewer calls are made.
 * @returns {Promise<number | undefined>}
 */
export async function bytesPerCall(call, units = 1) {
  if (globalThis.gc === undefined) return undefined;
  const count = Math.ceil(CALLS / units);
  const seen = [];
  for (let i = 0; i < REPEATS; i += 1) {
    globalThis.gc();
    for (let n = 0; n < count / 3; n += 1) await call();
    const before = process.memoryUsage().heapUsed;
    for (let n = 0; n < count; n += 1) await call();
    seen.push((process.memoryUsage().heapUsed - before) / count);
  }
  return seen.sort((a, b) => a - b)[(REPEATS - 1) / 2];
}
