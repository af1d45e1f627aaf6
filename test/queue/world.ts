import { Task } from "taskwright";
import { memoryEngine, Queue, type Engine, type EngineSource, type QueueOptions } from "taskwright/queue";
import { z } from "zod";
import { PausePoint, useManualClock } from "../support/builders.js";
import { settle, type ManualClock } from "../support/manual-clock.js";

export interface World {
  readonly queue: Queue;
  readonly clock: ManualClock;
  /** The engine beneath, to look behind the queue's back. */
  readonly engine: Engine;
  /** The engine's source, for further queues. */
  readonly source: EngineSource;
  /** Lets all jobs that are due run as far as they can. */
  settle(): Promise<void>;
}

/** A queue on a memory engine, with a clock that stands still. */
export function world(options: QueueOptions = {}): World {
  const clock = useManualClock();
  const source = options.engine ?? memoryEngine();
  const queue = new Queue({ ...options, engine: source });
  return { queue, clock, source, engine: source(options.namespace ?? "taskwright"), settle: () => several() };
}

/** Codecs work on other threads, so that a few turns may be needed. */
async function several(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await settle();
}

export const chargeInput = z.object({ customerId: z.number(), amountCents: z.number() });

/** A task that charges, and what it has charged. */
export function chargeTask(work: (charged: readonly number[]) => unknown = () => undefined) {
  return class ChargeCustomer extends Task.with({ name: "charge_customer", input: chargeInput }) {
    static readonly charged: number[] = [];

    async work(): Promise<{ customerId: number }> {
      ChargeCustomer.charged.push(this.input.customerId);
      await work(ChargeCustomer.charged);
      return { customerId: this.input.customerId };
    }
  };
}

/** A task whose work stands at a pause point. */
export function pausedTask() {
  const pause = new PausePoint();
  return { pause, Paused: chargeTask(() => pause.pass()) };
}

export const charge = { customerId: 42, amountCents: 1000 };

/** One call of an engine on its way: `perform` makes it. */
export type Interceptor = (method: string, perform: () => Promise<unknown>, args: readonly unknown[]) => Promise<unknown>;

/** Engines whose calls all go through the function. */
export function through(source: EngineSource, intercept: (engine: Engine) => Interceptor): EngineSource {
  return (namespace) => {
    const engine = source(namespace);
    const interceptor = intercept(engine);
    return new Proxy(engine, {
      get: (target, method): unknown => {
        const member: unknown = Reflect.get(target, method);
        if (typeof member !== "function") return member;
        return (...args: unknown[]): unknown =>
          interceptor(String(method), () => Reflect.apply(member, target, args) as Promise<unknown>, args);
      },
    });
  };
}
