/** What a claim on Redis costs, beside the same commands without a task around them: on the same server, by the same kind of client. */
import { charge, fresh, held, input, output, runAllHeld } from "../charge.mjs";
import { busy, idempotencyPeers } from "../names.mjs";
import { isCharge, isDuplicate, isReplay, isSuccess } from "../proof.mjs";
import { client } from "../servers.mjs";
import { shared } from "../shared.mjs";

const HOUR_MS = 3_600_000;

/** @param {typeof import("../../dist/index.js")} library */
export async function rows(exported, { library }) {
  const { RedisStore } = await import(new URL("redis/index.js", library).href);
  const tasks = shared(async () => {
    const connection = await client();
    return { ...tasksOn(new RedisStore(connection), exported), close: () => connection.disconnect() };
  });
  const raw = shared(async () => {
    const connection = await client();
    return { ...floors(connection), close: () => connection.disconnect() };
  });
  return [1, 64, 256].flatMap((inFlight) => [...floorRows(raw, inFlight), ...taskRows(tasks, inFlight)]);
}

function tasksOn(store, { Task, idempotentBy, lockWith, settings }) {
  class ChargesOnRedis extends Task.with({ input }) {
    async work() {
      return charge(this.input);
    }
  }
  idempotentBy("paymentId", { ttl: 3_600 })(ChargesOnRedis);

  class ReplaysOnRedis extends Task.with({ input, output }) {
    async work() {
      return charge(this.input);
    }
  }
  idempotentBy("paymentId", { ttl: 3_600, onDuplicate: "replay" })(ReplaysOnRedis);

  class LockingOnRedis extends Task.with({ input }) {
    async work() {
      return charge(this.input);
    }
  }
  lockWith("paymentId")(LockingOnRedis);

  for (const task of [ChargesOnRedis, ReplaysOnRedis, LockingOnRedis]) settings({ store })(task);
  return { ChargesOnRedis, ReplaysOnRedis, LockingOnRedis };
}

function floors(connection) {
  return {
    async first() {
      const given = input.parse(fresh());
      const key = `cmdx:idem:SetNxThenSetXx:${given.paymentId}`;
      await connection.set(key, "processing", "PX", HOUR_MS, "NX");
      const answer = charge(given);
      await connection.set(key, "completed", "PX", HOUR_MS, "XX");
      return answer;
    },
    refused: (given) => connection.set(`cmdx:idem:SetNxOfHeldKey:${input.parse(given).paymentId}`, "processing", "PX", HOUR_MS, "NX"),
  };
}

const FIRST = "Redis SET NX + SET XX";
const REFUSED = "Redis SET NX, refused";

function floorRows(raw, inFlight) {
  const refused = {
    ...raw.hooks,
    async open() {
      await raw.hooks.open();
      await runAllHeld(raw.it.refused);
    },
  };
  return [
    { name: `${FIRST}${busy(inFlight)}`, inFlight, ...raw.hooks, call: () => raw.it.first(), charges: 1, right: isCharge },
    { name: `${REFUSED}${busy(inFlight)}`, inFlight, ...refused, call: () => raw.it.refused(held()), right: (answer) => answer === null },
  ];
}

function taskRows(tasks, inFlight) {
  const rowOf = (work, { floor, peers, ...rest }) => ({
    name: `${work}${busy(inFlight)}`,
    inFlight,
    floor: `${floor}${busy(inFlight)}`,
    ...(peers && { peers: idempotencyPeers(`on Redis, ${peers}${busy(inFlight)}`) }),
    ...tasks.hooks,
    ...rest,
  });
  const first = { floor: FIRST, charges: 1, right: isSuccess };
  const second = (name) => ({
    floor: REFUSED,
    peers: "duplicate",
    async open() {
      await tasks.hooks.open();
      await runAllHeld((given) => tasks.it[name].execute(given));
    },
    call: () => tasks.it[name].execute(held()),
    charges: 0,
  });
  return [
    rowOf("idempotent execute on Redis, first run", { ...first, peers: "first run", call: () => tasks.it.ChargesOnRedis.execute(fresh()) }),
    rowOf("idempotent execute on Redis, duplicate", { ...second("ChargesOnRedis"), right: isDuplicate }),
    rowOf("idempotent execute on Redis, replay", { ...second("ReplaysOnRedis"), right: isReplay }),
    rowOf("locked execute on Redis", { ...first, call: () => tasks.it.LockingOnRedis.execute(fresh()) }),
  ];
}
