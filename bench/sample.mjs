/** Samples of one row. Every row's calls go through the same loop and are awaited there. */

const WARM_UP_MS = 150;

/**
 * Warms the row up and answers with the number of calls that take about `sampleMs`.
 *
 * @param {import("./measure.mjs").Row} row
 * @param {number} sampleMs
 * @param {() => number} clock
 */
export async function calibrate(row, sampleMs, clock) {
  let count = 1;
  let total = 0;
  for (;;) {
    const ms = (await elapsedNs(row, count, clock)) / 1e6;
    total += ms;
    if (total >= WARM_UP_MS && ms > 1) return Math.max(1, Math.round((count * sampleMs) / ms));
    if (ms < sampleMs) count *= 2;
  }
}

/** Nanoseconds for one unit. What earlier rows left behind is swept up before and not on this row's time. */
export async function sample(row, count, clock) {
  globalThis.gc?.({ type: "minor" });
  return (await elapsedNs(row, count, clock)) / (count * (row.units ?? 1));
}

async function elapsedNs({ call, inFlight = 1 }, count, clock) {
  const start = clock();
  if (inFlight === 1) await oneByOne(call, count);
  else await together(call, count, inFlight);
  return clock() - start;
}

async function oneByOne(call, count) {
  for (let i = 0; i < count; i += 1) await call();
}

async function together(call, count, inFlight) {
  let left = count;
  const caller = async () => {
    while (left > 0) {
      left -= 1;
      await call();
    }
  };
  await Promise.all(Array.from({ length: inFlight }, caller));
}
