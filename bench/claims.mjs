/** The rows of a peer that claims keys: first runs and duplicates, in memory and on Redis. */
import { fresh, held, runAllHeld } from "./charge.mjs";
import { busy } from "./names.mjs";
import { isCharge } from "./proof.mjs";
import { shared } from "./shared.mjs";

const IN_FLIGHT = [1, 64, 256];
/** As many keys as the floor keeps. */
const KEPT = 100_000;

/**
 * Both functions make a peer: `call`, which answers as the first call with a key did, and `close`. One in memory tells how many
 * keys it has (`size`) and can `clear` them.
 */
export function claimRows(name, { inMemory, onRedis }) {
  const redis = shared(onRedis);
  const place = `${name} on Redis`;
  return [
    firstRun(`${name} in memory`, shared(inMemory), 1),
    duplicate(`${name} in memory`, shared(inMemory), 1),
    ...IN_FLIGHT.flatMap((inFlight) => [firstRun(place, redis, inFlight), duplicate(place, redis, inFlight)]),
  ];
}

function firstRun(name, peer, inFlight) {
  const call = () => {
    if (peer.it.size?.() > KEPT) peer.it.clear();
    return peer.it.call(fresh());
  };
  return { ...peer.hooks, name: `${name}, first run${busy(inFlight)}`, inFlight, call, charges: 1, right: isCharge };
}

function duplicate(name, peer, inFlight) {
  const open = async () => {
    await peer.hooks.open();
    await runAllHeld(peer.it.call);
  };
  const call = () => peer.it.call(held());
  return { ...peer.hooks, open, name: `${name}, duplicate${busy(inFlight)}`, inFlight, call, charges: 0, right: isCharge };
}
