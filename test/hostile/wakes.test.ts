import { idempotentBy, literal, lockWith, type Task, type TaskDecorator } from "taskwright";
import { describe, expect, test } from "vitest";
import { PausePoint, taskOf } from "../support/builders.js";
import { settle } from "../support/manual-clock.js";
import { useStage } from "./stage.js";

const stage = useStage();
const WAIT = { processing: "wait", completed: "skip" } as const;
const idempotent = idempotentBy(literal("k"), { ttl: 600, lease: 600, waitFor: 300, onDuplicate: WAIT });

/** Five runs that wait for the one before them, and have waited for so long that their pauses are long. */
async function waitBehind(decorate: TaskDecorator, end: (task: Task) => unknown) {
  const pause = new PausePoint();
  let works = 0;
  const Sample = taskOf(async (task) => {
    works += 1;
    if (works > 1) return "later";
    await pause.pass();
    return end(task);
  });
  decorate(Sample);
  const first = Sample.execute();
  await pause.reached;
  const answered: string[] = [];
  for (let i = 0; i < 5; i += 1) void Sample.execute().then(({ status }) => answered.push(status));
  await stage.clock.advance(60_000);
  expect(answered).toEqual([]);
  pause.resume();
  return { first, answered };
}

describe("those who wait in the same process", () => {
  test("know at once that the first has completed", async () => {
    const { first, answered } = await waitBehind(idempotent, () => "done");

    await first;
    await settle();

    expect(answered).toEqual(Array.from({ length: 5 }, () => "skipped"));
  });

  test("know it as soon as it is known to have, where the answer of its write was lost", async () => {
    stage.store.disturb("complete", "fail-after");
    const { first, answered } = await waitBehind(idempotent, () => "done");
    await settle();
    expect(answered).toEqual([]);

    await stage.clock.advance(50); // and the write is made once more
    await first;
    await settle();

    expect(answered).toEqual(Array.from({ length: 5 }, () => "skipped"));
  });

  test("are let in one after the other, at once, where it has failed", async () => {
    const { first, answered } = await waitBehind(idempotent, (task) => task.fail("declined"));

    await first;
    await settle();

    expect(answered.toSorted()).toEqual(["skipped", "skipped", "skipped", "skipped", "success"]);
  });

  test("are let in one after the other, at once, where it was a lock", async () => {
    const { answered } = await waitBehind(lockWith(literal("k"), { ttl: 600, wait: 300 }), () => "done");

    await settle();

    expect(answered).toEqual(Array.from({ length: 5 }, () => "success"));
  });
});
