/** Prints the nanoseconds of the bare call where no AsyncLocalStorage was ever entered. Node 20 and 22 slow every promise down once one was. */
import { charge, GIVEN } from "../charge.mjs";

async function bare(given) {
  return charge(given);
}

const call = () => bare(GIVEN);
const CALLS = 200_000;
for (let i = 0; i < CALLS; i += 1) await call();
const start = process.hrtime.bigint();
for (let i = 0; i < CALLS; i += 1) await call();
console.log(Number(process.hrtime.bigint() - start) / CALLS);
