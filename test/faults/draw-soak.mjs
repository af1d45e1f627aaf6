// Draws what a soak has measured: node test/faults/draw-soak.mjs tmp/soak-long.json docs/soak.svg
import { readFileSync, writeFileSync } from "node:fs";

const [from = "tmp/soak-long.json", to = "docs/soak.svg"] = process.argv.slice(2);
/** @type {import("./flat.js").Soak} */
const { samples } = JSON.parse(readFileSync(from, "utf8"));

const [WIDTH, LEFT, RIGHT, PANEL, GAP] = [760, 64, 16, 150, 54];
const longest = Math.max(...samples.map(({ atMs }) => atMs));

/** @type {{ title: string; unit: number; valueOf(sample: import("./flat.js").Sample): number }[]} */
const panels = [
  { title: "heap in use after two collections, MB", unit: 1e6, valueOf: ({ heapUsed }) => heapUsed },
  { title: "runs so far, thousands", unit: 1e3, valueOf: ({ runs }) => runs },
  {
    title: "left at rest: timers, listeners of a signal, keys in Redis and in memory, together",
    unit: 1,
    valueOf: ({ timers, listeners, redisKeys, memoryKeys }) => timers + listeners + redisKeys + memoryKeys,
  },
];

/** A round number that is not below. @param {number} value */
function ceiling(value) {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1)));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= value) ?? value;
}

/** @param {typeof panels[number]} panel @param {number} index */
function draw({ title, unit, valueOf }, index) {
  const top = 34 + index * (PANEL + GAP);
  const most = ceiling(Math.max(...samples.map(valueOf)) / unit);
  const x = (/** @type {number} */ ms) => LEFT + (ms / longest) * (WIDTH - LEFT - RIGHT);
  const y = (/** @type {number} */ value) => top + PANEL - (value / unit / most) * PANEL;
  const points = samples.map((sample) => `${x(sample.atMs).toFixed(1)},${y(valueOf(sample)).toFixed(1)}`).join(" ");
  const levels = [0, most / 2, most].map((level) => {
    const at = y(level * unit).toFixed(1);
    return `<line x1="${LEFT}" y1="${at}" x2="${WIDTH - RIGHT}" y2="${at}" stroke="#d8d8d8"/><text x="${LEFT - 8}" y="${at}" text-anchor="end" dominant-baseline="middle">${level}</text>`;
  });
  return [
    `<text x="${LEFT}" y="${top - 12}" font-weight="600">${title}</text>`,
    ...levels,
    `<polyline points="${points}" fill="none" stroke="#2a6f97" stroke-width="2"/>`,
  ].join("\n");
}

const height = 34 + panels.length * (PANEL + GAP);
const seconds = Array.from({ length: 6 }, (_, at) => Math.round(((longest / 1_000) * at) / 5));
const axis = seconds.map(
  (second, at) => `<text x="${LEFT + ((WIDTH - LEFT - RIGHT) * at) / 5}" y="${height - 22}" text-anchor="middle">${second} s</text>`,
);
writeFileSync(
  to,
  [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="system-ui, sans-serif" font-size="12" fill="#333">`,
    `<rect width="${WIDTH}" height="${height}" fill="#fff"/>`,
    ...panels.map(draw),
    ...axis,
    "</svg>",
    "",
  ].join("\n"),
);
