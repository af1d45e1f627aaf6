/** The peers that claim keys: first runs and duplicates, in memory and on Redis. */
import { fresh, GIVEN } from "../charge.mjs";
import { busy } from "../names.mjs";
import { isCharge } from "../proof.mjs";
import { shared } from "../shared.mjs";
import * as nodeIdempotency from "./node-idempotency.mjs";
import * as powertools from "./powertools.mjs";

const PEERS = [nodeIdempotency, powertools];
const IN_FLIGHT = [1, 64, 256];
/** As many keys as the floor keeps. */
const KEPT = 100_000;

export const rows = PEERS.flatMap(({ name, inMemory, onRedis }) => {
  const memory = shared(inMemory);
  const heldInMemory = shared(inMemory);
  const redis = shared(onRedis);
  const onRedisToo = IN_FLIGHT.flatMap((inFlight) => [
    first(`${name} on Redis`, redis, inFlight),
    duplicate(`${name} on Redis`, redis, inFlight),
  ]);
  return [first(`${name} in memory`, memory, 1), duplicate(`${name} in memory`, heldInMemory, 1), ...onRedisToo];
});

function first(name, peer, inFlight) {
  const call = () => {
    if (peer.it.size?.() > KEPT) peer.it.clear();
    return peer.it.call(fresh());
  };
  return { ...peer.hooks, name: `${name}, first run${busy(inFlight)}`, inFlight, call, charges: 1, right: isCharge };
}

function duplicate(name, peer, inFlight) {
  const open = async () => {
    await peer.hooks.open();
    await peer.it.call(GIVEN);
  };
  const call = () => peer.it.call(GIVEN);
  return { ...peer.hooks, open, name: `${name}, duplicate${busy(inFlight)}`, inFlight, call, charges: 0, right: isCharge };
}
