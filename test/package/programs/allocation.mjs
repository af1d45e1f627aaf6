// Counts what one run of each kind makes, and prints it as JSON: promises, exactly, and bytes on the heap. See allocation.test.ts.
import { getHeapSpaceStatistics, promiseHooks } from "node:v8";
import { configure, idempotentBy, literal, lockWith, MemoryStore, retryOn, settings, Task } from "taskwright";
import { z } from "zod";

const WARM_UP = 300;
const COUNTED = 20;
const CALLS = 100;
const REPEATS = 9;

const input = z.object({ paymentId: z.string(), amountCents: z.number() });
const output = z.object({ chargeId: z.string() });
// Time stands still: ids share what they make of a millisecond, so a slow machine would allocate more.
const clock = { now: () => 1, epoch: () => 1_700_000_000_000, timer: () => () => undefined };
configure((config) => {
  config.clock = clock;
});
const store = new MemoryStore({ clock });
const ANSWER = { chargeId: "ch_1" };

class Plain extends Task.with() {
  async work() {
    return ANSWER;
  }
}

class Parsed extends Task.with({ input }) {
  async work() {
    return ANSWER;
  }
}

class Retried extends Parsed {}
retryOn(Error)(Retried);

class Locked extends Parsed {}
settings({ store })(Locked);
lockWith(literal("wallet"))(Locked);

class Claimed extends Parsed {}
settings({ store })(Claimed);
idempotentBy("paymentId")(Claimed);

class Replayed extends Task.with({ input, output }) {
  async work() {
    return ANSWER;
  }
}
settings({ store })(Replayed);
idempotentBy("paymentId", { onDuplicate: "replay" })(Replayed);

/** Answers as a store does that is far away: in a promise, one for each call. @type {import("taskwright").Store} */
const afar = {
  get: (key) => Promise.resolve(store.get(key)),
  set: (key, value, options) => Promise.resolve(store.set(key, value, options)),
  delete: (key, options) => Promise.resolve(store.delete(key, options)),
  renew: (key, options) => Promise.resolve(store.renew(key, options)),
  entries: (options) => Promise.resolve(store.entries(options)),
};

class ClaimedAfar extends Parsed {}
settings({ store: afar })(ClaimedAfar);
idempotentBy("paymentId")(ClaimedAfar);

let payments = 0;
const held = { paymentId: "pay_held", amountCents: 1 };
const fresh = () => ({ paymentId: `pay_${1_000_000 + (payments += 1)}`, amountCents: 1 });

/** @type {Readonly<Record<string, () => Promise<unknown>>>} */
const kinds = {
  execute: () => Plain.execute(),
  "execute, parsed input": () => Parsed.execute(held),
  "execute, parsed input, retryOn": () => Retried.execute(held),
  "locked execute": () => Locked.execute(held),
  "idempotent execute, first run": () => Claimed.execute(fresh()),
  "idempotent execute, duplicate": () => Claimed.execute(held),
  "idempotent execute, replay": () => Replayed.execute(held),
  "idempotent execute in a store far away, first run": () => ClaimedAfar.execute(fresh()),
  "idempotent execute in a store far away, duplicate": () => ClaimedAfar.execute(held),
};

/** The promises of one run, as often as they were counted. One more is made by the `await` itself. @param {() => Promise<unknown>} call */
async function promisesOf(call) {
  /** @type {Set<number>} */
  const counts = new Set();
  let made = 0;
  const count = () => {
    made += 1;
  };
  const stop = /** @type {() => void} */ (promiseHooks.onInit(count)); // Node's types say Function
  await call(); // what is under way when the counting begins is not counted
  for (let n = 0; n < COUNTED; n += 1) {
    made = -1;
    await call();
    counts.add(made);
  }
  stop();
  return [...counts];
}

/** Where V8 makes new objects, small ones and large ones. */
const YOUNG = ["new_space", "new_large_object_space"];

/**
 * Bytes in use there. What the whole heap uses says less: its old part counts a free stretch as used as soon as one
 * object goes there (the string of a key that JSON.parse found), and how long that stretch is depends on addresses.
 */
function youngBytes() {
  const young = getHeapSpaceStatistics().filter((space) => YOUNG.includes(space.space_name));
  if (young.length < YOUNG.length) throw new Error(`This version of V8 has not all of the spaces ${YOUNG.join(" and ")}.`);
  return young.reduce((sum, space) => sum + space.space_used_size, 0);
}

/** Bytes of one run. The least of several counts: what else the machine does can only add. @param {() => Promise<unknown>} call */
async function bytesOf(call) {
  if (globalThis.gc === undefined) throw new Error("start it with --expose-gc");
  let least = Number.POSITIVE_INFINITY;
  for (let repeat = 0; repeat < REPEATS; repeat += 1) {
    globalThis.gc();
    for (let n = 0; n < CALLS / 5; n += 1) await call(); // a first stretch makes what the collection has made necessary
    const before = youngBytes();
    for (let n = 0; n < CALLS; n += 1) await call();
    least = Math.min(least, (youngBytes() - before) / CALLS);
  }
  return Math.round(least);
}

/** @type {Record<string, import("../allocation.test.js").Counted>} */
const counted = {};
for (const [kind, call] of Object.entries(kinds)) {
  for (let n = 0; n < WARM_UP; n += 1) await call();
  counted[kind] = { promises: await promisesOf(call), bytes: await bytesOf(call) };
}
console.log(JSON.stringify(counted));
