import { idempotentBy, Task, type IdempotencyOptions } from "taskwright";
import type { ObjectSchema } from "../../src/task/schema.js";

export const KEY = "cmdx:idem:Report:nightly";

/** A task that replays: its output schema, what its work returns, and further options. `seen` counts what was really done. */
export function reportTask(output: ObjectSchema, work: (task: Task) => unknown, options: IdempotencyOptions = {}) {
  const seen = { works: 0, rollbacks: 0 };
  class Report extends Task.with({ output }) {
    work(): unknown {
      seen.works += 1;
      return work(this);
    }

    override rollback(): void {
      seen.rollbacks += 1;
    }
  }
  idempotentBy({ literal: "nightly" }, { onDuplicate: "replay", ...options })(Report);
  return { Report, seen };
}

/** The first answer, and what a second call gets. */
export async function twice(output: ObjectSchema, value: unknown, options: IdempotencyOptions = {}) {
  const { Report, seen } = reportTask(output, () => value, options);
  const first = await Report.execute();
  const second = await Report.execute();
  return { first, second, seen };
}
