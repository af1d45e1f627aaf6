/**
 * Retries: which errors, how often, how long between, and when not. A manual clock shows the waits without waiting.
 */
import { configure, retryOn, Task, type Clock, type Jitter } from "taskwright";
import { z } from "zod";

class Overloaded extends Error {}
class UnknownAccount extends Error {}

/** Time that passes as soon as somebody waits for it. */
class ImpatientClock implements Clock {
  #now = 0;
  readonly waits: number[] = [];

  now(): number {
    return this.#now;
  }
  epoch(): number {
    return this.#now;
  }
  timer(ms: number, callback: () => void): () => void {
    this.waits.push(ms);
    this.#now += ms;
    const immediate = setImmediate(callback);
    return () => clearImmediate(immediate);
  }
}

const clock = new ImpatientClock();
configure((config) => {
  config.clock = clock;
});

@retryOn(Overloaded, { limit: 5, delay: "100ms", maxDelay: "1s" })
class FetchBalance extends Task.with({ input: z.object({ failures: z.number(), account: z.string().default("a-1") }) }) {
  work() {
    if (this.input.account === "a-0") throw new UnknownAccount("there is no account a-0");
    if (this.attempt <= this.input.failures) throw new Overloaded("try again");
    return { balanceCents: 1200 };
  }
}

/** A task of the same kind with another strategy: options add to the inherited ones. */
function withJitter(jitter: Jitter): typeof FetchBalance {
  class Jittered extends FetchBalance {}
  retryOn({ jitter })(Jittered);
  return Jittered;
}

const strategies: Record<string, Jitter> = {
  exponential: "exponential",
  linear: "linear",
  fibonacci: "fibonacci",
  "of your own": (retry, delayMs) => delayMs + 5 * retry,
};

console.log("Waits in milliseconds, five failures, a base of 100 ms and never more than a second:");
console.log(`  ${"none".padEnd(12)}`, await waitsOf(FetchBalance));
for (const [name, jitter] of Object.entries(strategies)) console.log(`  ${name.padEnd(12)}`, await waitsOf(withJitter(jitter)));

async function waitsOf(task: typeof FetchBalance): Promise<string> {
  clock.waits.length = 0;
  await task.execute({ failures: 5 });
  return clock.waits.join(", ");
}

const tooMany = await FetchBalance.execute({ failures: 9 });
console.log(`\nSix attempts were not enough: ${tooMany.status} after ${tooMany.retries} retries, ${tooMany.reason}`);

const unknown = await FetchBalance.execute({ failures: 0, account: "a-0" });
console.log(`Another error is not retried: ${unknown.status} after ${unknown.retries} retries, ${unknown.reason}`);
