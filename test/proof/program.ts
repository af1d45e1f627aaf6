import type { Result, Task } from "taskwright";
import { z } from "zod";
import type { Caller } from "./caller.js";
import type { Library } from "./library.js";
import type { Process } from "./process.js";
import { STORE_TIMEOUT_MS, type Scenario } from "./scenario.js";

/** What an attempt that fails throws. */
export class Declined extends Error {
  override readonly message = "the card was declined";
}

const INPUT = z.object({ paymentId: z.string(), amount: z.number() });
const OUTPUT = z.object({ by: z.string() });

/** A program as a process runs it: the library and an idempotent task. Made once for each scenario, and run in many schedules. */
export class Program {
  readonly library: Library;
  readonly #charge: (amount: number) => Promise<Result<{ by: string }>>;
  #process: Process | undefined;
  #starting: Caller | undefined;
  readonly #callers = new Map<string, Caller>();

  constructor(library: Library, scenario: Scenario) {
    this.library = library;
    library.api.resetConfiguration();
    const work = (task: Task): Promise<{ by: string }> => this.#callerOf(task.runId).work(task);
    class Charge extends library.api.Task.with({ name: "Charge", input: INPUT, output: OUTPUT }) {
      work(): Promise<{ by: string }> {
        return work(this);
      }
    }
    library.api.idempotentBy("paymentId", scenario.options)(Charge);
    const { retries } = scenario;
    if (retries !== undefined) library.api.retryOn(Declined, { limit: retries.limit, delay: `${retries.delayMs}ms` })(Charge);
    this.#charge = (amount) => Charge.execute({ paymentId: "pay_1", amount });
    this.#listen();
  }

  /** From now on the program runs in this process, which knows nothing of any other. */
  begin(process: Process): void {
    this.#process = process;
    this.#callers.clear();
    this.library.forget();
    process.inhabit(this.library.configuration());
  }

  execute(caller: Caller): Promise<Result> {
    this.#starting = caller;
    return this.#charge(caller.plan.amount ?? 1);
  }

  #callerOf(runId: string): Caller {
    const caller = this.#callers.get(runId);
    if (caller === undefined) throw new Error("a run of another schedule is at work");
    return caller;
  }

  #listen(): void {
    this.library.api.configure((config) => {
      config.storeTimeout = `${STORE_TIMEOUT_MS}ms`;
      // Told within `execute`, before anything is awaited.
      config.telemetry.subscribe("task_started", ({ runId }) => {
        if (this.#starting === undefined) return;
        this.#starting.runId = runId;
        this.#callers.set(runId, this.#starting);
        this.#process?.world.onRun(this.#starting, runId);
        this.#starting = undefined;
      });
      config.telemetry.subscribe("idempotency_store_error", ({ runId, payload }) => {
        this.#callers.get(runId)?.storeErrors.add(payload.operation);
      });
    });
  }
}
