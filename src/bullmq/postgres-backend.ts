import { createPostgresBackend } from "./driver.js";

/** What is used of a client of `pg`, and of the classes that make them. */
interface Client {
  on(event: "error", listener: () => void): unknown;
}
type ClientClass = new (config: unknown) => Client;

/**
 * BullMQ's backend for PostgreSQL, whose clients may lose their connection at any moment. A client tells of that by an event, and where
 * nobody listens, Node ends the process. BullMQ begins to listen a moment after a client is connected, and a server that shuts down
 * may say so in the very message in which it says that it is ready. Each call that meets a lost connection fails as well, and says so.
 */
export const guardedPostgresBackend: typeof createPostgresBackend = (name, options, factoryOptions) => {
  const backend = createPostgresBackend(name, options, factoryOptions);
  const { connection } = backend as unknown as { readonly connection: { readonly pool: Pool } }; // the factory's type is wider than what it makes
  connection.pool.on("connect", listen);
  guardOwnClients(connection);
  return backend;
};

interface Pool {
  on(event: "connect", listener: (client: Client) => void): unknown;
}

function listen(client: Client): void {
  client.on("error", () => undefined);
}

/** The one client that a worker has beside its pool is made of `pg` as BullMQ has loaded it; there is none where the pool is the user's. */
function guardOwnClients(connection: object): void {
  const pg: unknown = Reflect.get(connection, "pgModule");
  if (typeof pg !== "object" || pg === null || !("Client" in pg) || typeof pg.Client !== "function") return;
  const Unguarded = pg.Client as ClientClass; // what `pg` calls so
  class Guarded extends Unguarded {
    constructor(config: unknown) {
      super(config);
      listen(this);
    }
  }
  Reflect.set(connection, "pgModule", Object.create(pg, { Client: { value: Guarded } }));
}
