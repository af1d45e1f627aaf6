/** Prints the nanoseconds of one run, where so many keys are live (`keys <n>`) or so many classes are in use (`classes <n>`). */
import { charge, input } from "../charge.mjs";
import { clockOf } from "../clock.mjs";
import { isSuccess } from "../proof.mjs";
import { sampledAlone } from "../sample.mjs";

const [library, what, size, clock] = process.argv.slice(2);
const { Task, idempotentBy, MemoryStore, settings } = await import(library);
const HOUR_MS = 3_600_000;

const store = new MemoryStore();
const taskNamed = (name) => {
  class Charge extends Task.with({ name, input }) {
    async work() {
      return charge(this.input);
    }
  }
  settings({ store })(Charge);
  idempotentBy("paymentId", { ttl: 3_600 })(Charge);
  return Charge;
};
const idOf = (number) => `pay_${100_000_000_000 + number}`;

/** One key comes and the oldest goes, as in a service that has run for longer than its keys live. */
async function keys(live) {
  const Charge = taskNamed("ChargeInMemory");
  const keyOf = (number) => `cmdx:idem:ChargeInMemory:${idOf(number)}`;
  for (let number = 0; number < live; number += 1) await store.set(keyOf(number), "completed", { ttlMs: HOUR_MS });
  let newest = live - 1;
  return async () => {
    newest += 1;
    const result = await Charge.execute({ paymentId: idOf(newest), amountCents: 9900 });
    await store.delete(keyOf(newest - live));
    return result;
  };
}

/** The classes take turns. */
async function classes(count) {
  const tasks = Array.from({ length: count }, (_, at) => taskNamed(`Charge${1_000 + at}`));
  let number = 0;
  const call = () => {
    number += 1;
    return tasks[number % count].execute({ paymentId: idOf(number), amountCents: 9900 });
  };
  for (let at = 0; at < count; at += 1) await call();
  return call;
}

const call = await (what === "keys" ? keys : classes)(Number(size));
const row = { name: `${what} ${size}`, call, charges: 1, right: isSuccess };
const ns = await sampledAlone(row, clockOf(clock));
if (what === "keys" && store.size !== Number(size)) throw new Error(`There should be ${size} live keys, and there are ${store.size}.`);
console.log(ns);
