/**
 * Runs a task with a million keys on one MemoryStore, and prints what each key takes beyond its text (`bytes`), or the nanoseconds of
 * the longest slice of a sweep (`sweep`): over all of them while they live, and over all of them once their time is up.
 */
import { setTimeout as wait } from "node:timers/promises";
import { charge, fresh, input } from "../charge.mjs";
import { clockOf } from "../clock.mjs";

const [library, what, clockName] = process.argv.slice(2);
const { Task, idempotentBy, MemoryStore, settings } = await import(library);
const KEYS = 1_000_000;
const KEY_LENGTH = `cmdx:idem:ChargeInMemory:${fresh().paymentId}`.length;
const SWEEP_EVERY_MS = 30_000;

/** A clock that can jump, and whose timers fire by hand. The store sets one at a time. */
let jumped = 0;
let timer;
const clock = {
  now: () => performance.now() + jumped,
  epoch: () => Date.now() + jumped,
  timer(ms, callback) {
    timer = { ms, callback };
    return () => (timer = undefined);
  },
};

const store = new MemoryStore({ clock, sweepEveryMs: SWEEP_EVERY_MS });
class ChargeInMemory extends Task.with({ input }) {
  async work() {
    return charge(this.input);
  }
}
settings({ store })(ChargeInMemory);
idempotentBy("paymentId", { ttl: 3_600 })(ChargeInMemory);

await ChargeInMemory.execute(fresh());
const before = heap();
for (let n = 0; n < KEYS; n += 1) await ChargeInMemory.execute(fresh());
if (store.size !== KEYS + 1) throw new Error(`There should be ${KEYS + 1} keys, and there are ${store.size}.`);

if (what === "bytes") console.log((heap() - before) / KEYS - KEY_LENGTH);
else {
  const whileLive = await longestSliceNs();
  jumped = 2 * 3_600_000;
  const onceExpired = await longestSliceNs();
  if (store.size !== 0) throw new Error(`All keys should be swept, and ${store.size} are left.`);
  console.log(Math.max(whileLive, onceExpired));
}

function heap() {
  globalThis.gc();
  globalThis.gc();
  return process.memoryUsage().heapUsed;
}

/**
 * Fires the store's timers until one sweep is over: the last one waits for the next sweep, or there is none. Garbage is collected
 * before, so that what a million runs have left is not collected in the middle of a slice.
 */
async function longestSliceNs() {
  globalThis.gc();
  await wait(500); // some of that goes on in other threads
  const now = clockOf(clockName);
  let longest = 0;
  do {
    const { callback } = timer;
    timer = undefined;
    const start = now();
    callback();
    longest = Math.max(longest, now() - start);
    await new Promise(setImmediate);
  } while (timer !== undefined && timer.ms < SWEEP_EVERY_MS);
  return longest;
}
