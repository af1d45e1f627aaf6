import { Redis } from "ioredis";
import { Task } from "taskwright";
import { Queue } from "taskwright/queue";
import { bullmqEngine, type BullmqOptions } from "taskwright/bullmq";
import { describe, expect, test } from "vitest";
import { mistakeIn, rejectionOf } from "../support/builders.js";

const connection = "redis://127.0.0.1:6379";

describe("the options of the BullMQ engine", () => {
  test.each([
    ["nothing", undefined, "bullmqEngine() takes an object of options, got undefined"],
    ["no connection", {}, "bullmqEngine() needs a connection, got undefined. Give a URL"],
    ["an empty connection", { connection: "" }, 'bullmqEngine() needs a connection, got ""'],
    ["a word that is misspelt", { connection, timelimit: 5 }, 'bullmqEngine() has no option "timelimit"'],
    ["another backend", { connection, backend: "mysql" }, 'backend must be one of "redis", "postgres", got "mysql"'],
    ["the schema of another backend", { connection, schema: "jobs" }, 'bullmqEngine() with the backend "redis" has no option "schema"'],
    [
      "the prefix of another backend",
      { connection, backend: "postgres", prefix: "x" },
      'with the backend "postgres" has no option "prefix"',
    ],
    ["a time that is none", { connection, lease: "soon" }, "lease must be a time greater than zero"],
    ["no time at all", { connection, timeLimit: 0 }, "timeLimit must be a time greater than zero"],
    ["a count that is none", { connection, maxStalls: -1 }, "maxStalls must be a whole number of 0 or more"],
  ])("refuse %s", (_, options, message) => {
    expect(() => bullmqEngine(options as unknown as BullmqOptions)).toThrow(message); // what callers without types may give
  });

  test("tell what an engine can do, before it connects anywhere", () => {
    const onRedis = bullmqEngine({ connection })("n");
    const onPostgres = bullmqEngine({ backend: "postgres", connection: "postgres://127.0.0.1:1/none" })("n");
    expect([onRedis.name, onPostgres.name]).toEqual(["bullmq", "bullmq"]);
    expect(onRedis.capabilities).toEqual({ durable: true, multiProcess: true, atomicBatch: false, holdsKeys: true });
    expect(onPostgres.capabilities).toEqual({ durable: true, multiProcess: true, atomicBatch: true, holdsKeys: true });
  });

  test("refuse a client for workers that gives up, as a mistake and not as an outage", async () => {
    const client = new Redis({ lazyConnect: true, maxRetriesPerRequest: 1 });
    const queue = new Queue({ engine: bullmqEngine({ connection: client }), namespace: "n" });
    class Ping extends Task.with() {
      work(): void {}
    }

    const refusal = await rejectionOf(queue.work([Ping]));
    expect(mistakeIn(refusal)).toContain("has maxRetriesPerRequest 1, and must have null. Give a URL");
    await queue.close();
    client.disconnect();
  });
});
