/** What a claim in memory costs, beside the same steps without a task around them. */
import { charge, fresh, GIVEN, held, input, output, runAllHeld } from "../charge.mjs";
import { idempotencyPeers } from "../names.mjs";
import { isCharge, isDuplicate, isReplay, isSuccess } from "../proof.mjs";

const FLOOR = "zod input + Map claim + Map complete";
const REFUSED = "zod input + Map claim, refused";
const KEPT = 100_000;

/** @param {typeof import("../../dist/index.js")} library */
export function rows({ Task, idempotentBy, literal, lockWith, MemoryStore, settings }) {
  const store = new MemoryStore();
  class ChargeInMemory extends Task.with({ input }) {
    async work() {
      return charge(this.input);
    }
  }
  settings({ store })(ChargeInMemory);
  idempotentBy("paymentId", { ttl: 3_600 })(ChargeInMemory);

  class ReplayInMemory extends Task.with({ input, output }) {
    async work() {
      return charge(this.input);
    }
  }
  settings({ store })(ReplayInMemory);
  idempotentBy("paymentId", { ttl: 3_600, onDuplicate: "replay" })(ReplayInMemory);

  class LockedInMemory extends Task.with({ input }) {
    async work() {
      return charge(this.input);
    }
  }
  settings({ store })(LockedInMemory);
  lockWith(literal("wallet"))(LockedInMemory);

  const firstRun = { charges: 1, right: isSuccess };
  const firstPeers = idempotencyPeers("in memory, first run");
  const duplicatePeers = idempotencyPeers("in memory, duplicate");
  const claim = floor();
  return [
    { name: FLOOR, call: () => claim(fresh()), charges: 1, right: isCharge },
    { name: REFUSED, ...refused() },
    {
      name: "idempotent execute in memory, first run",
      floor: FLOOR,
      peers: firstPeers,
      call: () => ChargeInMemory.execute(fresh()),
      ...firstRun,
    },
    {
      name: "idempotent execute in memory, duplicate",
      floor: REFUSED,
      peers: duplicatePeers,
      open: () => runAllHeld((given) => ChargeInMemory.execute(given)),
      call: () => ChargeInMemory.execute(held()),
      charges: 0,
      right: isDuplicate,
    },
    {
      name: "idempotent execute in memory, first run to be replayed",
      floor: FLOOR,
      peers: firstPeers,
      call: () => ReplayInMemory.execute(fresh()),
      ...firstRun,
    },
    {
      name: "idempotent execute in memory, replay",
      floor: REFUSED,
      peers: duplicatePeers,
      open: () => runAllHeld((given) => ReplayInMemory.execute(given)),
      call: () => ReplayInMemory.execute(held()),
      charges: 0,
      right: isReplay,
    },
    { name: "locked execute in memory", floor: FLOOR, call: () => LockedInMemory.execute(GIVEN), ...firstRun },
  ];
}

/** All that has to be done, and nothing else. */
function floor() {
  const slots = new Map();
  return async (request) => {
    const parsed = input.parse(request);
    const key = `cmdx:idem:ChargeInMemory:${parsed.paymentId}`;
    if (slots.has(key)) return undefined;
    slots.set(key, "processing");
    const answer = charge(parsed);
    slots.set(key, "completed");
    if (slots.size > KEPT) slots.clear();
    return answer;
  };
}

function refused() {
  const call = floor();
  return { open: () => runAllHeld(call), call: () => call(held()), charges: 0, right: (answer) => answer === undefined };
}
