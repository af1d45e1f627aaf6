import { afterEach, describe, expect, test } from "vitest";
import { rateLimit, resetConfiguration, Task, use } from "taskwright";
import { taskOf } from "../support/builders.js";
import { world } from "./world.js";

afterEach(resetConfiguration);

describe("an attempt is spent by a run that came to its work", () => {
  test.each<[string, (task: Task) => never]>([
    ["fails with the code of a refusal", (task) => task.fail("account locked", { code: "locked" })],
    ["skips with the words of a duplicate", (task) => task.skip("dup", { code: "duplicate", state: "processing" })],
  ])("and %s", async (_, work) => {
    const { queue, clock } = world();
    let runs = 0;
    const Own = taskOf((task) => {
      runs += 1;
      return work(task);
    });
    await queue.work([Own]);
    const job = await queue.enqueue(Own, {}, { attempts: 1 });
    await clock.advance(60_000);
    expect(runs).toBe(1);
    expect((await job.look())?.endedAt).toBeDefined();
  });

  class Mail extends Task.with({ name: "Mail" }) {
    work() {}
  }
  rateLimit({ limit: 1, per: "1h" })(Mail);

  test.each<[string, (task: Task) => Promise<void>]>([
    ["propagates", async (task) => task.propagate(await Mail.execute())],
    ["is thrown", async () => void (await Mail.executeBang())],
  ])("and in which the refusal of a nested run %s", async (_, send) => {
    const { queue, clock } = world();
    let charges = 0;
    await Mail.execute();
    const Charge = taskOf(async (task) => {
      charges += 1;
      await send(task);
    });
    await queue.work([Charge]);
    const job = await queue.enqueue(Charge, {}, { attempts: 1 });
    await clock.advance(60_000);
    expect(charges).toBe(1);
    expect((await job.look())?.state).toBe("dead");
  });

  test("and by one that its own code refuses it beforehand, in the words of a layer", async () => {
    const { queue, clock } = world();
    const Own = taskOf(() => "done");
    let asked = 0;
    use((task) => {
      asked += 1;
      task.fail("not yet", { code: "rate_limited" });
    })(Own);
    await queue.work([Own]);
    const job = await queue.enqueue(Own, {}, { attempts: 1 });
    await clock.advance(60_000);
    expect(asked).toBe(1);
    expect((await job.look())?.state).toBe("dead");
  });
});
