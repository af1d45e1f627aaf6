import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import type { EngineJob, Handler, JobOptions, Verdict, Attempt } from "taskwright/queue";

const DEFAULTS: JobOptions = {
  delayMs: 0,
  priority: 0,
  attempts: 1,
  backoff: { type: "fixed", delayMs: 0 },
  keepMs: { completed: 600_000, dead: 600_000 },
};

export function jobOf({
  id = randomUUID(),
  payload = "payload",
  key,
  ...options
}: { id?: string; payload?: string; key?: string } & Partial<JobOptions> = {}): EngineJob {
  return { id, task: "Task", payload, ...(key !== undefined && { key }), options: { ...DEFAULTS, ...options } };
}

export function namespaceOf(): string {
  return `test-${randomUUID()}`;
}

/** A handler that completes its jobs unless told otherwise, and keeps what it is told of trouble. */
export function handlerOf(
  run: (attempt: Attempt) => Verdict | Promise<Verdict> = () => ({ kind: "completed", answer: "done" }),
): Handler & {
  readonly troubles: Error[];
} {
  const troubles: Error[] = [];
  return { troubles, run: async (attempt) => run(attempt), became() {}, trouble: (error) => void troubles.push(error) };
}

/** Waits for what must come, and gives it. */
export async function eventually<T>(
  what: string,
  look: () => T | undefined | false | Promise<T | undefined | false>,
  patienceMs = 30_000,
): Promise<T> {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    if (performance.now() > deadline) throw new Error(`waited in vain for ${what}`);
    await pause(20);
  }
}
