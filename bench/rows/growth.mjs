/** What a run costs as there are more of something: keys, classes, callers. It should not cost more. */
import { apart } from "../apart.mjs";
import { charge, fresh, input } from "../charge.mjs";
import { isSuccess } from "../proof.mjs";

const KEYS = [1_000, 10_000, 100_000, 1_000_000];

/** @param {typeof import("../../dist/index.js")} library */
export function rows({ Task, idempotentBy, MemoryStore, settings }, { library }) {
  class ChargeByMany extends Task.with({ input }) {
    async work() {
      return charge(this.input);
    }
  }
  settings({ store: new MemoryStore() })(ChargeByMany);
  idempotentBy("paymentId", { ttl: 3_600 })(ChargeByMany);
  const call = () => ChargeByMany.execute(fresh());

  return [
    ...growing(KEYS, "keys live", (keys) => inProcess("growth.mjs", library, "keys", keys)),
    ...growing(KEYS, "keys live in a Map alone", (keys) => inProcess("growth.mjs", library, "map", keys)),
    ...growing([10, 100, 1_000], "classes in use", (classes) => inProcess("growth.mjs", library, "classes", classes)),
    ...growing([1, 10, 100, 1_000], "in flight", (inFlight) => ({ inFlight, call, charges: 1, right: isSuccess })),
    { name: "a million keys in memory, bytes of each beyond its text", unit: "bytes", ...once("million.mjs", library, "bytes") },
    { name: "a million keys in memory, longest slice of a sweep", ...inProcess("million.mjs", library, "sweep") },
  ];
}

/** One row for each size; the first is the floor of the others. */
function growing(sizes, words, row) {
  const nameOf = (size) => `growth, ${size.toLocaleString("en").replaceAll(",", " ")} ${words}`;
  return sizes.map((size) => ({ name: nameOf(size), ...(size !== sizes[0] && { floor: nameOf(sizes[0]) }), ...row(size) }));
}

function inProcess(file, ...args) {
  return { every: 12, sample: (clock) => apart(file, ...args, clock) };
}

function once(file, ...args) {
  return { every: Number.POSITIVE_INFINITY, sample: (clock) => apart(file, ...args, clock) };
}
