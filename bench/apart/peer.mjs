/** Prints the nanoseconds of one row of a peer, in a process where nothing else runs. */
import { clockOf } from "../clock.mjs";
import { sampledAlone } from "../sample.mjs";

const [wanted, clock] = process.argv.slice(2);

const modules = await Promise.all(["execution", "idempotency"].map((file) => import(`../peers/${file}.mjs`)));
const row = modules.flatMap(({ rows }) => rows).find(({ name }) => name === wanted);

await row.open?.();
console.log(await sampledAlone(row, clockOf(clock)));
process.exit(); // its client keeps the process alive
