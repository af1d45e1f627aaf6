/**
 * Measures rows side by side. In every round each row runs once, for as many calls as its calibration gave it, and the order
 * turns from round to round, so that what disturbs the machine disturbs all rows alike. A row is compared with another one
 * round by round, as pairs, and only then is the median taken.
 *
 * @typedef {object} Row
 * @property {string} name
 * @property {() => unknown} [call] What is measured; a promise is awaited.
 * @property {(clock: "wall" | "processor") => Promise<number>} [sample] In place of `call`, for what needs a process of its own: answers with the figure itself.
 * @property {"ns" | "bytes"} [unit] What the figure counts. Default "ns".
 * @property {number} [every] Sampled in each round that is a multiple of it. Default 1.
 * @property {string} [floor] The name of the row that this one is compared with.
 * @property {readonly string[]} [peers] The names of rows that do the same work by other libraries.
 * @property {number} [units] How many things one call does; figures are for one of them. Default 1.
 * @property {number} [inFlight] How many calls are under way at once. Default 1.
 * @property {number} [charges] How often the work runs in one call. Proved before and after.
 * @property {(answer: unknown) => boolean} [right] Is it the answer that the row should give? Proved before and after.
 * @property {() => unknown} [open] Called once before the first round.
 * @property {() => unknown} [close] Called once after the last round.
 *
 * @typedef {import("./spread.mjs").Spread} Spread
 *
 * @typedef {object} Measured
 * @property {string} name
 * @property {"ns" | "bytes"} unit
 * @property {Spread} figure For one unit.
 * @property {number} [bytes] Bytes allocated for one unit, where that can be told.
 * @property {string} [floor]
 * @property {Spread} [over] What is beyond the floor.
 * @property {Spread} [ratio] Times the floor.
 * @property {readonly Comparison[]} peers The peers in the same process, the fastest first.
 * @property {readonly Comparison[]} peersAlone The peers where they and we have each a process to itself, the fastest first.
 *
 * @typedef {object} Comparison
 * @property {string} name
 * @property {Spread} times How many times as long as we it takes.
 */
import { bytesPerCall } from "./allocation.mjs";
import { clockOf } from "./clock.mjs";
import { alone } from "./names.mjs";
import { prove } from "./proof.mjs";
import { calibrate, sample } from "./sample.mjs";
import { spread } from "./spread.mjs";

/**
 * @param {readonly Row[]} rows
 * @param {{ rounds: number, sampleMs: number, clock: "wall" | "processor", progress: (what: string) => void }} options
 * @returns {Promise<Measured[]>}
 */
export async function measure(rows, { rounds, sampleMs, clock, progress }) {
  progress(`${rows.length} rows: opening, proving, warming up`);
  for (const row of rows) await row.open?.();
  for (const row of rows) await prove(row);
  const warm = (row) => calibrate(row, sampleMs, clockOf(clock));
  const called = rows.filter(({ call }) => call !== undefined);
  const bytes = new Map();
  for (const row of called) {
    await warm(row);
    bytes.set(row, await bytesOf(row));
  }
  // Once more: collecting garbage on purpose has made V8 give up compiled code.
  const counts = new Map();
  for (const row of called) counts.set(row, await warm(row));
  const samples = new Map(rows.map(({ name }) => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    progress(`round ${round + 1} of ${rounds}`);
    for (let at = 0; at < rows.length; at += 1) {
      const row = rows[(at + round) % rows.length];
      if (round % (row.every ?? 1) !== 0) continue;
      samples.get(row.name)[round] = row.call === undefined ? await row.sample(clock) : await sample(row, counts.get(row), clockOf(clock));
    }
  }
  for (const row of rows) await prove(row);
  for (const row of rows) await row.close?.();
  return rows.map((row) => ({ ...figures(row, samples), bytes: bytes.get(row) }));
}

async function bytesOf({ call, units = 1, inFlight = 1 }) {
  return inFlight > 1 || units > 100 ? undefined : (await bytesPerCall(call, units)) / units;
}

/** @returns {Measured} */
function figures({ name, unit = "ns", floor, peers = [] }, samples) {
  const own = samples.get(name);
  const known = { name, unit, figure: spread(own.filter((value) => value !== undefined)) };
  if (floor !== undefined && !samples.has(floor)) throw new Error(`The row "${name}" is compared with "${floor}", which is no row.`);
  return {
    ...known,
    ...(floor && {
      floor,
      over: spread(pairs(own, samples.get(floor), (ours, theirs) => ours - theirs)),
      ratio: spread(pairs(own, samples.get(floor), (ours, theirs) => ours / theirs)),
    }),
    peers: compared(own, peers, samples),
    peersAlone: compared(samples.get(alone(name)) ?? [], peers.map(alone), samples),
  };
}

/** @returns {Comparison[]} */
function compared(own, peers, samples) {
  return peers
    .filter((name) => samples.has(name))
    .map((name) => ({ name, times: spread(pairs(own, samples.get(name), (ours, theirs) => theirs / ours)) }))
    .sort((a, b) => a.times.median - b.times.median);
}

/** What is made of the two figures of each round in which both rows were sampled. */
function pairs(own, other, make) {
  return own
    .map((value, round) => (other[round] === undefined ? undefined : make(value, other[round])))
    .filter((value) => value !== undefined);
}
