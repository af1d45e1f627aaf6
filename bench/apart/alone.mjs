/** Prints the nanoseconds of one row of one file, in a process where nothing else runs. */
import { clockOf } from "../clock.mjs";
import { sampledAlone } from "../sample.mjs";

const [library, file, wanted, clock] = process.argv.slice(2);

const { rows } = await import(new URL(`../rows/${file}`, import.meta.url).href);
const exported = file.startsWith("peer-") ? undefined : await import(library); // which would enter its AsyncLocalStorage
const row = (await rows(exported, { library })).find(({ name }) => name === wanted);

await row.open?.();
console.log(await sampledAlone(row, clockOf(clock)));
process.exit(); // its client keeps the process alive
