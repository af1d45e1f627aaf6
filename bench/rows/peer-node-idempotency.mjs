/** `@node-idempotency/core`: claims with `onRequest`, completes with `onResponse`. Without a body it makes no fingerprint, as we do not by default. */
import { Idempotency } from "@node-idempotency/core";
import { MemoryStorageAdapter } from "@node-idempotency/storage-adapter-memory";
import { RedisStorageAdapter } from "@node-idempotency/storage-adapter-redis";
import { charge, input } from "../charge.mjs";
import { claimRows } from "../claims.mjs";
import { redis } from "../servers.mjs";

/** A function that answers as the first call with a key did. Its keys are `cmdx:idem:ChargeCustomer:<paymentId>`. */
async function idempotent(storage) {
  const idempotency = new Idempotency(storage, { cacheKeyPrefix: "cmdx", cacheTTLMS: 3_600_000 });
  return async (given) => {
    const parsed = input.parse(given);
    const request = { headers: { "idempotency-key": parsed.paymentId }, method: "idem", path: "ChargeCustomer" };
    const earlier = await idempotency.onRequest(request);
    if (earlier !== undefined) return earlier.body;
    const answer = charge(parsed);
    await idempotency.onResponse(request, { body: answer });
    return answer;
  };
}

async function inMemory() {
  const storage = new MemoryStorageAdapter();
  const call = await idempotent(storage);
  return { call, size: () => storage.cache.size, clear: () => storage.cache.clear() };
}

async function onRedis() {
  const storage = new RedisStorageAdapter({ url: (await redis()).url });
  await storage.connect();
  return { call: await idempotent(storage), close: () => storage.disconnect() };
}

export const rows = () => claimRows("node-idempotency", { inMemory, onRedis });
