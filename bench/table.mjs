/** Measured rows as text. */

const COLUMNS = [
  "",
  "median",
  "quartiles",
  "over the floor",
  "times the floor",
  "times as fast as the fastest peer",
  "the same, each alone",
  "bytes",
];

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

function cells({ name, unit, figure, over, ratio, peers, peersAlone, bytes }) {
  return [
    name,
    amount(figure.median, unit),
    `${amount(figure.low, unit)} – ${amount(figure.high, unit)}`,
    over === undefined ? "" : `${amount(over.median, unit)} (${amount(over.low, unit)} – ${amount(over.high, unit)})`,
    ratio === undefined ? "" : `${times(ratio.median)} (${times(ratio.low)} – ${times(ratio.high)})`,
    peerCell(peers),
    peerCell(peersAlone),
    bytes === undefined ? "" : Math.round(bytes).toString(),
  ];
}

/** How many times as long the fastest of them takes. */
export function peerCell([fastest]) {
  return fastest === undefined ? "" : `${times(fastest.times.median)} × ${libraryOf(fastest.name)}`;
}

/** The name of a row of a peer begins with that of the library. */
function libraryOf(name) {
  return name.slice(0, name.indexOf(" "));
}

export function times(value) {
  return value.toFixed(Math.abs(value) < 10 ? 2 : 1);
}

/** Three figures are as many as such a measurement can answer for. */
export function amount(value, unit) {
  if (unit === "bytes") return `${Math.round(value)} bytes`;
  const size = Math.abs(value);
  if (size < 1e3) return `${value.toFixed(0)} ns`;
  if (size < 1e6) return `${(value / 1e3).toPrecision(3)} µs`;
  return `${(value / 1e6).toPrecision(3)} ms`;
}
