import { AsyncLocalStorage } from "node:async_hooks";
import { configure, idempotentBy, Task, type Store } from "taskwright";
import { beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { useStage } from "./stage.js";

const stage = useStage();
const input = z.object({ id: z.string() });

class Note extends Task.with() {
  async work(): Promise<void> {}
}
class Charge extends Task.with({ input }) {
  async work(): Promise<string> {
    return "charged";
  }
}
idempotentBy("id")(Charge);

const request = new AsyncLocalStorage<string>();
/** Where the store was called: in which request, and inside which run, whose child a task becomes that somebody's store runs. */
const callers: Promise<readonly [string | undefined, string | undefined]>[] = [];

beforeEach(() => {
  callers.length = 0;
  const store: Store = {
    get: (key) => stage.store.get(key),
    set(key, value, options) {
      const from = request.getStore();
      callers.push(Note.execute().then(({ parentId }) => [from, parentId] as const));
      return stage.store.set(key, value, options);
    },
    delete: (key, options) => stage.store.delete(key, options),
    renew: (key, options) => stage.store.renew(key, options),
    entries: (options) => stage.store.entries(options),
  };
  configure((config) => {
    config.store = store;
  });
});

/** Time limits of all runs share one timer, and a cancellation comes from where somebody cancels: neither is inside the run. */
describe("a run whose store does not answer calls it again from where it did before", () => {
  test.each(["claim", "complete"] as const)("the %s", async (call) => {
    const never = stage.store.disturb(call, "never-answer");
    const run = request.run("request 1", () => Charge.execute({ id: "a" }));
    await never.met;

    await stage.clock.advance(5_000);
    await stage.clock.advance(50);
    const { status, runId } = await run;

    expect(status).toBe("success");
    expect(await Promise.all(callers)).toEqual([
      ["request 1", runId],
      ["request 1", runId],
      ["request 1", runId],
    ]);
  });
});
