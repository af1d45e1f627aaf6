/**
 * Measures rows side by side. In every round each row runs once, for as many calls as its calibration gave it, and the order
 * turns from round to round, so that what disturbs the machine disturbs all rows alike. A row is compared with another one
 * round by round, as pairs, and only then is the median taken.
 *
 * @typedef {object} Row
 * @property {string} name
 * @property {() => unknown} [call] What is measured; a promise is awaited.
 * @property {() => Promise<number>} [sample] In place of `call`, for what needs a process of its own: answers with the nanoseconds itself.
 * @property {string} [floor] The name of the row that this one is compared with.
 * @property {number} [units] How many things one call does; figures are for one of them. Default 1.
 * @property {number} [inFlight] How many calls are under way at once. Default 1.
 * @property {() => unknown} [open] Called once before the first round.
 * @property {() => unknown} [close] Called once after the last round.
 *
 * @typedef {object} Spread
 * @property {number} median
 * @property {number} low The lower quartile.
 * @property {number} high The upper quartile.
 *
 * @typedef {object} Measured
 * @property {string} name
 * @property {Spread} ns Nanoseconds for one unit.
 * @property {number} [bytes] Bytes allocated for one unit, where that can be told.
 * @property {string} [floor]
 * @property {Spread} [over] Nanoseconds beyond the floor.
 * @property {Spread} [ratio] Times the floor.
 */
import { bytesPerCall } from "./allocation.mjs";

const WARM_UP_MS = 150;

/**
 * @param {readonly Row[]} rows
 * @param {{ rounds: number, sampleMs: number, cpu?: boolean }} options With `cpu`, the processor time of this process counts and not the
 *   time that passes: for a machine where others are at work, and for rows that wait for nothing outside.
 * @returns {Promise<Measured[]>}
 */
export async function measure(rows, { rounds, sampleMs, cpu = false }) {
  const clock = cpu ? processorNs : passingNs;
  for (const row of rows) await row.open?.();
  const counts = new Map();
  for (const row of rows) if (row.call !== undefined) counts.set(row, await calibrate(row, sampleMs, clock));
  const samples = new Map(rows.map((row) => [row.name, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (let at = 0; at < rows.length; at += 1) {
      const row = rows[(at + round) % rows.length];
      samples.get(row.name).push(row.call === undefined ? await row.sample() : await sample(row, counts.get(row), clock));
    }
  }
  const measured = [];
  for (const row of rows) measured.push({ ...figures(row, samples), bytes: await bytesOf(row) });
  for (const row of rows) await row.close?.();
  return measured;
}

/** Warms the row up and answers with the number of calls that take about `sampleMs`. */
async function calibrate(row, sampleMs, clock) {
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
async function sample(row, count, clock) {
  globalThis.gc?.({ type: "minor" });
  return (await elapsedNs(row, count, clock)) / (count * (row.units ?? 1));
}

async function elapsedNs(row, count, clock) {
  const { call, inFlight = 1 } = row;
  const start = clock();
  if (inFlight === 1) await oneByOne(call, count);
  else await together(call, count, inFlight);
  return clock() - start;
}

function passingNs() {
  return performance.now() * 1e6;
}

function processorNs() {
  const { user, system } = process.cpuUsage();
  return (user + system) * 1e3;
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

async function bytesOf({ call, units = 1, inFlight = 1 }) {
  return call === undefined || inFlight > 1 ? undefined : (await bytesPerCall(call, units)) / units;
}

function figures(row, samples) {
  const own = samples.get(row.name);
  const ns = spread(own);
  if (row.floor === undefined) return { name: row.name, ns };
  const floor = samples.get(row.floor);
  if (floor === undefined) throw new Error(`The row "${row.name}" is compared with "${row.floor}", which is no row.`);
  return {
    name: row.name,
    ns,
    floor: row.floor,
    over: spread(own.map((value, round) => value - floor[round])),
    ratio: spread(own.map((value, round) => value / floor[round])),
  };
}

/**
 * @param {readonly number[]} values
 * @returns {Spread}
 */
export function spread(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return { median: quantile(sorted, 0.5), low: quantile(sorted, 0.25), high: quantile(sorted, 0.75) };
}

function quantile(sorted, share) {
  const at = (sorted.length - 1) * share;
  const below = sorted[Math.floor(at)];
  return below + (sorted[Math.ceil(at)] - below) * (at - Math.floor(at));
}
