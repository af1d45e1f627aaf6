/**
 * Writes what was measured into `docs/speed.md`, between the marks that stand there, and draws `docs/speed.svg`:
 *
 *     npm run --silent bench -- --json > tmp/speed.json && node bench/page.mjs tmp/speed.json
 *
 * Of further files, other runs or other versions of Node, the page says what was reached in each. `--before <file>`, of an older build
 * that was measured with `--library`, puts its figures beside those of the first file.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { BUDGETS } from "./budgets.mjs";
import { ALONE } from "./names.mjs";
import { draw } from "./plot.mjs";
import { amount, peerCell, times } from "./table.mjs";

const PAGE = new URL("../docs/speed.md", import.meta.url);
const PLOT = new URL("../docs/speed.svg", import.meta.url);

/** Where a row belongs: the first whose pattern its name has. */
const GROUPS = [
  ["The queue", /BullMQ|enqueue/],
  ["As there is more of it", /^growth|^a million/],
  ["Once in a process", /^start-up/],
  ["Claims on Redis", /Redis/],
  ["Claims in memory", /in memory|Map claim/],
  ["Runs without a claim", /./],
];
const ORDER = ["Runs without a claim", "Claims in memory", "Claims on Redis", "The queue", "As there is more of it", "Once in a process"];

const COLUMNS = [
  ["median", ({ figure, unit }) => amount(figure.median, unit)],
  ["quartiles", ({ figure, unit }) => `${amount(figure.low, unit)} – ${amount(figure.high, unit)}`],
  ["over the floor", ({ over, unit }) => over && amount(over.median, unit)],
  ["times the floor", ({ ratio }) => ratio && times(ratio.median)],
  ["faster than the fastest peer", ({ peers }) => peerCell(peers)],
  ["each alone", ({ peersAlone }) => peerCell(peersAlone)],
  ["bytes", ({ bytes }) => bytes && String(Math.round(bytes))],
];

const { values, positionals } = parseArgs({ allowPositionals: true, options: { before: { type: "string" } } });
const read = (file) => JSON.parse(readFileSync(file, "utf8"));
const runs = (positionals.length === 0 ? ["tmp/speed.json"] : positionals).map(read);
const [{ rows }] = runs;
const old = values.before === undefined ? undefined : read(values.before);
const parts = { machine: machines(runs, old), budgets: budgets(runs, old), figures: figures(rows) };
if (old !== undefined) parts.gained = gained(old.rows, rows);
writeFileSync(PAGE, Object.entries(parts).reduce(written, readFileSync(PAGE, "utf8")));
writeFileSync(PLOT, draw(rows));

/** The page with the part between its two marks put in place of what was there. */
function written(page, [name, text]) {
  const [begin, end] = [`<!-- ${name} -->`, `<!-- end of ${name} -->`];
  const [before, rest] = page.split(begin);
  const after = rest?.split(end)[1];
  if (after === undefined) throw new Error(`docs/speed.md has no place for ${name}: ${begin} and ${end}.`);
  return `${before}${begin}\n${text}\n${end}${after}`;
}

function machines(measured, old) {
  const named = measured.map((run, at) => [`Run ${at + 1}`, run]);
  if (old !== undefined) named.unshift(["Before", old]);
  return named.map(([name, run]) => `- ${name}: ${machine(run)}`).join("\n");
}

/** Figures of a short run, or of a machine where others were at work, say so themselves. */
function machine({ machine: { node, processor, cores, redis, load }, clock, rounds }) {
  const time = clock === "wall" ? "" : ", in processor time";
  const provisional = load > 1 || rounds < 25 || clock !== "wall";
  const where = `Node ${node}, ${processor}, ${cores} cores, Redis ${redis} on the same machine, load ${load.toFixed(1)} at the start`;
  return `${where}; medians of ${rounds} rounds${time}.${provisional ? " **Provisional**: a short run, or a busy machine." : ""}`;
}

/** A column for each run, and one for the older build if there is one. What was met is set in bold. */
function budgets(measured, old) {
  const columns = [
    ...(old === undefined ? [] : [["before", old]]),
    ...measured.map((run, at) => [`${at + 1}. Node ${run.machine.node.split(".")[0].slice(1)}`, run]),
  ];
  return table(
    ["work", "must reach", ...columns.map(([head]) => head)],
    BUDGETS.map(({ work, must, row, reached }) => [
      work,
      must,
      ...columns.map(([, run]) => {
        const { text, met } = reached(rowNamed(run.rows, row));
        return met ? `**${text}**` : text;
      }),
    ]),
  );
}

/** Our own rows that stand on a floor, as they were and as they are. */
function gained(were, now) {
  const cellsOf = ({ figure, unit, ratio, bytes }) => [
    amount(figure.median, unit),
    times(ratio.median),
    bytes ? String(Math.round(bytes)) : "",
  ];
  return table(
    ["", "before", "times the floor", "bytes", "now", "times the floor", "bytes"],
    now
      .filter(({ name, ratio }) => ratio && /^(?:execute|idempotent|locked|enqueue)/.test(name))
      .map((row) => [row.name, ...cellsOf(rowNamed(were, row.name)), ...cellsOf(row)]),
  );
}

function figures(rows) {
  const peers = new Set(rows.flatMap((row) => row.peers.map(({ name }) => name)));
  const isPeer = ({ name }) => peers.has(name);
  const inProcess = rows.filter(({ name }) => !name.endsWith(ALONE));
  const shown = [...inProcess.filter((row) => !isPeer(row)), ...inProcess.filter(isPeer)];
  const groupOf = ({ name }) => GROUPS.find(([, pattern]) => pattern.test(name))[0];
  return ORDER.map((group) => `### ${group}\n\n${figureTable(shown.filter((row) => groupOf(row) === group))}`).join("\n\n");
}

/** Without the columns in which nothing stands. */
function figureTable(rows) {
  const columns = COLUMNS.filter(([, cell]) => rows.some(cell));
  return table(
    ["", ...columns.map(([name]) => name)],
    rows.map((row) => [row.name, ...columns.map(([, cell]) => cell(row) || "")]),
  );
}

function rowNamed(rows, name) {
  const row = rows.find((each) => each.name === name);
  if (row === undefined) throw new Error(`There is no row "${name}". Was everything measured?`);
  return row;
}

function table(head, rows) {
  const line = (cells) => `| ${cells.join(" | ")} |`;
  return [line(head), `|${head.map((_, at) => (at === 0 ? "---" : "---:")).join("|")}|`, ...rows.map(line)].join("\n");
}
