/** Measured rows as text. */

const COLUMNS = ["", "median", "quartiles", "over the floor", "times the floor", "bytes"];

/** @param {readonly import("./measure.mjs").Measured[]} rows */
export function table(rows) {
  const lines = [COLUMNS, ...rows.map(cells)];
  const widths = COLUMNS.map((_, column) => Math.max(...lines.map((line) => line[column].length)));
  return lines
    .map((line) =>
      line
        .map((cell, column) => (column === 0 ? cell.padEnd(widths[0]) : cell.padStart(widths[column])))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

function cells({ name, ns, over, ratio, bytes }) {
  return [
    name,
    time(ns.median),
    `${time(ns.low)} – ${time(ns.high)}`,
    over === undefined ? "" : `${time(over.median)} (${time(over.low)} – ${time(over.high)})`,
    ratio === undefined ? "" : `${times(ratio.median)} (${times(ratio.low)} – ${times(ratio.high)})`,
    bytes === undefined ? "" : Math.round(bytes).toString(),
  ];
}

function times(value) {
  return value.toFixed(value < 10 ? 2 : 1);
}

/** Three figures are as many as such a measurement can answer for. */
function time(ns) {
  const size = Math.abs(ns);
  if (size < 1e3) return `${ns.toFixed(0)} ns`;
  if (size < 1e6) return `${(ns / 1e3).toPrecision(3)} µs`;
  return `${(ns / 1e6).toPrecision(3)} ms`;
}
