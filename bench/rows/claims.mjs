/** What a claim costs, in memory and on Redis, beside the same steps without a task around them. */
import { charge, input, output } from "../charge.mjs";
import { client } from "../servers.mjs";

/** @param {typeof import("../../dist/index.js")} library */
export async function rows({ Task, idempotentBy, literal, lockWith, MemoryStore, settings }, { library }) {
  const { RedisStore } = await import(new URL("redis/index.js", library).href);
  let keys = 0;
  const fresh = () => ({ paymentId: `pay_${(keys += 1)}`, amountCents: 9900 });
  const known = { paymentId: "known", amountCents: 9900 };

  class Charge extends Task.with({ input }) {
    async work() {
      return charge(this.input);
    }
  }
  class Quote extends Task.with({ input, output }) {
    async work() {
      return charge(this.input);
    }
  }

  const memory = new MemoryStore();
  class InMemory extends Charge {}
  settings({ store: memory })(InMemory);
  idempotentBy("paymentId", { ttl: 60 })(InMemory);
  class ReplayInMemory extends Quote {}
  settings({ store: memory })(ReplayInMemory);
  idempotentBy("paymentId", { ttl: 86_400, onDuplicate: "replay" })(ReplayInMemory);
  class LockInMemory extends Charge {}
  settings({ store: memory })(LockInMemory);
  lockWith(literal("wallet"))(LockInMemory);

  const slots = new Map();
  const floor = async (given) => {
    const parsed = input.parse(given);
    const key = `cmdx:idem:Charge:${parsed.paymentId}`;
    if (slots.has(key)) return undefined;
    slots.set(key, "processing");
    const answer = charge(parsed);
    slots.set(key, "completed");
    if (slots.size > 100_000) slots.clear();
    return answer;
  };

  const redis = { raw: undefined, OnRedis: undefined, DuplicateOnRedis: undefined };
  const withRedis = {
    async open() {
      if (redis.raw !== undefined) return;
      redis.raw = await client();
      redis.held = await client();
      const store = new RedisStore(redis.held);
      class OnRedis extends Charge {}
      settings({ store })(OnRedis);
      idempotentBy("paymentId", { ttl: 60 })(OnRedis);
      class LockOnRedis extends Charge {}
      settings({ store })(LockOnRedis);
      lockWith("paymentId")(LockOnRedis);
      await OnRedis.execute(known);
      Object.assign(redis, { OnRedis, LockOnRedis, store });
    },
    close() {
      redis.raw?.disconnect();
      redis.held?.disconnect();
      redis.raw = undefined;
    },
  };
  const raw = async () => {
    const key = `raw:${(keys += 1)}`;
    await redis.raw.set(key, "processing", "PX", 60_000, "NX");
    charge(known);
    await redis.raw.set(key, "completed", "PX", 60_000, "XX");
  };
  const rawDuplicate = () => redis.raw.set("raw:known", "processing", "PX", 600_000, "NX");

  const table = [
    { name: "zod input + Map claim + Map complete", call: () => floor(fresh()) },
    {
      name: "idempotent execute in memory, first run",
      floor: "zod input + Map claim + Map complete",
      call: () => InMemory.execute(fresh()),
    },
    {
      name: "idempotent execute in memory, duplicate",
      floor: "zod input + Map claim + Map complete",
      open: () => InMemory.execute(known),
      call: () => InMemory.execute(known),
    },
    {
      name: "idempotent execute in memory, replay",
      floor: "zod input + Map claim + Map complete",
      open: () => ReplayInMemory.execute(known),
      call: () => ReplayInMemory.execute(known),
    },
    { name: "locked execute in memory", floor: "zod input + Map claim + Map complete", call: () => LockInMemory.execute(known) },
  ];
  for (const inFlight of [1, 64, 256]) {
    const name = (what) => `${what}, ${inFlight} in flight`;
    table.push(
      { name: name("Redis SET NX + SET XX"), inFlight, ...withRedis, call: raw },
      {
        name: name("idempotent execute on Redis, first run"),
        floor: name("Redis SET NX + SET XX"),
        inFlight,
        ...withRedis,
        call: () => redis.OnRedis.execute(fresh()),
      },
      {
        name: name("locked execute on Redis"),
        floor: name("Redis SET NX + SET XX"),
        inFlight,
        ...withRedis,
        call: () => redis.LockOnRedis.execute(fresh()),
      },
      { name: name("Redis SET NX, refused"), inFlight, ...withRedis, call: rawDuplicate },
      {
        name: name("idempotent execute on Redis, duplicate"),
        floor: name("Redis SET NX, refused"),
        inFlight,
        ...withRedis,
        call: () => redis.OnRedis.execute(known),
      },
    );
  }
  return table;
}
