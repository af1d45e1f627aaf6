import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";
import { root } from "../../scripts/tsc.mjs";
import { USUAL, type QueueSettings } from "./queue-settings.js";

let bundle: string | undefined;

/**
 * The program in one file, with the sources and the clients in it: many are started, and so each takes a third of the time. Made once for
 * each state of the sources.
 */
function bundled(): string {
  if (bundle !== undefined) return bundle;
  const { outputFiles } = buildSync({
    entryPoints: [fileURLToPath(new URL("queue-program.ts", import.meta.url))],
    bundle: true,
    write: false,
    platform: "node",
    format: "cjs",
    external: ["pg-native"],
    tsconfig: join(root, "tsconfig.json"), // its paths lead to the sources
    ignoreAnnotations: true, // what is said of side effects is said of the built files
  });
  const [{ contents, hash } = { contents: new Uint8Array(), hash: "" }] = outputFiles;
  const file = join(root, "tmp/faults", `queue-program.${hash.replaceAll(/\W/g, "")}.cjs`);
  if (!existsSync(file)) {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(`${file}.${process.pid}`, contents);
    renameSync(`${file}.${process.pid}`, file);
  }
  return (bundle = file);
}

/** A machine that does much else meanwhile ends processes late. */
const END_LIMIT_MS = 30_000;

/** One process on the queue. */
export class QueueProcess {
  readonly #child: ChildProcess;
  readonly #exit: Promise<unknown>;
  readonly #hearing = new Set<(kind: string, troubles: Record<string, number>) => void>();
  #output = "";
  #accepted = 0;

  constructor(settings: QueueSettings) {
    this.#child = fork(bundled(), [JSON.stringify(settings)], {
      stdio: ["ignore", "pipe", "pipe", "ipc"],
      execArgv: ["--unhandled-rejections=strict"],
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) stream?.on("data", (text: Buffer) => (this.#output += text.toString()));
    this.#child.on("message", ({ kind, troubles = {} }: { kind: string; troubles?: Record<string, number> }) => {
      if (kind === "accepted") this.#accepted += 1;
      for (const hear of this.#hearing) hear(kind, troubles);
    });
    this.#exit = once(this.#child, "exit");
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** What it has printed, which should be nothing. */
  get output(): string {
    return this.#output;
  }

  /** Resolves when it says anything, or says that. Rejects when it ends before. */
  hears(wanted?: string): Promise<Record<string, number>> {
    return new Promise((resolve, reject) => {
      const hear = (kind: string, troubles: Record<string, number>): void => {
        if (wanted !== undefined && kind !== wanted) return;
        this.#hearing.delete(hear);
        resolve(troubles);
      };
      this.#hearing.add(hear);
      void this.#exit.then(() => reject(new Error(`A process has ended with ${this.#child.exitCode}:\n${this.#output}`)));
    });
  }

  /** Resolves when so many more of its calls have been accepted. */
  async getsIn(times: number): Promise<void> {
    const enough = this.#accepted + times;
    while (this.#accepted < enough) await this.hears("accepted");
  }

  /** Ends it as the kernel would, with no chance to clear up. */
  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#exit;
  }

  /** Has it make no more calls, and answers with the errors that it was told of when the last of them has ended. */
  async idle(): Promise<Record<string, number>> {
    const idle = this.hears("idle");
    this.#child.send({ kind: "idle" });
    return idle;
  }

  /** Has it close its queue, and answers with its exit code, or with what it said if it did not end by itself. */
  async end(): Promise<number | string | null> {
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      this.#child.kill("SIGKILL");
    }, END_LIMIT_MS);
    this.#child.send({ kind: "end" });
    await this.#exit;
    clearTimeout(timer);
    return late || this.#output !== "" ? `${late ? "still running" : this.#child.exitCode}: ${this.#output}` : this.#child.exitCode;
  }
}

/** Processes that enqueue and work without a break. */
export class QueueCrew {
  readonly processes: QueueProcess[];
  readonly #settings: Omit<QueueSettings, "seed">;
  #seed: number;

  private constructor(size: number, settings: Omit<QueueSettings, "seed">, seed: number) {
    this.#settings = settings;
    this.#seed = seed;
    this.processes = Array.from({ length: size }, () => this.another());
  }

  /** Resolves when each of them has had a call accepted. */
  static async start(size: number, settings: Pick<QueueSettings, "engine" | "namespace" | "ledgerPort" | "seed">): Promise<QueueCrew> {
    const { seed, ...others } = settings;
    const crew = new QueueCrew(size, { ...USUAL, ...others }, seed);
    await crew.getsIn(1);
    return crew;
  }

  /** One more process, with a seed of its own. */
  another(): QueueProcess {
    this.#seed += 1;
    return new QueueProcess({ ...this.#settings, seed: this.#seed });
  }

  /** Resolves when so many more calls of each have been accepted. */
  async getsIn(times: number): Promise<void> {
    await Promise.all(this.processes.map((process) => process.getsIn(times)));
  }

  async idle(): Promise<Record<string, number>> {
    const all: Record<string, number> = {};
    for (const troubles of await Promise.all(this.processes.map((process) => process.idle()))) {
      for (const [message, times] of Object.entries(troubles)) all[message] = (all[message] ?? 0) + times;
    }
    return all;
  }

  end(): Promise<readonly (number | string | null)[]> {
    return Promise.all(this.processes.map((process) => process.end()));
  }
}
