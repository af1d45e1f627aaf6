/**
 * What others take for the same work: beside us in this process, and each in a process of its own, where no AsyncLocalStorage of ours
 * slows its promises down.
 */
import { apart } from "../apart.mjs";
import { alone } from "../names.mjs";
import { rows as execution } from "../peers/execution.mjs";
import { rows as idempotency } from "../peers/idempotency.mjs";

const peers = [...execution, ...idempotency];

export const rows = () => [...peers, ...peers.map(apartFrom)];

function apartFrom({ name }) {
  return { name: alone(name), every: 12, sample: (clock) => apart("peer.mjs", name, clock) };
}
