/** The names of rows, where others refer to them. */

/** @param {number} inFlight How many calls are under way at once. */
export function busy(inFlight) {
  return inFlight === 1 ? "" : `, ${inFlight} in flight`;
}

export const ALONE = " (alone)";

/** @param {string} name Of a row that is also measured in a process where nothing else runs. */
export function alone(name) {
  return `${name}${ALONE}`;
}

/** The peers' rows for the same work as ours. */
export function idempotencyPeers(work) {
  return ["node-idempotency", "Powertools"].map((peer) => `${peer} ${work}`);
}
