import { afterEach, describe, expect, test } from "vitest";
import { configure, resetConfiguration, Task, type Result } from "taskwright";
import { recordEvents, ofName, taskOf } from "../support/builders.js";
import { world } from "./world.js";

afterEach(resetConfiguration);

describe("a chain", () => {
  test("crosses the queue: the run on the worker is a child of the run that enqueued it", async () => {
    const { queue } = world();
    configure((config) => {
      config.correlationId = () => "request-1";
    });
    const Nested = taskOf(() => "nested");
    const Later = taskOf(async () => (await Nested.execute()).status);
    class Now extends Task.with() {
      async work() {
        return (await queue.enqueue(Later)).id;
      }
    }
    const now = await Now.execute();
    configure((config) => {
      config.correlationId = () => "of the worker";
    });
    const events = recordEvents("task_started", "job_enqueued", "job_started", "job_completed");
    await queue.work([Later]);
    const later = await queue.result(Later, now.status === "success" ? now.output : "");

    const { chainId, correlationId } = now;
    expect(later).toMatchObject({ chainId, correlationId: "request-1", parentId: now.runId, depth: 1, index: 1 });
    expect(ofName(events, "task_started").map(({ chainId, depth, index }) => [chainId, depth, index])).toEqual([
      [chainId, 1, 1],
      [chainId, 2, 2],
    ]);
    expect(ofName(events, "job_completed")).toMatchObject([{ chainId, correlationId }]);
  });

  test("begins on the worker when no run was around, and the correlation comes along", async () => {
    const { queue } = world();
    configure((config) => {
      config.correlationId = () => "request-1";
    });
    const Later = taskOf(() => "done");
    const job = await queue.enqueue(Later);
    configure((config) => {
      config.correlationId = () => "of the worker";
    });
    await queue.work([Later]);
    const result = await job.result();
    expect(result).toMatchObject({ correlationId: "request-1", parentId: undefined, depth: 0, index: 0 });
    expect(result.chainId).toBe(result.runId);
  });

  test("takes the worker's correlation when the enqueuer had none, or could not tell", async () => {
    const { queue } = world();
    const Later = taskOf(() => "done");
    configure((config) => {
      config.correlationId = () => {
        throw new Error("no request");
      };
    });
    const job = await queue.enqueue(Later);
    configure((config) => {
      config.correlationId = () => "of the worker";
    });
    await queue.work([Later]);
    expect((await job.result()).correlationId).toBe("of the worker");
  });

  test("does not come along with a schedule, whose ticks are nobody's children", async () => {
    const { queue, clock } = world();
    const Tick = taskOf(() => "tick");
    const results: Result[] = [];
    Tick.telemetry.subscribe("task_executed", ({ payload }) => results.push(payload.result));
    const Setup = taskOf(() => queue.schedule("s", Tick, {}, { every: "1s" }));
    await Setup.execute();
    await queue.work([Tick]);
    await clock.advance(1_000);
    expect(results).toMatchObject([{ parentId: undefined, depth: 0 }]);
  });
});
