/**
 * `npm run bench` prints one table; `npm run --silent bench -- --json` gives the same for machines.
 *
 * Options: `--only <text>` measures the rows whose name holds the text, with what they are compared with; `--rounds <n>` and
 * `--sample <ms>` change how long it takes; `--cpu` counts processor time, for a busy machine; `--library <file>` measures another build.
 */
import { readdirSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { setFlagsFromString } from "node:v8";
import { apart } from "./apart.mjs";
import { measure } from "./measure.mjs";
import { alone } from "./names.mjs";
import { SAMPLE_MS } from "./sample.mjs";
import { redisIfStarted } from "./servers.mjs";
import { table } from "./table.mjs";

const { values: options } = parseArgs({
  options: {
    json: { type: "boolean", default: false },
    only: { type: "string" },
    rounds: { type: "string", default: "25" },
    sample: { type: "string", default: String(SAMPLE_MS) },
    cpu: { type: "boolean", default: false },
    library: { type: "string" },
  },
});

// Counting bytes collects garbage again and again, and V8 gives up what it has compiled of functions that did not run in between.
setFlagsFromString("--no-flush-bytecode");

const began = performance.now();
// The load before we begin: where others are at work, the figures say less.
const load = loadavg()[0];
const clock = options.cpu ? "processor" : "wall";
const library = options.library === undefined ? new URL("../dist/index.js", import.meta.url).href : pathToFileURL(options.library).href;
const rows = chosen(await allRows(library), options.only);
const measured = await measure(rows, { rounds: Number(options.rounds), sampleMs: Number(options.sample), clock, progress });
const redis = (await redisIfStarted())?.version;
const machine = { node: process.version, processor: cpus()[0]?.model ?? "unknown", cores: cpus().length, redis, load };

if (options.json) console.log(JSON.stringify({ machine, clock, rounds: Number(options.rounds), rows: measured }, undefined, 2));
else console.log(`${headline(machine)}\n\n${table(measured)}`);
process.exit(); // clients of peers may keep the process alive

function headline({ node, processor, cores, redis: version, load: before }) {
  const parts = [`Node ${node}`, processor, `${cores} cores`, version && `Redis ${version}`, `load ${before.toFixed(1)} at the start`];
  return [...parts, options.cpu && "processor time"].filter(Boolean).join(", ");
}

function progress(what) {
  console.error(`${((performance.now() - began) / 1e3).toFixed(0).padStart(4)} s  ${what}`);
}

/** Every file in `rows/` exports `rows`, which gets the library and where that is, and gives entries of the table. */
async function allRows(library) {
  const exported = await import(library);
  const files = readdirSync(new URL("rows/", import.meta.url)).sort();
  const inFiles = files.map(async (file) => {
    const { rows } = await import(new URL(`rows/${file}`, import.meta.url).href);
    return (await rows(exported, { library })).map((row) => ({ ...row, file }));
  });
  const rows = (await Promise.all(inFiles)).flat();
  return [...rows, ...aloneRows(rows, library)];
}

/** Those that have peers, and the peers, once more, each in a process where nothing else runs. */
function aloneRows(rows, library) {
  const compared = new Set(rows.flatMap(({ name, peers = [] }) => (peers.length > 0 ? [name, ...peers] : [])));
  return rows
    .filter(({ name }) => compared.has(name))
    .map(({ name, file }) => ({ name: alone(name), every: 12, sample: (clock) => apart("alone.mjs", library, file, name, clock) }));
}

/** The rows whose names hold the text, and what they are compared with, and so on. */
function chosen(rows, text) {
  if (text === undefined) return rows;
  const names = new Set(rows.filter(({ name }) => name.includes(text)).map(({ name }) => name));
  for (const name of names) {
    const { floor, peers = [] } = rows.find((row) => row.name === name) ?? {};
    for (const other of [floor, ...peers, ...(peers.length > 0 ? [name, ...peers].map(alone) : [])]) names.add(other); // goes through these, too
  }
  return rows.filter(({ name }) => names.has(name));
}
