import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import type { InputOf, Store } from "taskwright";
import type { CardProvider, ChargeCustomer, Told } from "./charge-customer.js";
import type { Answer, Question } from "./parent-store.js";
import type { Delivery, Report } from "./worker.js";

/** What a worker gets from its parent. */
interface Surroundings {
  readonly store: Store;
  readonly provider: CardProvider;
  readonly onEvent: (event: string, detail: string | undefined) => void;
}

/** A worker as its parent sees it. */
export class WorkerProcess {
  readonly #child: ChildProcess;
  readonly #around: Surroundings;
  #onTold: ((told: Told) => void) | undefined;

  /** Starts one, and waits until it listens. */
  static async start(around: Surroundings): Promise<WorkerProcess> {
    const worker = new WorkerProcess(around);
    await once(worker.#child, "message");
    return worker;
  }

  private constructor(around: Surroundings) {
    this.#around = around;
    this.#child = fork(new URL("worker.js", import.meta.url), { serialization: "advanced" });
    this.#child.on("message", (message: Question | Report) => this.#hear(message));
  }

  /** Has it run the task, and waits for what it tells of the run. One that dies tells nothing. */
  deliver(input: InputOf<typeof ChargeCustomer>): Promise<Told> {
    this.#child.send({ deliver: input } satisfies Delivery);
    return new Promise((resolve) => (this.#onTold = resolve));
  }

  /** Ends the process at once. Nothing in it can notice, let alone tidy up. */
  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await once(this.#child, "exit");
  }

  /** Lets the process end by itself: without its parent, nothing keeps it. */
  async end(): Promise<void> {
    this.#child.disconnect();
    await once(this.#child, "exit");
  }

  #hear(message: Question | Report): void {
    if ("event" in message) this.#around.onEvent(message.event, message.detail);
    else if ("told" in message) this.#onTold?.(message.told);
    else if ("method" in message) void this.#answer(message);
  }

  async #answer({ id, method, args }: Question): Promise<void> {
    const { store, provider } = this.#around;
    const asked = method === "charge" ? provider.charge.bind(provider) : store[method].bind(store);
    const call = asked as (...given: readonly unknown[]) => unknown; // `ask` has checked what it is given
    let answer: Answer;
    try {
      answer = { id, value: await call(...args) };
    } catch (error) {
      answer = { id, error: String(error) };
    }
    if (this.#child.connected) this.#child.send(answer);
  }
}
