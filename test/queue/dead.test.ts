import { afterEach, describe, expect, test } from "vitest";
import { resetConfiguration } from "taskwright";
import { memoryEngine } from "taskwright/queue";
import { charge, chargeTask, through, world } from "./world.js";

afterEach(resetConfiguration);

/** A task that fails as long as it is told to. */
function moody() {
  const mood = { fails: true };
  const Charge = chargeTask(() => (mood.fails ? Promise.reject(new Error("declined")) : undefined));
  return { Charge, mood };
}

describe("dead jobs", () => {
  test("are listed, the latest first, page by page", async () => {
    const { queue, clock } = world();
    const { Charge } = moody();
    await queue.work([Charge]);
    const ids: string[] = [];
    for (const customerId of [1, 2, 3]) {
      ids.unshift((await queue.enqueue(Charge, { ...charge, customerId })).id);
      await clock.advance(1);
    }
    expect((await queue.dead()).map(({ id }) => id)).toEqual(ids);
    expect(await queue.dead({ limit: 1, offset: 1 })).toMatchObject([{ id: ids[1], reason: "declined", input: { customerId: 2 } }]);
  });

  test("are enqueued anew by a replay, with their key, and are then forgotten", async () => {
    const { queue, engine, settle } = world();
    const { Charge, mood } = moody();
    await queue.work([Charge]);
    const job = await queue.enqueue(Charge, charge, { uniqueKey: "k", attempts: 1 });
    await settle();
    mood.fails = false;
    const replayed = await queue.replay(job.id);
    expect(replayed?.coalesced).toBe(false);
    expect(await engine.holder("k")).toBe(replayed?.id);
    expect(await queue.job(job.id)).toBeUndefined();
    await settle();
    expect(await queue.job(replayed?.id ?? "")).toMatchObject({ state: "completed", attempts: 1, input: charge, key: "k" });
    expect(await queue.dead()).toEqual([]);
  });

  test("resolve to the job that holds their key meanwhile", async () => {
    const { queue, settle } = world();
    const { Charge } = moody();
    const worker = await queue.work([Charge]);
    const job = await queue.enqueue(Charge, charge, { uniqueKey: "k" });
    await settle();
    await worker.stop();
    const holder = await queue.enqueue(Charge, charge, { uniqueKey: "k" });
    expect(await queue.replay(job.id)).toEqual({ id: holder.id, coalesced: true });
    expect(await queue.dead()).toMatchObject([{ id: job.id }]); // the holder may have another input
  });

  test("that two replay at once are one job, also without a key", async () => {
    const { queue, settle } = world();
    const { Charge, mood } = moody();
    await queue.work([Charge], { concurrency: 5 });
    const job = await queue.enqueue(Charge, charge);
    await settle();
    mood.fails = false;
    const [one, other] = await Promise.all([queue.replay(job.id), queue.replay(job.id)]);
    await settle();
    expect(one).toEqual(other);
    expect(Charge.charged).toHaveLength(2);
  });

  test("are replayed once, though the replay is repeated since its answer was lost", async () => {
    let isLost = true;
    const { Charge, mood } = moody();
    const { queue, settle } = world({
      engine: through(memoryEngine(), () => async (method, perform) => {
        const answer = await perform();
        if (method !== "enqueue" || mood.fails || !isLost) return answer;
        isLost = false;
        throw new Error("lost");
      }),
    });
    await queue.work([Charge]);
    const job = await queue.enqueue(Charge, charge);
    await settle();
    mood.fails = false;
    await expect(queue.replay(job.id)).rejects.toMatchObject({ name: "QueueUnavailableError" });
    await settle();
    await queue.replay(job.id);
    await settle();
    expect(Charge.charged).toHaveLength(2);
    expect(await queue.dead()).toEqual([]);
  });

  test("are the only ones to be replayed", async () => {
    const { queue } = world();
    const job = await queue.enqueue(chargeTask(), charge);
    expect(await queue.replay(job.id)).toBeUndefined();
    expect(await queue.replay("nobody")).toBeUndefined();
    expect((await job.look())?.state).toBe("pending");
  });

  test("are remembered for seven days, completed ones for an hour, unless the job says otherwise", async () => {
    const { queue, clock } = world();
    const { Charge, mood } = moody();
    await queue.work([Charge]);
    const dead = await queue.enqueue(Charge, charge);
    await clock.advance(0);
    mood.fails = false;
    const done = await queue.enqueue(Charge, charge);
    const brief = await queue.enqueue(Charge, charge, { keep: { completed: "1s" } });
    await clock.advance(1_000);
    expect([await dead.look(), await done.look(), await brief.look()].map((job) => job?.state)).toEqual(["dead", "completed", undefined]);
    await clock.advance(3_600_000);
    expect([await dead.look(), await done.look()].map((job) => job?.state)).toEqual(["dead", undefined]);
    await clock.advance(7 * 86_400_000);
    expect(await dead.look()).toBeUndefined();
  });
});
