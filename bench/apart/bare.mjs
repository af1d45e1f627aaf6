/**
 * Prints the nanoseconds of the bare call where no AsyncLocalStorage was ever entered (`alone`), or inside one (`inside`).
 * In a process of its own, because Node 20 and 22 slow every promise down for each AsyncLocalStorage that was entered.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { charge, GIVEN } from "../charge.mjs";
import { clockOf } from "../clock.mjs";

const [where, clock] = process.argv.slice(2);

async function bare(given) {
  return charge(given);
}

const storage = new AsyncLocalStorage();
const STORE = {};
const call = where === "inside" ? () => storage.run(STORE, bare, GIVEN) : () => bare(GIVEN);

const CALLS = 200_000;
const now = clockOf(clock);
for (let i = 0; i < CALLS; i += 1) await call();
const start = now();
for (let i = 0; i < CALLS; i += 1) await call();
console.log((now() - start) / CALLS);
