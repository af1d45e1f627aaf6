import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { BullmqOptions } from "taskwright/bullmq";
import type { Ending } from "taskwright/queue";

/** What a worker process does with its jobs; see programs/worker.mjs. */
export interface Conduct {
  readonly engine: BullmqOptions;
  readonly namespace: string;
  readonly concurrency: number;
  readonly workMs?: number;
  readonly failsOneIn?: number;
  /** Payloads are times; jobs are handed back until then. */
  readonly until?: boolean;
  readonly hangs?: boolean;
}

interface Message {
  readonly started?: string;
  readonly became?: string;
  readonly ending?: Ending;
  readonly ready?: true;
}

/** A worker in a process of its own, to be killed. */
export class WorkerProcess {
  /** Ids of the jobs that it has begun. */
  readonly started: string[] = [];
  readonly endings = new Map<string, Ending>();
  readonly #child: ChildProcess;

  static async start(conduct: Conduct): Promise<WorkerProcess> {
    const worker = new WorkerProcess(conduct);
    await worker.#ready;
    return worker;
  }

  readonly #ready: Promise<unknown>;

  private constructor(conduct: Conduct) {
    const program = fileURLToPath(new URL("programs/worker.mjs", import.meta.url));
    this.#child = fork(program, [JSON.stringify(conduct)], { execArgv: [], stdio: ["ignore", "ignore", "inherit", "ipc"] });
    this.#ready = new Promise((resolve, reject) => {
      this.#child.once("exit", (code) => reject(new Error(`a worker process ended with ${code} before it was ready`)));
      this.#child.on("message", (message: Message) => {
        if (message.ready === true) resolve(undefined);
        if (message.started !== undefined) this.started.push(message.started);
        if (message.became !== undefined && message.ending !== undefined) this.endings.set(message.became, message.ending);
      });
    });
  }

  /** Ends the process at once. Nothing in it can notice, let alone tidy up. */
  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.kill("SIGKILL");
    await once(this.#child, "exit");
  }

  /** Lets the process end its jobs and itself. */
  async end(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.send("end");
    await once(this.#child, "exit");
  }
}
