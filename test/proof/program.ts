import type { Result, Task } from "taskwright";
import { z } from "zod";
import type { Caller } from "./caller.js";
import type { Library } from "./library.js";
import type { Process } from "./process.js";
import { STORE_TIMEOUT_MS, type Protection, type Scenario, type TaskName } from "./scenario.js";

/** What an attempt that fails throws. */
export class Declined extends Error {
  override readonly message = "the card was declined";
}

/** Events that say what a run holds, or does not. */
const TOLD = [
  "idempotency_claimed",
  "idempotency_completed",
  "idempotency_released",
  "idempotency_bypassed",
  "lock_acquired",
  "lock_released",
  "lock_bypassed",
] as const;
export type Told = (typeof TOLD)[number];

const INPUT = z.object({ paymentId: z.string(), amount: z.number() });
const OUTPUT = z.object({ by: z.string() });

type Execute = (amount: number) => Promise<Result<{ by: string }>>;

/** A program as a process runs it: the library and its tasks. Made once for each scenario, and run in many schedules. */
export class Program {
  readonly library: Library;
  readonly #tasks: Readonly<Record<TaskName, Execute | undefined>>;
  #process: Process | undefined;
  #starting: Caller | undefined;
  readonly #callers = new Map<string, Caller>();

  constructor(library: Library, scenario: Scenario) {
    this.library = library;
    library.api.resetConfiguration();
    const { Charge, Notify } = scenario.tasks;
    this.#tasks = {
      Charge: this.#define("Charge", Charge, scenario.retries),
      Notify: Notify === undefined ? undefined : this.#define("Notify", Notify, undefined),
    };
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
    const task = this.#tasks[caller.task];
    if (task === undefined) throw new Error(`the scenario has no task ${caller.task}`);
    this.#starting = caller;
    return task(caller.plan.amount ?? 1);
  }

  #define(name: TaskName, { idempotency, lock }: Protection, retries: Scenario["retries"]): Execute {
    const { Task: Base, idempotentBy, lockWith, retryOn } = this.library.api;
    const work = (task: Task): Promise<{ by: string }> => this.#callerOf(task.runId).work(task);
    class Defined extends Base.with({ name, input: INPUT, output: OUTPUT }) {
      work(): Promise<{ by: string }> {
        return work(this);
      }
    }
    if (idempotency !== undefined) idempotentBy("paymentId", idempotency)(Defined);
    if (lock !== undefined) lockWith("paymentId", lock)(Defined);
    if (retries !== undefined) retryOn(Declined, { limit: retries.limit, delay: `${retries.delayMs}ms` })(Defined);
    return (amount) => Defined.execute({ paymentId: "pay_1", amount });
  }

  #callerOf(runId: string): Caller {
    const caller = this.#callers.get(runId);
    if (caller === undefined) throw new Error("a run of another schedule is at work");
    return caller;
  }

  #listen(): void {
    const { library } = this;
    library.api.configure((config) => {
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
      for (const told of TOLD) config.telemetry.subscribe(told, ({ runId }) => this.#tell(runId, told));
    });
  }

  #tell(runId: string, told: Told): void {
    const caller = this.#callers.get(runId);
    if (caller !== undefined) this.#process?.world.ledger.onTold(caller, told);
  }
}
