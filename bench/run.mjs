/**
 * `npm run bench` prints one table; `npm run --silent bench -- --json` gives the same for machines.
 *
 * Options: `--only <text>` measures the rows whose name holds the text, with their floors; `--rounds <n>` and `--sample <ms>`
 * change how long it takes; `--cpu` counts processor time, for a busy machine; `--library <file>` measures another build.
 */
import { readdirSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { measure } from "./measure.mjs";
import { table } from "./table.mjs";

const { values: options } = parseArgs({
  options: {
    json: { type: "boolean", default: false },
    only: { type: "string" },
    rounds: { type: "string", default: "25" },
    sample: { type: "string", default: "20" },
    cpu: { type: "boolean", default: false },
    library: { type: "string" },
  },
});

// The load before we begin: where others are at work, the figures say less.
const machine = { node: process.version, processor: cpus()[0]?.model ?? "unknown", cores: cpus().length, load: loadavg()[0] };
const library = options.library === undefined ? new URL("../dist/index.js", import.meta.url).href : pathToFileURL(options.library).href;
const rows = chosen(await allRows(library), options.only);
const measured = await measure(rows, { rounds: Number(options.rounds), sampleMs: Number(options.sample), cpu: options.cpu });

if (options.json) console.log(JSON.stringify({ machine, clock: options.cpu ? "processor" : "wall", rows: measured }, undefined, 2));
else
  console.log(
    `Node ${machine.node}, ${machine.processor}, ${machine.cores} cores, load ${machine.load.toFixed(1)} at the start${options.cpu ? ", processor time" : ""}\n\n${table(measured)}`,
  );

/** Every file in `rows/` exports `rows`, which gets the library and where that is, and gives entries of the table. */
async function allRows(library) {
  const exported = await import(library);
  const files = readdirSync(new URL("rows/", import.meta.url)).sort();
  const modules = await Promise.all(files.map((file) => import(new URL(`rows/${file}`, import.meta.url).href)));
  return (await Promise.all(modules.map(({ rows }) => rows(exported, { library })))).flat();
}

function chosen(rows, text) {
  if (text === undefined) return rows;
  const wanted = rows.filter(({ name }) => name.includes(text));
  return rows.filter((row) => wanted.includes(row) || wanted.some(({ floor }) => floor === row.name));
}
