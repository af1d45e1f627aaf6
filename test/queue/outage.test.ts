import { afterEach, describe, expect, test } from "vitest";
import { resetConfiguration } from "taskwright";
import { memoryEngine, QueueClosedError, QueueUnavailableError, type EngineSource } from "taskwright/queue";
import { PausePoint, rejectionOf, taskOf } from "../support/builders.js";
import { charge, chargeTask, through, world } from "./world.js";

afterEach(resetConfiguration);

type Trouble = "none" | "refuses" | "hangs" | "loses the answer";

/** A memory engine whose storage can go away. */
function fragile(): { readonly engine: EngineSource; trouble: Trouble } {
  const state: { trouble: Trouble } = { trouble: "none" };
  const never = new Promise<never>(() => undefined);
  const engine = through(memoryEngine(), () => async (method, perform) => {
    if (method === "close" || state.trouble === "none") return perform();
    if (state.trouble === "refuses") throw new Error("ECONNREFUSED");
    if (state.trouble === "loses the answer") await perform();
    return never;
  });
  return Object.assign(state, { engine });
}

describe("an engine that cannot be reached", () => {
  test.each(["refuses", "hangs"] as const)("and %s fails an enqueue within the time limit, and says what to do", async (trouble) => {
    const storage = fragile();
    const { queue, clock } = world({ engine: storage.engine, timeout: "2s" });
    storage.trouble = trouble;
    const enqueuing = rejectionOf(queue.enqueue(chargeTask(), charge));
    await clock.advance(2_000);
    const error = await enqueuing;
    expect(error).toBeInstanceOf(QueueUnavailableError);
    expect(error).toMatchObject({ code: "queue_unavailable", ids: [expect.any(String)], cause: expect.any(Error) });
    expect(String(error)).toMatch(/The engine memory could not be asked to enqueue a job \(.+\)\. Is its storage reachable\? .*error\.ids/);
    expect(clock.pending).toBeLessThanOrEqual(1);
  });

  test.each<[string, (queue: ReturnType<typeof world>["queue"]) => Promise<unknown>]>([
    ["job", (queue) => queue.job("a")],
    ["cancel", (queue) => queue.cancel("a")],
    ["dead", (queue) => queue.dead()],
    ["replay", (queue) => queue.replay("a")],
    ["schedule", (queue) => queue.schedule("s", chargeTask(), charge, { every: 5 })],
    ["unschedule", (queue) => queue.unschedule("s")],
    ["schedules", (queue) => queue.schedules()],
    ["work", (queue) => queue.work([chargeTask()])],
  ])("fails %s as well, after 5 s unless it is told otherwise, and that it may be repeated", async (_, call) => {
    const storage = fragile();
    const { queue, clock } = world({ engine: storage.engine });
    storage.trouble = "hangs";
    let error: unknown;
    void call(queue).catch((thrown: unknown) => (error = thrown));
    await clock.advance(4_999);
    expect(error).toBeUndefined();
    await clock.advance(1);
    expect(error).toMatchObject({ code: "queue_unavailable", message: expect.stringContaining("Repeating the call is safe") });
  });

  test("that lost its answer is asked again with the same ids, and enqueues nothing twice", async () => {
    const storage = fragile();
    const { queue, clock } = world({ engine: storage.engine });
    const Charge = chargeTask();
    storage.trouble = "loses the answer";
    const losing = rejectionOf(queue.enqueueMany(Charge, [{ input: charge }, { input: charge, uniqueKey: "k" }]));
    await clock.advance(5_000);
    const { ids } = (await losing) as QueueUnavailableError;
    storage.trouble = "none";
    const jobs = await queue.enqueueMany(Charge, [
      { input: charge, id: ids[0] ?? "" },
      { input: charge, uniqueKey: "k", id: ids[1] ?? "" },
    ]);
    expect(jobs.map(({ id, coalesced }) => [id, coalesced])).toEqual(ids.map((id) => [id, false]));
    await queue.work([Charge]);
    await clock.advance(0);
    expect(Charge.charged).toHaveLength(2);
  });

  test("is not waited for longer than the result and the time limit together", async () => {
    const storage = fragile();
    const { queue, clock } = world({ engine: storage.engine, timeout: "1s" });
    const job = await queue.enqueue(chargeTask(), charge);
    storage.trouble = "hangs";
    const waiting = rejectionOf(job.result({ timeout: "10s" }));
    await clock.advance(11_000);
    expect(await waiting).toMatchObject({ code: "queue_unavailable" });
  });
});

describe("a queue that is closed", () => {
  test("takes what its running jobs still enqueue, and starts no worker", async () => {
    const { queue, engine } = world();
    const pause = new PausePoint();
    const Next = taskOf(() => "next");
    const First = taskOf(async () => {
      await pause.pass();
      return (await queue.enqueue(Next)).id;
    });
    await queue.work([First]);
    const job = await queue.enqueue(First);
    await pause.reached;
    const closed = queue.close();
    expect(await rejectionOf(queue.work([Next]))).toBeInstanceOf(QueueClosedError);
    pause.resume();
    await closed;
    const output = JSON.parse((await engine.get(job.id))?.answer ?? "") as { readonly text: string };
    expect(output.text).toContain("success");
  });

  test("lets what runs end, keeps what is pending, and takes nothing more", async () => {
    const { queue, engine, clock } = world();
    const Charge = chargeTask();
    await queue.work([Charge]);
    const job = await queue.enqueue(Charge, charge, { delay: "1h" });
    await queue.close();
    await queue.close();
    expect(await rejectionOf(queue.enqueue(Charge, charge))).toBeInstanceOf(QueueClosedError);
    expect(await rejectionOf(queue.job(job.id))).toMatchObject({ code: "queue_closed" });
    expect((await engine.get(job.id))?.state).toBe("pending");
    await engine.close();
    expect(clock.pending).toBeLessThanOrEqual(1);
  });
});
