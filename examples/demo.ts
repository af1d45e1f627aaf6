/**
 * What `npm run demo` shows: a webhook that is delivered three times, a worker that is killed half-way, and the other ways in which a
 * run can end. The store is the embedded one, and the events are printed as they come.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { configure, MemoryStore, slots, type InputOf } from "taskwright";
import { Bank } from "./demo/bank.js";
import { cards, ChargeCustomer, told, type CardProvider } from "./demo/charge-customer.js";
import { answer, bad, code, event, say, title } from "./demo/show.js";
import { WorkerProcess } from "./demo/worker-process.js";

const store = new MemoryStore();
const bank = new Bank((line) => say("provider", line));
const callers = new AsyncLocalStorage<string>();

configure((config) => {
  config.store = store;
  config.correlationId = () => callers.getStore(); // so that every event says whose it is

  const { telemetry } = config;
  telemetry.subscribe("idempotency_claimed", ({ correlationId, name }) => event(correlationId, name));
  telemetry.subscribe("idempotency_completed", ({ correlationId, name }) => event(correlationId, name));
  telemetry.subscribe("idempotency_released", ({ correlationId, name, payload }) => event(correlationId, name, payload.reason));
  telemetry.subscribe("idempotency_duplicate", ({ correlationId, name, payload }) => event(correlationId, name, payload.state));
  telemetry.subscribe("retry_scheduled", ({ correlationId, name, payload }) =>
    event(correlationId, name, `in ${payload.delayMs} ms, after: ${payload.error.message}`),
  );
});

async function charge(caller: string, input: InputOf<typeof ChargeCustomer>): Promise<void> {
  answer(caller, told(await callers.run(caller, () => ChargeCustomer.execute(input))));
}

/** Twice at once, and once more later. */
async function webhook(): Promise<void> {
  const payment = { paymentId: "pay_1", card: "visa", amountCents: "9900" };
  cards.provider = { charge: (...args) => sleep(200).then(() => bank.charge(...args)) }; // it takes its time

  const first = charge("delivery 1", payment);
  await sleep(50);
  await charge("delivery 2", payment);
  await first;
  await charge("delivery 3", payment);
  cards.provider = bank;
}

/** Two processes of their own, which share the store and the provider of this one. The first is killed while its charge is on the way. */
async function deadWorker(): Promise<void> {
  const payment = { paymentId: "pay_2", card: "visa", amountCents: 4200 };
  const start = (who: string, provider: CardProvider): Promise<WorkerProcess> =>
    WorkerProcess.start({ store, provider, onEvent: (name, detail) => event(who, name, detail) });
  let died: () => void = () => undefined;
  const death = new Promise<void>((resolve) => (died = resolve));

  const two = await start("worker 2", bank);
  const one = await start("worker 1", {
    async charge(...args) {
      await bank.charge(...args);
      await one.kill();
      died();
      return "nobody hears this";
    },
  });

  void one.deliver(payment);
  await death;
  say("worker 1", bad("✗ killed (SIGKILL), before the provider's answer reached it"));
  for await (const { key, state } of slots(store, { state: "processing" })) say("store", `${key} is ${state}, until its lease ends`);

  const duplicate = await two.deliver(payment);
  answer("worker 2", duplicate);
  await sleep(duplicate.retryAfterMs);
  say("store", "the lease has ended, since nobody renewed it");
  answer("worker 2", await two.deliver(payment));
  await charge("delivery 3", payment);
  await two.end();
}

/** A failure frees the key, and so does a skip: the next one with it may run. */
async function otherEndings(): Promise<void> {
  const calls: readonly [caller: string, input: InputOf<typeof ChargeCustomer>][] = [
    ["stolen card", { paymentId: "pay_3", card: "stolen", amountCents: 700 }],
    ["other card", { paymentId: "pay_3", card: "visa", amountCents: 700 }],
    ["nothing due", { paymentId: "pay_4", card: "visa", amountCents: 0 }],
    ["bad network", { paymentId: "pay_5", card: "tired", amountCents: 800 }],
    ["bad input", { paymentId: "pay_6", card: "visa", amountCents: "a lot" }],
  ];
  for (const [at, [caller, input]] of calls.entries()) {
    if (at > 0) console.log();
    await charge(caller, input);
  }
}

console.log();
code('@idempotentBy("paymentId", { ttl: 600, lease: 3 })');
code("class ChargeCustomer extends Task.with({ … })");

title("A webhook is delivered three times");
await webhook();

title("A worker dies half-way");
await deadWorker();

title("What else can happen");
await otherEndings();

title("What the customers were charged, in the end");
for (const [key, { id, amount }] of bank.charges) say(id, `${amount.padStart(9)}  ${key}`);
console.log();
