import { Task } from "taskwright";
import { bullmqEngine } from "taskwright/bullmq";
import { Queue, QueueUnavailableError } from "taskwright/queue";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { providePostgres } from "../support/postgres.js";
import { provideRedis } from "../support/redis.js";
import { namespaceOf } from "./jobs.js";

let fails = true;

class Charge extends Task.with({
  name: "Charge",
  input: z.object({ cents: z.number(), at: z.coerce.date() }),
  output: z.object({ due: z.date() }),
}) {
  work() {
    if (fails) throw new Error("the card was refused");
    return { due: this.input.at };
  }
}

describe.each([
  ["Redis", provideRedis, "redis"],
  ["PostgreSQL", providePostgres, "postgres"],
] as const)("a queue on %s", (_, provide, backend) => {
  let server: { url: string; stop(): Promise<void> };
  beforeAll(async () => {
    server = await provide();
  });
  afterAll(() => server.stop());

  test("carries inputs and results with their types, and replays a dead job under its key", async () => {
    fails = true;
    const queue = new Queue({ engine: bullmqEngine({ backend, connection: server.url }), namespace: namespaceOf() });
    const input = { cents: 9_900, at: "2030-01-01T00:00:00.000Z" };
    const job = await queue.enqueue(Charge, input, { uniqueKey: "charge:1", attempts: 2, backoff: "10ms" });
    const again = await queue.enqueue(Charge, input, { uniqueKey: "charge:1" });
    expect([again.id, again.coalesced]).toEqual([job.id, true]);

    const worker = await queue.work([Charge], { concurrency: 2 });
    expect(await job.result()).toMatchObject({ status: "failed", reason: "the card was refused" });
    expect((await queue.dead()).map(({ id }) => id)).toEqual([job.id]);

    fails = false;
    const replayed = await queue.replay(job.id);
    expect(replayed?.coalesced).toBe(false);
    expect(await queue.result(Charge, replayed?.id ?? "")).toMatchObject({ status: "success", output: { due: new Date(input.at) } });
    expect(await queue.dead()).toEqual([]);
    await worker.stop();
    await queue.close();
  });
});

test("a queue whose engine is away says so within its time, with the ids to repeat", async () => {
  const queue = new Queue({ engine: bullmqEngine({ connection: "redis://127.0.0.1:1", timeLimit: "300ms" }), namespace: namespaceOf() });
  fails = false;
  const error: unknown = await queue.enqueue(Charge, { cents: 1, at: "2030-01-01" }, { id: "job-1" }).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(QueueUnavailableError);
  expect(error).toMatchObject({ ids: ["job-1"], message: expect.stringContaining("Redis did not answer within 300 ms") });
  await queue.close();
});
