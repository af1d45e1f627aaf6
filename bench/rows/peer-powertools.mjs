/**
 * `@aws-lambda-powertools/idempotency`, with its cache layer on `@redis/client`, and with a layer of our own in memory, for it has none.
 * The key is hashed from an argument, which is quicker than the JMESPath expression that it offers, too.
 */
import {
  IdempotencyConfig,
  IdempotencyItemAlreadyExistsError,
  IdempotencyItemNotFoundError,
  makeIdempotent,
} from "@aws-lambda-powertools/idempotency";
import { CachePersistenceLayer } from "@aws-lambda-powertools/idempotency/cache";
import { BasePersistenceLayer } from "@aws-lambda-powertools/idempotency/persistence";
import { createClient } from "@redis/client";
import { charge, input } from "../charge.mjs";
import { claimRows } from "../claims.mjs";
import { redis } from "../servers.mjs";

class MapPersistenceLayer extends BasePersistenceLayer {
  records = new Map();

  async _putRecord(record) {
    const held = this.records.get(record.idempotencyKey);
    if (held !== undefined && !held.isExpired()) throw new IdempotencyItemAlreadyExistsError("held", held);
    this.records.set(record.idempotencyKey, record);
  }

  async _updateRecord(record) {
    this.records.set(record.idempotencyKey, record);
  }

  async _getRecord(key) {
    const held = this.records.get(key);
    if (held === undefined) throw new IdempotencyItemNotFoundError("no such record");
    return held;
  }

  async _deleteRecord(record) {
    this.records.delete(record.idempotencyKey);
  }
}

/** A function that answers as the first call with a key did. Its keys are `cmdx:idem:Charge` and 25 characters of hash: as long as ours. */
function idempotent(persistenceStore) {
  const config = new IdempotencyConfig({ expiresAfterSeconds: 3_600 });
  config.registerLambdaContext({ getRemainingTimeInMillis: () => 300_000 }); // without it, each call prints a warning
  const run = makeIdempotent(async (parsed) => charge(parsed), {
    persistenceStore,
    config,
    keyPrefix: "cmdx:idem:Charge",
    dataIndexArgument: 1,
  });
  return async (given) => {
    const parsed = input.parse(given);
    return run(parsed, parsed.paymentId);
  };
}

async function inMemory() {
  const layer = new MapPersistenceLayer();
  return { call: idempotent(layer), size: () => layer.records.size, clear: () => layer.records.clear() };
}

async function onRedis() {
  const client = createClient({ url: (await redis()).url });
  await client.connect();
  return { call: idempotent(new CachePersistenceLayer({ client })), close: () => client.destroy() };
}

export const rows = () => claimRows("Powertools", { inMemory, onRedis });
