import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { tmpdir, userInfo } from "node:os";
import { setTimeout as wait } from "node:timers/promises";
import { Client } from "pg";
import { binaries, freePort, NOBODY } from "../support/postgres.js";

const START_LIMIT_MS = 60_000;
/** The server refuses to run as root. */
const NOBODY_IF_ROOT = userInfo().uid === 0 ? { uid: NOBODY, gid: NOBODY } : {};

/**
 * - `immediate`: as `pg_ctl stop -m immediate`. It writes nothing, and goes through its log when it starts again.
 * - `killed`: its first process is killed. The others end when they notice.
 * - `backend killed`: one of its connections' processes is killed, as a system does that is out of memory. The server throws out all others,
 *   goes through its log, and is there again by itself.
 */
export type End = "immediate" | "killed" | "backend killed";

/** A PostgreSQL that is ours to kill, to start again on the same data, and to bring to a halt. It ends with the test process. */
export class OwnPostgres {
  readonly url: string;
  readonly #bin: string;
  readonly port: number;
  readonly #folder: string;
  #guard: ChildProcess | undefined;
  #pid = 0;
  /** A connection of the test's own, which may be used while nobody can connect. */
  #control: Client | undefined;
  #halted: readonly number[] = [];

  private constructor(bin: string, port: number, folder: string) {
    this.#bin = bin;
    this.port = port;
    this.#folder = folder;
    this.url = `postgres://taskwright@127.0.0.1:${port}/postgres`;
  }

  static async start(): Promise<OwnPostgres> {
    const bin = await binaries();
    const { stdout, stderr, status } = spawnSync("sh", ["-c", MAKE, "make", bin], { encoding: "utf8", cwd: tmpdir(), ...NOBODY_IF_ROOT });
    if (status !== 0) throw new Error(`There is no PostgreSQL for these tests: ${stdout}${stderr}`);
    const server = new OwnPostgres(bin, await freePort(), stdout.trim());
    await server.start();
    return server;
  }

  /** Starts with the data that it had before. Resolves once it answers. */
  async start(): Promise<void> {
    const deadline = performance.now() + START_LIMIT_MS;
    while (!(await this.#isUp())) {
      // It gives up where processes of the one before have not ended yet.
      if (this.#guard === undefined) await this.#spawn();
      if (performance.now() > deadline) throw new Error(`PostgreSQL did not start in ${START_LIMIT_MS} ms`);
      await wait(20);
    }
  }

  async end(how: End): Promise<void> {
    if (how === "backend killed") return this.#killBackend();
    await this.#letGo();
    const guard = this.#guard;
    process.kill(this.#pid, how === "immediate" ? "SIGQUIT" : "SIGKILL");
    guard?.stdin?.end();
    if (guard !== undefined && guard.exitCode === null) await once(guard, "exit");
  }

  /** Brings all its processes to a halt, as a machine that hangs would: connections stay open, and nothing answers. */
  async freeze(): Promise<void> {
    const control = this.#control;
    if (control === undefined) throw new Error("The server is not running");
    process.kill(this.#pid, "SIGSTOP"); // no new ones from here on
    const { rows } = await control.query<{ pid: number }>("SELECT pid FROM pg_stat_activity");
    this.#halted = rows.map(({ pid }) => pid);
    for (const pid of this.#halted) signal(pid, "SIGSTOP");
  }

  thaw(): void {
    for (const pid of [...this.#halted, this.#pid]) signal(pid, "SIGCONT");
    this.#halted = [];
  }

  /** On the test's own connection, which is up while the server is. */
  async ask<Row extends object>(sql: string, values: readonly unknown[] = []): Promise<readonly Row[]> {
    if (this.#control === undefined) throw new Error("The server is not running");
    return (await this.#control.query<Row>(sql, [...values])).rows;
  }

  /** Breaks the connections of all others, and tells how many there were. */
  async dropClients(): Promise<number> {
    const sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";
    return (await this.ask(sql)).length;
  }

  async remove(): Promise<void> {
    this.thaw();
    await this.end("immediate");
    spawnSync("rm", ["-rf", this.#folder], NOBODY_IF_ROOT);
  }

  async #spawn(): Promise<void> {
    const args = ["-c", GUARD, "guard", this.#bin, this.#folder, String(this.port)];
    const guard = spawn("sh", args, { stdio: ["pipe", "pipe", "ignore"], cwd: tmpdir(), ...NOBODY_IF_ROOT });
    guard.unref();
    this.#guard = guard;
    guard.once("exit", () => {
      if (this.#guard === guard) this.#guard = undefined;
    });
    const [line] = (await once(guard.stdout, "data")) as [Buffer]; // what a pipe gives
    guard.stdout.destroy();
    this.#pid = Number(line.toString());
  }

  async #isUp(): Promise<boolean> {
    if (this.#guard === undefined) return false;
    const client = new Client({ connectionString: this.url, connectionTimeoutMillis: 1_000 });
    client.on("error", () => undefined); // it will end with the server
    try {
      await client.connect();
    } catch {
      await client.end().catch(() => undefined);
      return false;
    }
    await this.#letGo();
    this.#control = client;
    return true;
  }

  async #killBackend(): Promise<void> {
    const [victim] = await this.ask<{ pid: number }>(
      "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() ORDER BY random() LIMIT 1",
    );
    if (victim === undefined) throw new Error("Nobody is connected");
    const over = new Promise((resolve) => this.#control?.once("end", resolve));
    process.kill(victim.pid, "SIGKILL");
    await over;
    await this.start(); // it comes back by itself
  }

  async #letGo(): Promise<void> {
    const control = this.#control;
    this.#control = undefined;
    await control?.end().catch(() => undefined);
  }
}

/** One that has ended meanwhile needs no signal. */
function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error; // what `kill` throws
  }
}

/** Makes the data of a server, and says where. */
const MAKE = `
dir=$(mktemp -d)
"$1/initdb" --pgdata="$dir/data" --auth=trust --username=taskwright --encoding=UTF8 --locale=C --no-sync >"$dir/log" 2>&1 ||
  { cat "$dir/log"; rm -rf "$dir"; exit 1; }
echo "$dir"
`;

/**
 * Says the server's process id, and ends the server when the test process lets go of the pipe; or ends when the server does. What is in
 * the system's memory outlives a process, so nothing need be forced to the disk.
 */
const GUARD = `
exec 3<&0
"$1/postgres" -D "$2/data" -p "$3" -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c max_connections=300 -c fsync=off </dev/null >>"$2/log" 2>&1 &
server=$!
echo $server
{ cat <&3 >/dev/null; kill -CONT $server; kill -QUIT $server; } 2>/dev/null &
reader=$!
wait $server 2>/dev/null
kill $reader 2>/dev/null
`;
