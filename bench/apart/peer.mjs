/** Prints the nanoseconds of one row of a peer, in a process where nothing else runs. */
import { clockOf } from "../clock.mjs";
import { prove } from "../proof.mjs";
import { calibrate, sample } from "../sample.mjs";
import { spread } from "../spread.mjs";

const [wanted, clock] = process.argv.slice(2);
const SAMPLES = 5;
const SAMPLE_MS = 20;

const modules = await Promise.all(["execution", "idempotency"].map((file) => import(`../peers/${file}.mjs`)));
const row = modules.flatMap(({ rows }) => rows).find(({ name }) => name === wanted);

await row.open?.();
await prove(row);
const now = clockOf(clock);
const count = await calibrate(row, SAMPLE_MS, now);
const samples = [];
for (let i = 0; i < SAMPLES; i += 1) samples.push(await sample(row, count, now));
await prove(row);
console.log(spread(samples).median);
process.exit();
