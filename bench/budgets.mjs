/** What must be reached, and how it is read from the measured rows. */
import { amount, times } from "./table.mjs";

/**
 * @typedef {object} Budget
 * @property {string} work
 * @property {string} must
 * @property {string} row The row that is looked at.
 * @property {(row: import("./measure.mjs").Measured) => { value: number; text: string; met: boolean }} reached
 */

const MEMORY = "idempotent execute in memory, first run";
const redis = (inFlight) => `idempotent execute on Redis, first run, ${inFlight} in flight`;

/** @type {readonly Budget[]} */
export const BUDGETS = [
  {
    work: "Idempotent run in memory, over the floor",
    must: "at most 3 ×",
    row: MEMORY,
    reached: ({ ratio }) => atMost(ratio.median, 3, times),
  },
  { work: "Idempotent run in memory, beside the fastest peer", must: "at least 4 × as fast", row: MEMORY, reached: fasterThanAll(4) },
  ...[64, 256].flatMap((inFlight) => [
    {
      work: `Idempotent run on Redis, ${inFlight} in flight, beside the bare commands`,
      must: "at least 0.75 of their rate",
      row: redis(inFlight),
      reached: rate(0.75),
    },
    { work: "The same, beside Powertools", must: "at least 2.5 × as fast", row: redis(inFlight), reached: fasterThan("Powertools", 2.5) },
    { work: "The same, beside node-idempotency", must: "ahead", row: redis(inFlight), reached: fasterThan("node-idempotency", 1) },
  ]),
  {
    work: "Run without policies, over the bare call",
    must: "at most 1.5 µs",
    row: "execute, no policies",
    reached: ({ over, unit }) => atMost(over.median, 1_500, (value) => amount(value, unit)),
  },
  ...["enqueue with a key on BullMQ, one by one", "enqueueMany of 1000 with a key on BullMQ"].map((row) => ({
    work: `${row.startsWith("enqueueMany") ? "A thousand jobs with keys at once" : "One job with a key after the other"}, beside BullMQ directly`,
    must: "at least 0.9 of its rate",
    row,
    reached: rate(0.9),
  })),
  {
    work: "A million keys in memory, each beyond its text",
    must: "at most 300 bytes",
    row: "a million keys in memory, bytes of each beyond its text",
    reached: ({ figure, unit }) => atMost(figure.median, 300, (value) => amount(value, unit)),
  },
  {
    work: "A million keys in memory, longest pause of a sweep",
    must: "at most 5 ms",
    row: "a million keys in memory, longest slice of a sweep",
    reached: ({ figure, unit }) => atMost(figure.median, 5e6, (value) => amount(value, unit)),
  },
];

function atMost(value, limit, text) {
  return { value, text: text(value), met: value <= limit };
}

function atLeast(value, limit) {
  return { value, text: times(value), met: value >= limit };
}

function rate(limit) {
  return ({ ratio }) => atLeast(1 / ratio.median, limit);
}

function fasterThan(library, limit) {
  return ({ peers }) => atLeast(peers.find(({ name }) => name.startsWith(library)).times.median, limit);
}

function fasterThanAll(limit) {
  return ({ peers }) => atLeast(peers[0].times.median, limit);
}
