/** What the rows are compared with: the same work without a task around it. */
import { apart } from "../apart.mjs";
import { charge, GIVEN, input, output } from "../charge.mjs";
import { isCharge } from "../proof.mjs";

async function bare(given) {
  return charge(given);
}

async function parsed(given) {
  return charge(input.parse(given));
}

async function parsedTwice(given) {
  return output.parse(charge(input.parse(given)));
}

async function failing() {
  throw new Error("card refused");
}

async function nested(depth) {
  return depth === 0 ? charge(GIVEN) : nested(depth - 1);
}

const works = { charges: 1, right: isCharge };

export const rows = () => [
  { name: "bare call", call: () => bare(GIVEN), ...works },
  {
    name: "bare call, no AsyncLocalStorage in the process",
    floor: "bare call",
    every: 5,
    sample: (clock) => apart("bare.mjs", "alone", clock),
  },
  { name: "bare call inside AsyncLocalStorage.run", floor: "bare call", every: 5, sample: (clock) => apart("bare.mjs", "inside", clock) },
  { name: "zod input + call", floor: "bare call", call: () => parsed(GIVEN), ...works },
  { name: "zod input + call + zod output", floor: "bare call", call: () => parsedTwice(GIVEN), ...works },
  { name: "bare call that throws", floor: "bare call", call: () => failing().catch(() => undefined), charges: 0 },
  { name: "bare calls nested to depth 3", units: 4, call: () => nested(3), ...works },
  { name: "bare calls nested to depth 10", units: 11, call: () => nested(10), ...works },
];
