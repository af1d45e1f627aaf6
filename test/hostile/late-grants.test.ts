import { idempotentBy, lockWith, shutdown, Task } from "taskwright";
import { expect, test } from "vitest";
import { z } from "zod";
import { settle } from "../support/manual-clock.js";
import { useStage } from "./stage.js";

const stage = useStage();
const input = z.object({ id: z.string() });

/** Work that never comes to an end by itself. */
class Endless extends Task.with({ input }) {
  async work(): Promise<void> {
    await new Promise(() => undefined);
  }
}
class Slow extends Endless {}
idempotentBy("id", { ttl: 600, lease: 300 })(Slow);
class Other extends Endless {}
lockWith("id", { ttl: 300 })(Other);

const KEY = "cmdx:idem:Slow:a";

/*
 *     Slow      |- claim: no answer in time |- claim: granted      shutdown |- delete: done
 *     the store                                                                   |- the first claim: granted anew
 *     Other                                                        shutdown |- delete ~~~~~~~~~~~~~~ its answer is late
 */
test("a claim that takes effect after the shutdown has freed its key is given back, however long the other releases take", async () => {
  const overtaken = stage.store.disturb("claim", "delay");
  const slow = Slow.execute({ id: "a" });
  await overtaken.met;
  await stage.clock.advance(5_050); // its time limit, and the pause before it is made again
  expect(await stage.memory.get(KEY)).toBeDefined();
  const other = Other.execute({ id: "b" });
  await settle();
  const late = stage.store.disturb("delete", "delay-answer", { when: ({ key }) => key.includes("Other") });

  const ended = shutdown({ grace: 0 });
  await late.met;
  await settle();
  expect(await stage.memory.get(KEY)).toBeUndefined();
  overtaken.release();
  await settle();
  late.release();
  await ended;
  await settle();

  expect(await stage.memory.get(KEY)).toBeUndefined();
  expect((await Promise.all([slow, other])).map(({ status }) => status)).toEqual(["failed", "failed"]);
});
