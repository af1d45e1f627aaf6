import { afterEach, describe, expect, test } from "vitest";
import { configure, resetConfiguration, Task } from "taskwright";
import { z } from "zod";
import { world } from "../queue/world.js";

afterEach(resetConfiguration);

const SECRET = "4111-1111";
const EVENTS = ["job_enqueued", "job_started", "job_completed", "job_retried", "job_dead", "job_cancelled"] as const;

class Secretive extends Task.with({ name: "Secretive", input: z.object({ card: z.string().regex(/^x/), n: z.number() }) }) {
  work(): never {
    throw new Error("declined");
  }
}

describe("an input", () => {
  test("is in no event, no error and no reason of death", async () => {
    const { queue, engine, settle } = world();
    const told: unknown[] = [];
    configure((config) => {
      for (const name of EVENTS) config.telemetry.subscribe(name, (event) => told.push(event));
    });
    await queue.work([Secretive]);
    const refusedBy = async (input: unknown, options: object) =>
      queue.enqueue(Secretive, input as { card: string; n: number }, options).catch((error: unknown) => told.push(error));

    await refusedBy({ card: SECRET, n: 1 }, {});
    await refusedBy({ card: `x${SECRET}`, n: new Map([[SECRET, 1]]) }, {});
    await refusedBy({ card: `x${SECRET}`, n: 1 }, { uniqueKey: 5 });
    const invalid = await queue.enqueue(Secretive, { card: SECRET, n: 1 }, { checkInput: false, idempotent: true });
    const failing = await queue.enqueue(Secretive, { card: `x${SECRET}`, n: 1 }, { attempts: 2, backoff: 0 });
    await settle();

    for (const { id } of [invalid, failing]) told.push((await engine.get(id))?.reason);
    expect(told.length).toBeGreaterThan(8);
    expect(told.map((each) => String(each) + JSON.stringify(each)).join("\n")).not.toContain(SECRET);
  });
});
