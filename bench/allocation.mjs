/** Few enough that no sweep of young memory comes between, which would hide what was allocated. */
const CALLS = 20;
const REPEATS = 11;

/**
 * Bytes that one call allocates, its promises included. Needs `--expose-gc`.
 *
 * @param {() => unknown} call
 * @returns {Promise<number | undefined>}
 */
export async function bytesPerCall(call) {
  if (globalThis.gc === undefined) return undefined;
  const seen = [];
  for (let i = 0; i < REPEATS; i += 1) {
    globalThis.gc();
    const before = process.memoryUsage().heapUsed;
    for (let n = 0; n < CALLS; n += 1) await call();
    seen.push((process.memoryUsage().heapUsed - before) / CALLS);
  }
  return seen.sort((a, b) => a - b)[(REPEATS - 1) / 2];
}
