/** What it costs to enqueue a job, beside BullMQ called directly: the same server, the same payload, the same key. */
import { randomUUID } from "node:crypto";
import { Queue as BullQueue } from "bullmq";
import { GIVEN, input } from "../charge.mjs";
import { redis } from "../servers.mjs";
import { shared } from "../shared.mjs";

const BULK = 1_000;
const PAYLOAD = JSON.stringify({ v: 1, serializer: "json", text: JSON.stringify(GIVEN) });

/** @param {typeof import("../../dist/index.js")} library */
export async function rows({ Task }, { library }) {
  const { Queue } = await import(new URL("queue/index.js", library).href);
  const { bullmqEngine } = await import(new URL("bullmq/index.js", library).href);
  class ChargeCustomer extends Task.with({ name: "ChargeCustomer", input }) {
    async work() {}
  }

  const bull = shared(async () => {
    const { url } = await redis();
    const queue = new BullQueue("bench-direct", { connection: { url } });
    await queue.waitUntilReady();
    return queue;
  });
  const ours = shared(async () => {
    const { url } = await redis();
    const queue = new Queue({ engine: bullmqEngine({ connection: url }), namespace: "bench-ours" });
    await queue.enqueue(ChargeCustomer, GIVEN);
    return queue;
  });
  const memory = shared(() => new Queue({ namespace: "bench-memory" }));

  const direct = (key) => ({
    name: "ChargeCustomer",
    data: { payload: PAYLOAD },
    opts: {
      jobId: randomUUID(),
      removeOnComplete: { age: 3_600 },
      removeOnFail: { age: 3_600 },
      ...(key && { deduplication: { id: randomUUID() } }),
    },
  });
  const keyed = (key) => (key ? { uniqueKey: randomUUID() } : {});
  const many = (entry) => Array.from({ length: BULK }, entry);

  const table = [];
  for (const [words, key] of [
    ["without a key", false],
    ["with a key", true],
  ]) {
    for (const [how, inFlight] of [
      ["one by one", 1],
      ["100 in flight", 100],
    ]) {
      const floor = `BullMQ add ${words}, ${how}`;
      const add = () => {
        const { name, data, opts } = direct(key);
        return bull.it.add(name, data, opts);
      };
      table.push(
        { name: floor, inFlight, ...bull.hooks, call: add, right: isNew },
        {
          name: `enqueue ${words} on BullMQ, ${how}`,
          floor,
          inFlight,
          ...ours.hooks,
          call: () => ours.it.enqueue(ChargeCustomer, GIVEN, keyed(key)),
          right: isNew,
        },
      );
    }
    const floor = `BullMQ addBulk of ${BULK} ${words}`;
    table.push(
      { name: floor, units: BULK, ...bull.hooks, call: () => bull.it.addBulk(many(() => direct(key))), right: areNew },
      {
        name: `enqueueMany of ${BULK} ${words} on BullMQ`,
        floor,
        units: BULK,
        ...ours.hooks,
        call: () =>
          ours.it.enqueueMany(
            ChargeCustomer,
            many(() => ({ input: GIVEN, ...keyed(key) })),
          ),
        right: areNew,
      },
    );
  }
  table.push({
    name: "enqueue with a key that is held, in memory",
    ...memory.hooks,
    async open() {
      await memory.hooks.open();
      await memory.it.enqueue(ChargeCustomer, GIVEN, { uniqueKey: "held" });
    },
    call: () => memory.it.enqueue(ChargeCustomer, GIVEN, { uniqueKey: "held" }),
    right: ({ coalesced }) => coalesced,
  });
  return table;
}

/** BullMQ gives back the job's id, and we say whether another job stood for it. */
const isNew = ({ id, coalesced }) => id !== undefined && coalesced !== true;
const areNew = (jobs) => jobs.length === BULK && new Set(jobs.map(({ id }) => id)).size === BULK && jobs.every(isNew);
