import { AsyncLocalStorage } from "node:async_hooks";
import { afterEach, describe, expect, test } from "vitest";
import { resetConfiguration } from "taskwright";
import { taskOf } from "../support/builders.js";
import { world } from "../queue/world.js";

afterEach(resetConfiguration);

/** A task that fails at its first attempt, and what it finds in the storage at each. */
function lookout() {
  const request = new AsyncLocalStorage<string>();
  const seen: (string | undefined)[] = [];
  const Look = taskOf(() => {
    seen.push(request.getStore());
    if (seen.length === 1) throw new Error("once more");
  });
  return { request, seen, Look };
}

describe("a job on the memory engine", () => {
  test("runs outside the request that enqueued it: at once, after a delay, at a further attempt and at a tick", async () => {
    const { queue, clock } = world();
    const { request, seen, Look } = lookout();
    await queue.work([Look], { concurrency: 2 });
    await request.run("of a customer", async () => {
      await queue.enqueue(Look, undefined, { attempts: 2, backoff: "1s" });
      await queue.enqueue(Look, undefined, { delay: "2s" });
      await queue.schedule("poll", Look, {}, { every: "3s" });
      await clock.advance(3_000);
    });
    expect(seen).toEqual([undefined, undefined, undefined, undefined]);
  });

  test("runs outside the request that started its worker", async () => {
    const { queue, settle } = world();
    const { request, seen, Look } = lookout();
    await request.run("of an operator", () => queue.work([Look]));
    await queue.enqueue(Look);
    await settle();
    expect(seen).toEqual([undefined]);
  });

  test("has one chain and one parent in all its attempts", async () => {
    const { queue, clock } = world();
    const chains: unknown[] = [];
    const Fails = taskOf(() => Promise.reject(new Error("down")));
    Fails.telemetry.subscribe("task_started", ({ chainId, parentId, depth, index }) => chains.push([chainId, parentId, depth, index]));
    const Outer = taskOf(() => queue.enqueue(Fails, undefined, { attempts: 3, backoff: 0 }).then(() => undefined));
    const { chainId, runId } = await Outer.execute();
    await queue.work([Fails]);
    await clock.advance(0);
    expect(chains).toEqual(Array.from({ length: 3 }, () => [chainId, runId, 1, 1]));
  });
});
