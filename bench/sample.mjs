/** Samples of one row. Every row's calls go through the same loop and are awaited there. */
import { prove } from "./proof.mjs";
import { spread } from "./spread.mjs";

/**
 * How long a sample takes by default: long enough for garbage to be collected within it, again and again. In a fifth of that, rows that
 * allocate little get away without paying for their own.
 */
export const SAMPLE_MS = 100;

/**
 * Warms the row up and answers with the number of calls that take about `sampleMs`.
 *
 * @param {import("./measure.mjs").Row} row
 * @param {number} sampleMs
 * @param {() => number} clock
 * @param {number} [warmUpMs] More in a process that has only just begun, where nothing is compiled yet.
 */
export async function calibrate(row, sampleMs, clock, warmUpMs = 150) {
  let count = 1;
  let total = 0;
  for (;;) {
    const ms = (await elapsedNs(row, count, clock)) / 1e6;
    total += ms;
    if (total >= warmUpMs && ms > 1) return Math.max(1, Math.round((count * sampleMs) / ms));
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

/**
 * The median of a few samples of a row that has its process to itself.
 *
 * @param {import("./measure.mjs").Row} row
 * @param {() => number} clock
 */
export async function sampledAlone(row, clock) {
  await prove(row);
  const count = await calibrate(row, SAMPLE_MS, clock, 700);
  const samples = [];
  for (let i = 0; i < 5; i += 1) samples.push(await sample(row, count, clock));
  await prove(row);
  return spread(samples).median;
}
