/**
 * Two middlewares for all tasks, and one for a single task. Each goes around whole runs: it sees what became of them as a value.
 */
import { configure, Task, use, type MiddlewareFunction, type MiddlewareObject, type Next, type Outcome } from "taskwright";
import { z } from "zod";

/** Measures every run. An object may keep state, here what it has measured. */
class Timing implements MiddlewareObject {
  readonly measured: { task: string; status: string; ms: number }[] = [];

  async call(task: Task, next: Next): Promise<Outcome> {
    const startedAt = performance.now();
    const outcome = await next();
    this.measured.push({ task: task.taskName, status: outcome.status, ms: performance.now() - startedAt });
    return outcome;
  }
}

const trace: MiddlewareFunction = async (task, next) => {
  console.log(`> ${task.taskName}`);
  const outcome = await next();
  console.log(`< ${task.taskName} ${outcome.status}`);
  return outcome;
};

/** Turns runs away without calling `next`: the task is not entered. */
function maintenance(task: Task): void {
  task.skip("the warehouse is closed for stocktaking");
}

class CountStock extends Task.with({ input: z.object({ sku: z.string() }), output: z.object({ count: z.number() }) }) {
  work() {
    if (this.input.sku === "") throw new RangeError("a sku has at least one letter");
    return { count: 3 };
  }
}

@use(maintenance)
class MoveStock extends Task.with({ input: z.object({ sku: z.string(), to: z.string() }) }) {
  work() {
    return { moved: true };
  }
}

const timing = new Timing();
configure((config) => {
  config.use(timing); // the first is the outermost
  config.use(trace);
});

await CountStock.execute({ sku: "tea" });
await CountStock.execute({ sku: "" });
await MoveStock.execute({ sku: "tea", to: "shelf 2" });

console.log("\nMeasured, each with its time, which is left out here since it differs from run to run:");
for (const { task, status, ms } of timing.measured) console.log(`  ${task} ${status}${ms > 0 ? "" : " in no time at all"}`);
